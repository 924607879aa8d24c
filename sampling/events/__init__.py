"""PMU events and roles: what configures PCP's perfevent agent, and their values."""
