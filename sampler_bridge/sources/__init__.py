"""Sources of values: PCP, the bridge itself, control groups."""
