"""PMU models, their events and the roles made of them."""
