"""Queries that each would stop a graph store without limits."""

_PARTS = [f"?{part}{n}" for n in range(5) for part in "spo"]
_CROSS = " . ".join(" ".join(_PARTS[n : n + 3]) for n in range(0, len(_PARTS), 3))
_KEY = ", ".join(f"STR({part})" for part in _PARTS * 3)
_STEPS = " ".join(f"BIND (CONCAT(?x{n}, ?x{n}) AS ?x{n + 1})" for n in range(30))

# One row with a text of 10 GB.
DOUBLINGS = f'SELECT * {{ BIND ("0123456789" AS ?x0) {_STEPS} }}'
# A cross product of all triples, in the order of a long key, or grouped.
SORT = f"SELECT * {{ {_CROSS} }} ORDER BY CONCAT({_KEY})"
GROUPS = f"SELECT (COUNT(*) AS ?n) {{ {_CROSS} }} GROUP BY {' '.join(_PARTS)}"
# A function that keeps a thread for a day.
WAIT = "SELECT (<http://jena.apache.org/ARQ/function#wait>(100000000) AS ?x) {}"
