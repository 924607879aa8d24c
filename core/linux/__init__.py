"""Linux: files, locks, ports, priorities, control groups, ssh, PMAPI."""
