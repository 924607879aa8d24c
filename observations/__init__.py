"""Commands that are run, pinned and sampled, and found again by what they did."""
