"""Linux control groups: where they are mounted, which there are, what they say."""
