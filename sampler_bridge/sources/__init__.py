"""Where values come from: PCP, the bridge itself, control groups."""
