"""The local stack: its supervisor, the servers that it starts, and their health."""
