"""A role's formula in MetricsQL, over the series that the bridge writes.

The agent scales a count by the time that the event had a counter. So a value is exact,
or an estimate if its dutycycle is below 1. An event that never had a counter stays at
0, which is not a value.
"""

from decimal import Decimal

from ontology.selectors import escaped, pattern, selector
from sampling.events.choice import RoleFormula
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmus


def role_series(formula: RoleFormula) -> list[str]:
    """The series that a role needs: value and dutycycle of each event."""
    events = [event for _, event in formula.terms]
    return [
        name
        for event in dict.fromkeys(events)
        for name in (event.value_series, event.dutycycle_series)
    ]


def role_expression(
    host: HostPmus,
    formula: RoleFormula,
    *,
    window: str = "",
    least: float = 0.0,
) -> str:
    """A role for each of its instances, per second.

    There is no value if an event of the formula has none, or if it had a counter for no
    more than the share ``least`` of the time. Without a ``window`` (``30s``),
    VictoriaMetrics takes the step. If the events are counted on different CPUs, the
    value is that of the host.
    """
    text = ""
    for weight, event in formula.terms:
        chosen = "" if event.kernel else _instances(host, formula.scope)
        term = _term(host.host, event, chosen, window, least)
        term = f"sum({term}) by (hostname)" if formula.apart else term
        text += _signed(weight, term, first=not text)
    return text


def dutycycle_expression(host: HostPmus, formula: RoleFormula) -> str:
    """The lowest dutycycle of a role's events for each instance: 1 is exact."""
    names = pattern(event.dutycycle_series for _, event in formula.terms)
    matchers = f'__name__=~"{escaped(names)}",hostname="{escaped(host.host)}"'
    if not any(event.kernel for _, event in formula.terms):
        matchers += _instances(host, formula.scope)
    return f"min({{{matchers}}}) by (hostname,instname)"


def _term(host: str, event: PmuEvent, chosen: str, window: str, least: float) -> str:
    value, duty = (
        f"{selector(name, {'hostname': host}).removesuffix('}')}{chosen}}}"
        + (f"[{window}]" if window else "")
        for name in (event.value_series, event.dutycycle_series)
    )
    return f"(rate({value}) if (min_over_time({duty}) > {least:g}))"


def _instances(host: HostPmus, scope: str) -> str:
    """Select one instance of each socket or cache: NUMA domains may share one."""
    places = host.places.get(scope, ())
    if not places:
        return ""
    names = pattern(f"cpu{place.cpu}" for place in places)
    return f',instname=~"{escaped(names)}"'


def _signed(weight: Decimal, term: str, first: bool) -> str:
    size = abs(weight)
    factor = "" if size == 1 else f"{_plain(size)} * "
    if first:
        return f"-1 * {factor}{term}" if weight < 0 else f"{factor}{term}"
    return f" {'-' if weight < 0 else '+'} {factor}{term}"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"
