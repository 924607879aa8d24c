"""The page of one component: facts, neighbours, series."""
