"""Queries that each would stop a graph store without limits."""

_PARTS = [f"?{part}{n}" for n in range(5) for part in "spo"]
_CROSS = " . ".join(" ".join(_PARTS[n : n + 3]) for n in range(0, len(_PARTS), 3))

# A cross product of all triples.
GROUPS = f"SELECT (COUNT(*) AS ?n) {{ {_CROSS} }} GROUP BY {' '.join(_PARTS)}"
# A function that keeps a thread for a day.
WAIT = "SELECT (<http://jena.apache.org/ARQ/function#wait>(100000000) AS ?x) {}"
