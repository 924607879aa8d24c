"""The measurements of `make bench`."""
