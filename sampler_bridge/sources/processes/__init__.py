"""Processes of this machine as a source: read from the kernel by BPF."""
