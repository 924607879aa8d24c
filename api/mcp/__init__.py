"""A server of the Model Context Protocol: saved queries as tools, hosts as resources.

Every request, over HTTP or stdio, becomes a request to SuperTwin's own HTTP API. So
access, limits, queueing and errors are the same.
"""
