"""What can be sampled, and how PCP is asked for it."""
