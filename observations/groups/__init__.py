"""Performance groups of likwid: events and formulas, as roles and figures of a run."""
