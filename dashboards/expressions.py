"""MetricsQL of the series of a panel: one expression for all instances of a metric.

``rate`` stands without a window: VictoriaMetrics then takes the step of the picture,
or the time between two samples where that is longer.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dashboards.header import COMPONENT, SERIES
from ontology.selectors import escaped, pattern, selector

# VictoriaMetrics refuses longer queries than 16 KiB (-search.maxQueryLen); whoever asks
# may put an expression into a longer one.
LONGEST = 16 * 1024 - 512

Instances = Sequence[str | None]


def series_expression(
    series: str,
    *,
    counter: bool,
    expression: str = "",
    scale: Fraction = Fraction(1),
) -> str:
    """The expression of a selector, its values multiplied by ``scale``.

    Without a header's ``expression``, in which ``$series`` stands for the selector, a
    counter is drawn as its rate and everything else as it is.
    """
    plain = expression or (f"rate({SERIES})" if counter else SERIES)
    if scale != 1 and expression:
        plain = f"({plain})"
    if scale.numerator != 1:
        plain += f" * {scale.numerator}"
    if scale.denominator != 1:
        plain += f" / {scale.denominator}"
    return plain.replace(SERIES, series)


def series_selector(
    db_name: str, host: str, instances: Instances, *, narrows: bool = False
) -> str:
    """All these instances of a metric on a host; ``[None]`` where it has none.

    Where it ``narrows``, only those that ``$component`` matches as well. No other
    dollar sign stands in it, whatever the names: one would be taken for a variable.
    """
    names = [name for name in instances if name is not None]
    found = selector(db_name, {"hostname": host}).removesuffix("}")
    if len(names) == 1:
        found += f',instname="{escaped(names[0])}"'
    elif names:
        found += f',instname=~"{escaped(pattern(names))}"'
    found = found.replace("$", r"\x24")
    if narrows:
        found += f',instname=~"{COMPONENT}"'
    return found + "}"


def portions(
    instances: Instances, expression: str, reserve: int = 0
) -> Iterator[Instances]:
    """The instances in portions that keep every expression short enough.

    ``expression`` is what all of them but their names give, ``reserve`` the bytes that
    ``$component`` may grow by. Portions hold at least one instance.
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
    """Bytes of a name in a matcher, dollar signs included."""
    if instance is None:
        return 0
    written = escaped(pattern([instance]))
    return len(written.encode()) + 3 * written.count("$")
