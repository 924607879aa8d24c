"""The measurements of `make bench-sampling`."""
