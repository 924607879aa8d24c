"""PMU events and roles: the configuration of PCP's perfevent agent, and values."""
