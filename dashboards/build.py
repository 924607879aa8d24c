"""Build a dashboard: lay out the answers of saved queries.

``build`` sends no query itself. It yields its queries in batches and is sent the
answers, so the caller can run them one by one or in parallel.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain

from core.stores.errors import (
    AccountRefusedError,
    EndpointUnreachableError,
    QueriesError,
)
from core.stores.results import TermRows
from dashboards.catalogue import Definition, definition
from dashboards.components import QUERY as COMPONENTS
from dashboards.components import read_components, read_threads
from dashboards.header import PanelHeader
from dashboards.missing import (
    host_question,
    host_reason,
    metric_question,
    reasons,
)
from dashboards.panels import DashboardContext, Draft, PanelRow, draw
from dashboards.questions import Answer, BoundQuery
from dashboards.roofline import points_question, with_points
from dashboards.spec import Component, Dashboard, Panel, Section
from queries.catalogue import SavedQuery
from queries.errors import HostNeededError, ParameterError, UnknownHostError
from queries.natural_order import hosts_in_order, natural

__all__ = ["Answer", "Batches", "BoundQuery", "build", "run", "run_all"]

Batches = Generator[list[BoundQuery], list[Answer], Dashboard]
# The points of rooflines, by the saved query of their lines.
_Runs = Mapping[str, tuple[BoundQuery, Answer]]
# Keys of questions that belong to no panel.
_HOSTS = "all hosts"
_REASON = "why the host has no series"


def build(
    name: str,
    host: str,
    base: str,
    dashboards: Mapping[str, Definition] | None = None,
) -> Batches:
    """Build the dashboard of a host, or of all hosts if the dashboard allows that.

    ``base`` is the beginning of instance IRIs; the default of ``dashboards`` is those
    of built-in queries. Raises UnknownDashboardError and
    UnknownHostError; a saved query that fails affects only its own panels.
    """
    found = definition(name, dashboards)
    return _build(found, host, base)


def run(batches: Batches, ask: Callable[[BoundQuery], TermRows]) -> Dashboard:
    """Run a build to its end, one question at a time.

    Raises EndpointUnreachableError and AccountRefusedError; any other error of ``ask``
    is shown on its panels.
    """
    return run_all([batches], ask, at_once=1)[0]


def run_all(
    builds: Sequence[Batches], ask: Callable[[BoundQuery], TermRows], at_once: int
) -> list[Dashboard]:
    """Run several builds to their ends together, as `run` does.

    A question that several builds have is asked once. ``ask`` is called by up to
    ``at_once`` threads.
    """
    known: dict[str, Answer] = {}
    made: dict[Batches, Dashboard] = {}
    wanted = {each: next(each) for each in builds}
    with ThreadPoolExecutor(at_once) as pool:
        while wanted:
            batches = chain.from_iterable(wanted.values())
            new = {each.sparql: each for each in batches if each.sparql not in known}
            known |= zip(
                new, pool.map(partial(_answer, ask), new.values()), strict=True
            )
            wanted = dict(_continued(wanted, known, made))
    return [made[each] for each in builds]


def _continued(
    wanted: Mapping[Batches, Sequence[BoundQuery]],
    known: Mapping[str, Answer],
    made: dict[Batches, Dashboard],
) -> Iterator[tuple[Batches, list[BoundQuery]]]:
    """Yield builds with their next questions; put finished ones into `made`."""
    for batches, questions in wanted.items():
        try:
            yield batches, batches.send([known[each.sparql] for each in questions])
        except StopIteration as end:
            made[batches] = end.value


def _answer(ask: Callable[[BoundQuery], TermRows], question: BoundQuery) -> Answer:
    try:
        return ask(question)
    except (EndpointUnreachableError, AccountRefusedError):
        raise
    except QueriesError as error:
        return str(error)


def _build(found: Definition, host: str, base: str) -> Batches:
    questions = _first_questions(found, host)
    answers = dict(zip(questions, (yield list(questions.values())), strict=True))
    hosts = _hosts(answers[_HOSTS])
    if hosts or not isinstance(answers[_HOSTS], str):
        _check_host(host, hosts)
    runs = yield from _runs(found, host, answers)
    components, around = _surroundings(answers.get(COMPONENTS, ""), host)
    drafts = [
        draft
        for panel in found.panels
        for draft in _drafts(panel, questions, answers, around)
    ]
    drafts = [_with_runs(draft, runs) for draft in drafts]
    panels = yield from _explained(drafts, host, answers)
    return Dashboard(
        name=found.name,
        title=found.title,
        host=host,
        base=base,
        sections=_sections(drafts, panels),
        hosts=hosts,
        components=components,
        given=found.given,
    )


def _first_questions(found: Definition, host: str) -> dict[str, BoundQuery]:
    """The first questions, each once; the key is the saved query's name."""
    if found.about_one_host and not host:
        raise HostNeededError(f"dashboard {found.name} is about one host: name it")
    try:
        sound = [panel for panel in found.panels if not panel.problem]
        questions = {
            panel.saved.name: _bound(panel, host, found.given) for panel in sound
        }
        questions[_HOSTS] = BoundQuery.of("inventory/names", {})
        if found.about_one_host:
            questions[COMPONENTS] = BoundQuery.of(COMPONENTS, {"host": host})
            questions[_REASON] = host_question(host)
    except ParameterError as error:
        raise UnknownHostError(f"no host can have this name: {error}") from error
    return questions


