"""Topologies from hwloc's XML, versions 1 to 3."""
