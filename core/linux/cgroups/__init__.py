"""Linux control groups: mounts, groups and the contents of their files."""
