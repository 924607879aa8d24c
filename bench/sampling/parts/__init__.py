"""The parts of `make bench-sampling`, each with its page."""
