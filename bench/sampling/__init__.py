"""What `make bench-sampling` measures."""