def _runs(
    found: Definition, host: str, answers: Mapping[str, Answer]
) -> Generator[list[BoundQuery], list[Answer], _Runs]:
    """The points of each roofline, on as many threads as its lines."""
    names = {panel.saved.name for panel in found.panels if panel.draws_roofline}
    lines = {name: answers.get(name, "") for name in sorted(names)}
    wanted = {
        name: points_question(host, answer)
        for name, answer in lines.items()
        if not isinstance(answer, str) and answer.rows
    }
    if not wanted:
        return {}
    points = yield list(wanted.values())
    pairs = zip(wanted.values(), points, strict=True)
    return dict(zip(wanted, pairs, strict=True))


def _with_runs(draft: Draft, runs: _Runs) -> Draft:
    if draft.panel.picture != "roofline" or draft.panel.query not in runs:
        return draft
    return replace(draft, panel=with_points(draft.panel, *runs[draft.panel.query]))


def _drafts(
    panel: PanelHeader,
    questions: Mapping[str, BoundQuery],
    answers: Mapping[str, Answer],
    around: DashboardContext,
) -> list[Draft]:
    if panel.problem:
        return draw(panel, panel.problem, "", around)
    name = panel.saved.name
    answer = _in_order(panel.saved, answers[name])
    return draw(panel, answer, questions[name].sparql, around)


def _in_order(saved: SavedQuery, answer: Answer) -> Answer:
    if isinstance(answer, str):
        return answer
    at = {name: number for number, name in enumerate(answer.columns)}
    rows = hosts_in_order(saved, answer.rows, lambda row, name: row[at[name]])
    return TermRows(answer.columns, rows)


def _bound(panel: PanelHeader, host: str, given: Mapping[str, str]) -> BoundQuery:
    takes_host = "host" in panel.saved.params
    own = {"host": host or None} if takes_host else {}
    return BoundQuery.of(panel.saved, {**own, **given})


def _hosts(answer: Answer) -> tuple[str, ...]:
    if isinstance(answer, str):
        return ()
    found = (str(row["host"]) for row in answer.records() if row["host"])
    return tuple(sorted(found, key=natural))


def _check_host(host: str, hosts: Sequence[str]) -> None:
    if host and host not in hosts:
        known = ", ".join(hosts[:20]) or "none: describe one with `supertwin ingest`"
        more = f" and {len(hosts) - 20} more" if len(hosts) > 20 else ""
        raise UnknownHostError(
            f"the twin knows no host {host[:80]!r}; it knows: {known}{more}"
        )


def _surroundings(
    answer: Answer, host: str
) -> tuple[tuple[Component, ...], DashboardContext]:
    if isinstance(answer, str):
        return (), DashboardContext(host, frozenset())
    components = read_components(answer)
    longest = max((_size(component) for component in components), default=0)
    return components, DashboardContext(host, read_threads(answer), longest)


def _size(component: Component) -> int:
    """Bytes of its pattern in an expression, with doubled backslashes."""
    return len(component.pattern.encode()) + component.pattern.count("\\")


def _explained(
    drafts: Sequence[Draft], host: str, answers: dict[str, Answer]
) -> Generator[list[BoundQuery], list[Answer], list[Panel]]:
    """The panels, with the reasons for missing metrics."""
    reason = host_reason(answers.get(_REASON, ""), host)
    if reason:
        return [_with_why(d.panel, (reason,) if d.missing else ()) for d in drafts]
    patterns = list(dict.fromkeys(name for d in drafts for name in d.missing))
    if not patterns:
        return [draft.panel for draft in drafts]
    rows = yield [metric_question(host, pattern) for pattern in patterns]
    known = dict(zip(patterns, rows, strict=True))
    return [_with_why(d.panel, reasons(host, d.missing, known)) for d in drafts]


def _with_why(panel: Panel, why: tuple[str, ...]) -> Panel:
    return replace(panel, why=panel.why + why) if why else panel


def _sections(drafts: Sequence[Draft], panels: Sequence[Panel]) -> tuple[Section, ...]:
    """The panels by section, in order of first appearance; ids are unique."""
    found: dict[PanelRow, list[Panel]] = {}
    used: set[str] = set()
    for draft, panel in zip(drafts, panels, strict=True):
        id_, number = panel.id, 1
        while id_ in used:
            number += 1
            id_ = f"{panel.id}-{number}"
        used.add(id_)
        found.setdefault(draft.place, []).append(replace(panel, id=id_))
    return tuple(
        Section(place.title, tuple(members), place.component)
        for place, members in found.items()
    )
