"""What can be sampled, and how PCP is queried."""
