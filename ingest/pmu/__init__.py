"""PMU models, their events and the roles built from them."""
