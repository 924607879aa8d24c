"""Commands launched in a browser: the form, the live output and the end."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from api.access.tokens import TokenRole, add_token
from tests.browser import watched_page
from tests.e2e.launched_runs import begun, followed, recorded
from tests.e2e.observation_pages import Open, assert_drawn, assert_fits, log_in
from tests.observed import asked, outcome, runs
from tests.servers import wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

MARKUP = "<img src=x onerror=window.hacked=1>\"'"
TAG = 'of "quotes" & <b>markup</b>'
EVENT = "perf::PERF_COUNT_SW_PAGE_FAULTS"
SECRETS = {"SOLVER_TOKEN": "s3cret-1", "STORE": "https://ana:s3cret-2@store.example"}
PLAIN = {"MODE": "fast 'and' safe", "LINES": "one\ntwo", "EMPTY": ""}
SAMPLED = {"kernel.percpu.cpu.user", "mem.util.free"}
TERMS = (
    *("argumentVector", "workingDirectory", "observationTag", "observationPeriod"),
    *("pinningPolicy", "involvesThread", "requestedMetric", "requestedEvent"),
    *("requestedRuns", "addedVariable", "timeLimit"),
)


def test_command_is_launched_followed_and_recorded(
    visit: Open, stack: Stack, operator_token: str
) -> None:
    page = visit(f"/observations/new?host={HOST}&pin=compact&threads=1")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    form = page.get_by_role("form", name="Log in")
    expect(form).to_contain_text("supertwin token add NAME --role operator")
    form.get_by_label("Token").fill(operator_token)
    form.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/observations/new")
    script = f"printf '%s\\033[31m' {shlex.quote(MARKUP)}; sleep 4"
    command = shlex.join(["sh", "-c", script])
    page.get_by_label("Command", exact=True).fill(command)
    assert page.locator("#words li").all_inner_texts()[:2] == ["sh", "-c"]
    page.get_by_label("CPUs", exact=True).select_option("policy")
    page.get_by_label("threads", exact=True).fill("1")
    expect(page.locator("#preview .cpus li")).to_have_text("0")
    expect(page.locator("#preview")).to_contain_text("order of the topology tree")
    page.get_by_label("metrics", exact=True).fill(
        "mem.vmstat.pgfault, kernel.percpu.cpu.user"
    )
    page.get_by_label("metrics", exact=True).press("Enter")
    page.get_by_label("tags", exact=True).fill(TAG)
    page.get_by_label("every", exact=True).fill("20ms")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url(re.compile(r"/observations/\d+T"))
    # The page shows the control character and does not interpret it.
    expect(page.locator("#output")).to_have_text(f"{MARKUP}␛[31m")
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("#state")).to_have_text("completed")
    page.get_by_role("link", name="What was recorded").click()
    page.wait_for_url("**/observation/*")
    expect(page.locator("h1")).to_have_text(command)
    expect(page.locator(".headline")).to_contain_text("completed exit status 0")
    expect(page.locator(".headline .tag")).to_have_text(TAG)
    expect(page.locator("section", has=page.locator("#cpus"))).to_contain_text(
        "Taken in the order of the topology tree"
    )
    row = page.locator("#rows tbody tr", has_text="mem.vmstat.pgfault")
    expect(row.locator("td").nth(6)).not_to_be_empty()
    expect(page.locator("#output")).to_have_text(f"{MARKUP}␛[31m")
    assert_drawn(page, "kernel.percpu.cpu.user")
    page.locator(".headline .tag").click()
    page.wait_for_url(re.compile(r"/observations\?tag=of%20"))
    expect(page.locator("#recorded tbody tr")).to_have_count(1)


def test_running_command_is_listed_followed_and_cancelled(
    visit: Open, operator: httpx.Client, operator_token: str
) -> None:
    one = begun(operator, "sleep", "60", tags=["listed"])
    page = visit("/observations", operator_token)
    running = page.locator("#running tbody tr")
    expect(running).to_contain_text("sleep 60")
    running.get_by_role("link").click()
    page.wait_for_url(f"**/observations/{one['id']}")
    expect(page.locator("#elapsed")).to_contain_text(re.compile(r"\d\.\d s"))
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#state")).to_have_text("cancelled")
    node = followed(operator, one["id"])[-1]["runs"][0]["node"]
    assert recorded(operator, node) == "cancelled"


@pytest.fixture
def sampled(operator: httpx.Client) -> Iterator[dict[str, Any]]:
    """Return a run that continues until the test ends."""
    one = begun(operator, "sleep", "300", metrics=sorted(SAMPLED), every="1s")
    yield one
    operator.delete(f"/observations/{one['id']}")
    followed(operator, one["id"])


def test_running_command_is_charted_from_its_start(
    visit: Open, sampled: dict[str, Any], operator_token: str
) -> None:
    one = sampled
    page = visit(f"/observations/{one['id']}", operator_token)
    expect(page.locator("section.panel h3")).to_have_text(sorted(SAMPLED))
    whole = page.get_by_role("button", name="Whole run")
    expect(whole).to_have_attribute("aria-pressed", "true")
    panel = page.locator("section.panel", has_text="mem.util.free")

    def points() -> list[float]:
        """Return times of points since the start: the monitor samples it, too."""
        found: list[float] = panel.evaluate(
            "(element, began) => Array.from(element.panel.frame.times)"
            ".filter((time, i) => time >= began"
            " && !Number.isNaN(element.panel.frame.values[0][i]))",
            one["began"],
        )
        return found

    wait_until(points, what="points")
    first = points()
    wait_until(lambda: points()[-1] >= first[-1] + 3, what="three more seconds")
    assert points()[0] <= first[0]  # the first points stay
    shown = "element => element.panel.picture.range[0]"
    assert abs(panel.evaluate(shown) - one["began"]) < 1
    page.set_viewport_size({"width": 420, "height": 800})
    assert_fits(page, 420)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#state")).to_have_text("cancelled")
    expect(page.locator("#times")).to_be_hidden()
    expect(page.locator("#changed")).to_be_hidden()
    assert len(points()) > 3


def test_anonymous_visitor_cannot_run_or_see_output(
    visit: Open, operator: httpx.Client, stack: Stack
) -> None:
    one = begun(operator, "echo", "secret")
    followed(operator, one["id"])
    page = visit(f"/observations/{one['id']}")
    expect(page.locator("#state")).to_have_text("completed")
    assert page.locator("#output").count() == 0
    form = page.get_by_role("form", name="Log in")
    expect(form).to_contain_text("Only operators see its output")
    reader = add_token(stack.home, "pages-reader", TokenRole.READER, None)
    form.get_by_label("Token").fill(reader)
    form.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("form", name="Log in")).to_contain_text(
        "token pages-reader has role reader, and this needs operator"
    )
    page.goto(f"{stack.api}/observations/new")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()


def test_expired_login_is_reported(
    browser: Browser, stack: Stack, operator_token: str
) -> None:
    with watched_page(browser, stack.api) as watched:
        page = watched.page
        log_in(page, stack, operator_token)
        page.goto(f"{stack.api}/observations/new")
        page.context.clear_cookies()
        page.get_by_label("Command", exact=True).fill("true")
        page.get_by_role("button", name="Run", exact=True).click()
        problem = page.locator("#problem")
        expect(problem).to_contain_text("supertwin token add NAME --role operator")
        expect(problem.get_by_role("link", name="Log in")).to_be_visible()


def test_impossible_run_gives_one_line(
    browser: Browser, stack: Stack, operator_token: str, operator: httpx.Client
) -> None:
    # The browser logs refused requests as errors, so the console is not checked.
    with watched_page(browser, stack.api) as watched:
        page = watched.page
        log_in(page, stack, operator_token)
        page.goto(f"{stack.api}/observations/new")
        run = page.get_by_role("button", name="Run", exact=True)
        problem = page.locator("#problem")
        page.get_by_label("Command", exact=True).fill("echo 'unfinished")
        expect(page.locator("#shell")).to_have_text("a quote ' is not closed")
        run.click()
        expect(problem).to_have_text("The command: a quote ' is not closed.")
        page.get_by_label("Command", exact=True).fill("echo a | wc")
        expect(page.locator("#shell")).to_contain_text("by a shell only")
        page.get_by_label("variables", exact=True).fill("nothing")
        run.click()
        expect(problem).to_have_text("nothing is not a variable: write NAME=VALUE.")
        page.get_by_label("variables", exact=True).fill("")
        page.get_by_label("CPUs", exact=True).select_option("policy")
        page.get_by_label("threads", exact=True).fill("9999")
        expect(page.locator("#preview .error")).to_contain_text("9999")
        run.click()
        expect(problem).to_contain_text("9999")
        page.get_by_label("CPUs", exact=True).select_option("cpus")
        page.get_by_label("numbers", exact=True).fill("0")
        first = begun(operator, "sleep", "60", cpus="0")
        run.click()
        expect(problem).to_contain_text(f"observation {first['id']} has CPU 0")
        page.get_by_label("Wait until").check()
        run.click()
        expect(page.locator("#state")).to_have_text("Waiting for CPUs …")
        page.get_by_role("button", name="Give up").click()
        expect(page.locator("#state")).to_have_text("")
        # The server notices after a moment that the client no longer waits.
        page.wait_for_timeout(300)
        operator.delete(f"/observations/{first['id']}").raise_for_status()
        page.get_by_label("Wait until").uncheck()
        page.get_by_label("CPUs", exact=True).select_option("")
        page.get_by_label("Command", exact=True).fill("/no/such/command")
        wait_until(lambda: not running(operator))
        run.click()
        page.wait_for_url(re.compile(r"/observations/\d+T"))
        expect(problem).to_contain_text("there is no command '/no/such/command'")
        expect(page.locator("#state")).to_have_text("did not run")
        assert not watched.outside


def running(operator: httpx.Client) -> list[str]:
    found = operator.get("/observations/running").json()
    return [one["id"] for one in found if one["state"] != "over"]


def requested_values(stack: Stack, iri: str) -> set[tuple[str, str]]:
    """Return what was requested for a run, according to the graph."""
    terms = " ".join(f"st:{term}" for term in TERMS)
    rows = asked(stack, f"VALUES ?term {{ {terms} }} <{iri}> ?term ?value")
    return {(row["term"].rpartition("#")[2], row["value"]) for row in rows}


def chips(page: Page, field: str) -> Locator:
    return page.locator(f"#{field}").locator("..").locator(".chosen li")


def test_run_again_repeats_the_same_request(
    stack: Stack, visit: Open, operator_token: str
) -> None:
    pairs = [f"--env={name}={value}" for name, value in (PLAIN | SECRETS).items()]
    done = stack.run(
        *("observe", "--pin", "compact", "--threads", "1", "--every", "100ms"),
        *("--metrics", "kernel.all.load", "--event", EVENT, "--repeat", "2"),
        *("--tag", "again", "--timeout", "60.5", "--cwd", "/", "--pop"),
        *(*pairs, "--", "true"),
    )
    (_, first), (_, second) = runs(done.stderr)
    assert outcome(stack, second) == outcome(stack, first) == "completed"
    before = requested_values(stack, first)
    assert {term for term, _ in before} == set(TERMS)
    added = {value for term, value in before if term == "addedVariable"}
    assert added == {*SECRETS, *(f"{name}={value}" for name, value in PLAIN.items())}
    graph = asked(
        stack, f"GRAPH <{first.replace('/obs', '/graph/obs')}> {{ ?s ?p ?o }}"
    )
    assert graph
    assert "s3cret" not in str(graph)

    page = visit(first.removeprefix(stack.base), operator_token)
    section = page.locator("section", has=page.locator("#request"))
    for text in ("kernel.all.load", EVENT, "SOLVER_TOKEN", "MODE=fast 'and' safe"):
        expect(section).to_contain_text(text)
    page.get_by_role("link", name="Run again").click()
    page.wait_for_url("**/observations/new?again=*")
    expect(chips(page, "events")).to_contain_text([EVENT])
    expect(chips(page, "metrics")).to_contain_text(["kernel.all.load"])
    assert page.locator("#words li").all_inner_texts() == ["true"]
    expect(page.get_by_label("policy", exact=True)).to_have_value("compact")
    expect(page.get_by_label("every", exact=True)).to_have_value("100ms")
    expect(page.locator("#preview .cpus li")).to_have_text("0")
    expect(page.get_by_label("runs", exact=True)).to_have_value("2")
    expect(page.get_by_label("seconds at most", exact=True)).to_have_value("60.5")
    expect(page.get_by_label("Record the times")).to_be_checked()
    expect(page.get_by_text("Values that look like secrets")).to_contain_text(
        "SOLVER_TOKEN, STORE"
    )
    page.get_by_role("button", name="Run", exact=True).click()
    problem = page.locator("#problem")
    expect(problem).to_contain_text("is not a variable: write NAME=VALUE")
    variables = page.get_by_label("variables", exact=True)
    text = variables.input_value()
    for name, value in SECRETS.items():
        text = re.sub(f"^{name}$", f"{name}={value}", text, flags=re.MULTILINE)
    variables.fill(text)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url(re.compile(r"/observations/\d+T"))
    again = f"{stack.base}/observation/{page.url.rpartition('/')[2]}-1"
    assert outcome(stack, again) == "completed"
    assert requested_values(stack, again) == before
    assert asked(stack, f"<{again}> st:hasParallelAnalysis ?analysis")


def test_words_are_split_as_in_a_shell(visit: Open) -> None:
    page = visit("/observations/new")
    argv = ["a b", "", "it's", 'say "x"', "back\\slash", "two\nlines", "$HOME", "ü <b>"]
    texts = [
        shlex.join(argv),
        r"""one\ word "two \"words\" \\ \$x" 'th\ree' 'con'"cat"enated""",
        "  # no comment\tand\nlines  go on ",
    ]
    for text in texts:
        script = """(text) => import("/static/observations/words.js")
          .then(({ splitWords }) => splitWords(text).words)"""
        expected = shlex.split(text)
        if "\\$" in text:
            expected[1] = expected[1].replace("\\$", "$")
        assert page.evaluate(script, text) == expected
