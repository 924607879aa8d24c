"""MetricsQL for the series of a panel: one expression for all instances of a metric.

``rate`` has no window: VictoriaMetrics then uses the step of the query, or the time
between two samples if that is longer.
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dashboards.header import COMPONENT, SERIES
from ontology.selectors import escaped, pattern, selector

# VictoriaMetrics refuses queries over 16 KiB (-search.maxQueryLen). The margin is for
# callers that embed an expression in a longer one.
LONGEST = 16 * 1024 - 512

# As Fuseki's extension writes virtual telemetry: st:metricsQl.
_COMPUTED = re.compile(r"avg_over_time\(\(.*\)\[:(\d+)ms\]\)")
# In a text: Grafana would take a dollar sign for the start of a variable.
DOLLAR = r"\x24"

Instances = Sequence[str | None]


def series_expression(
    series: str,
    *,
    counter: bool,
    expression: str = "",
    scale: Fraction = Fraction(1),
) -> str:
    """The expression for a selector, with its values multiplied by ``scale``.

    In a header's ``expression``, ``$series`` stands for the selector. Without one, a
    counter is drawn as its rate and any other metric as it is.
    """
    plain = expression or (f"rate({SERIES})" if counter else SERIES)
    if scale != 1 and expression:
        plain = f"({plain})"
    if scale.numerator != 1:
        plain += f" * {scale.numerator}"
    if scale.denominator != 1:
        plain += f" / {scale.denominator}"
    return plain.replace(SERIES, series)


def computed_expression(metricsql: str, scale: Fraction) -> str:
    """The expression for virtual telemetry, with its values multiplied by ``scale``."""
    return series_expression(metricsql.replace("$", DOLLAR), counter=False, scale=scale)


def computed_period(expression: str) -> float | None:
    """The seconds between two values of virtual telemetry; None for anything else."""
    found = _COMPUTED.match(expression)
    return int(found[1]) / 1000 if found else None


def series_selector(
    db_name: str, host: str, instances: Instances, *, narrows: bool = False
) -> str:
    """Select the given instances of a metric on a host; ``[None]`` if it has none.

    With ``narrows``, only those that ``$component`` also matches. The selector has no
    other dollar sign, which Grafana would take for a variable.
    """
    names = [name for name in instances if name is not None]
    found = selector(db_name, {"hostname": host}).removesuffix("}")
    if len(names) == 1:
        found += f',instname="{escaped(names[0])}"'
    elif names:
        found += f',instname=~"{escaped(pattern(names))}"'
    found = found.replace("$", DOLLAR)
    if narrows:
        found += f',instname=~"{COMPONENT}"'
    return found + "}"


def portions(
    instances: Instances, expression: str, reserve: int = 0
) -> Iterator[Instances]:
    """Split the instances so that each expression is short enough.

    ``expression`` is the expression without instance names, ``reserve`` the bytes by
    which ``$component`` may grow. Each portion has at least one instance.
    """
    uses = max(expression.count(COMPONENT), 1)
    room = LONGEST - len(expression.encode()) - uses * reserve
    portion: list[str | None] = []
    used = 0
    for instance in instances:
        size = uses * (1 + _size(instance))
        if portion and used + size > room:
            yield portion
            portion, used = [], 0
        portion.append(instance)
        used += size
    if portion:
        yield portion


def _size(instance: str | None) -> int:
    """Bytes of a name in a matcher, with escaped dollar signs."""
    if instance is None:
        return 0
    written = escaped(pattern([instance]))
    return len(written.encode()) + 3 * written.count("$")
