"""Marks of current runs on the page of a roofline.

The kernel counts page faults without hardware counters, so they replace operations and
memory traffic; that marks follow real counters was not seen.
"""

import re
from collections.abc import Iterator

import pytest

from tests.e2e.observation_pages import Open
from tests.e2e.page_faults import PERF, counted_by_page_faults
from tests.observed import observing, wait_for_line
from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

# Sixteen operations for each fault and two bytes: eight operations per byte.
FORMULAS = {"FLOPs": {f"{PERF}_MIN": 16}, "DramTraffic": {f"{PERF}_MIN": 2}}
FAULTS = """
import mmap, time
print("ready", flush=True)
while True:
    with mmap.mmap(-1, 4096 * 2000) as memory:
        memory[::4096] = bytes(2000)
    time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def counting(stack: Stack) -> Iterator[Stack]:
    """A stack with roofs, whose operations and traffic are page faults."""
    stack.run("bench", "carm", "--quick", "--threads", "1")
    with counted_by_page_faults(stack, FORMULAS):
        yield stack


def test_mark_follows_a_run_while_it_is_sampled(counting: Stack, visit: Open) -> None:
    page = visit(f"/roofline/{HOST}")
    now = page.locator("#now")
    assert page.locator("svg .mark").count() == 0
    roles = ("--role", "FLOPs", "--role", "DramTraffic", "--every", "200ms")
    with observing(
        counting, *roles, "--cpus", "0", "--", "python3", "-c", FAULTS
    ) as run:
        wait_for_line(run, "ready")
        page.wait_for_selector("svg .mark", state="attached", timeout=60_000)
        (title,) = page.locator("svg .mark title").all_text_contents()
        assert re.fullmatch(r"run-\S+: \S+ GFLOP/s at 8.00 FLOP/B", title)
        # Threads that are not the run's do not count.
        listed = counting.get("/observations/running").json()
        assert [one["cpus"] for one in listed if one["state"] == "running"] == [[0]]
        place = page.locator("svg .mark").get_attribute("cx")
        wait_until(lambda: now.text_content() != title, what="another rate")
        # The same intensity, at another rate.
        assert page.locator("svg .mark").get_attribute("cx") == place
        run.terminate()
        run.communicate(timeout=60)
    page.wait_for_selector("svg .mark", state="detached", timeout=60_000)
    assert now.is_hidden()


SUMS = """async (root) => {
  const { Sums } = await import(`${root}/static/roofline/marks.js`);
  const series = (role, scope, instname) => {
    return { group: `run-1 ${role} ${scope}`, instname };
  };
  const panel = (id, ...series) => ({ id, series, query: "q" });
  const panels = [
    panel("work", series("FLOPs", "thread", "cpu0"), series("FLOPs", "thread", "cpu1")),
    panel("traffic", series("DramTraffic", "socket", "cpu1")),
    { ...panel("other", series("FLOPs", "thread", "cpu0")), query: "another" },
  ];
  const sums = new Sums({ sections: [{ panels }] }, "q");
  sums.take("work", [1, 2]);
  sums.take("other", [99]);
  const before = sums.points();
  sums.take("traffic", [4]);
  const all = sums.points();
  sums.limit("run-1", [1]);
  sums.take("work", [1, 2]);
  const own = sums.points();
  sums.take("work", [1, null]);
  return [before, all, own, sums.points()];
}"""


def test_only_threads_of_a_run_count_but_whole_sockets(
    counting: Stack, visit: Open
) -> None:
    page = visit(f"/roofline/{HOST}")
    before, every, own, after = page.evaluate(SUMS, counting.api)
    assert (before, after) == ([], [])
    assert every == [{"plan": "run-1", "rate": 3, "intensity": 0.75}]
    assert own == [{"plan": "run-1", "rate": 2, "intensity": 0.5}]


def test_dashboard_of_rooflines_has_roofs_and_points(counting: Stack) -> None:
    answer = counting.get("/dashboards/roofline", "application/json", host=HOST)
    (now, roofline, measured) = answer.json()["sections"]
    titles = (now["title"], roofline["title"], measured["title"])
    assert titles == ("Now", "Roofline", "Measured")
    (drawn,) = roofline["panels"]
    assert drawn["table"]["rows"] and drawn["points"]["rows"]
    assert [panel["title"] for panel in measured["panels"]] == [
        "Roofs",
        "Runs as points",
    ]
    assert measured["panels"][0]["table"]["rows"]
    grafana = counting.get(
        "/dashboards/roofline/grafana", "application/json", host=HOST
    )
    assert "Runs as points" in grafana.text
