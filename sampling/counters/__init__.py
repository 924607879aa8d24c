"""PMU events and roles of plans, counted by a perfevent agent, local or remote."""
