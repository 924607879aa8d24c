"""A server of the Model Context Protocol: saved queries as tools, hosts as resources.

It translates every request into one of our own HTTP interface, over HTTP and over
stdio alike. So access, limits, turns and errors are those of the interface.
"""
