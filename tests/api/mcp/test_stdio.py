"""`supertwin mcp`: the official client starts it, and talks to it over stdio."""

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from api.access.tokens import TokenRole
from queries.catalogue import load_catalogue
from tests.api.mcp.client import MODES, local_session
from tests.api.servers import Closed
from tests.command_line import run
from tests.servers import ROOT


def ask(home: Path, work: Any, *words: str, mode: str = "auto") -> Any:
    """Do some work with a client of `supertwin mcp WORDS`."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "supertwin", "mcp", *words],
        env={"SUPERTWIN_HOME": str(home)},
        cwd=str(ROOT),
    )
    return local_session(stdio_client(server), work, mode)


@pytest.mark.parametrize("mode", MODES)
def test_same_tools_and_answers_as_over_http(
    opened: Closed, base: str, mode: str
) -> None:
    async def work(client: Client) -> tuple[Any, ...]:
        asked: list[tuple[str, Any]] = [
            ("inventory_names", {}),
            ("cache_sharing", {"host": "n1", "cpu": 1}),
            ("sparql", {"query": "ASK { ?s ?p ?o }"}),
            ("cache_sharing", {"host": "n9"}),
            ("sparql", {"query": "x" * 10_000_000}),
        ]
        tools = (await client.list_tools()).tools
        answers = [await client.call_tool(name, given) for name, given in asked]
        host = await client.read_resource(f"{base}/twin/n2")
        return tools, [answer.structured_content for answer in answers], host

    tools, answers, host = ask(opened.home, work, mode=mode)
    assert len(tools) == len(load_catalogue()) + 1
    names, sharing, truth, unknown, large = answers
    assert [row[0] for row in names["rows"]] == ["n1", "n2"]
    assert sharing["total"] == 1
    assert truth == {"boolean": True}
    assert unknown["code"] == "unknown-host"
    assert (large["status"], large["code"]) == (413, "body-too-large")
    assert '"hostname":"n2"' in host.contents[0].text


def test_token_of_a_file_is_used(closed: Closed, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(closed.add("desk", TokenRole.READER) + "\n")

    async def work(client: Client) -> list[Any]:
        answers = [await client.call_tool("inventory_names", {})]
        closed.revoke("desk")
        answers.append(await client.call_tool("inventory_names", {}))
        file.unlink()
        return [*answers, await client.call_tool("inventory_names", {})]

    words = ("--url", f"{closed.url}/", "--token-file", str(file))
    before, revoked, removed = ask(tmp_path, work, *words)
    assert before.structured_content["total"] == 2
    assert revoked.structured_content["code"] == "token-refused"
    assert removed.structured_content["code"] == "file-error"


def test_refused_token_ends_the_command(closed: Closed, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("wrong")
    env = {"SUPERTWIN_HOME": str(tmp_path)}
    for words, code in (
        (("--url", closed.url, "--token-file", str(file)), "token-refused"),
        (("--url", closed.url), "token-needed"),
        (("--url", "http://127.0.0.1:9"), "api-away"),
        (("--url", closed.url, "--token-file", str(tmp_path / "none")), "file-error"),
        ((), "not-running"),
    ):
        done = run(env, "mcp", *words)
        assert done.returncode in (1, 2), done
        assert done.stderr.rstrip().endswith(f"[{code}]"), done
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""


def test_unknown_method_is_an_error(opened: Closed) -> None:
    async def work(client: Client) -> MCPError:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("none")
        return caught.value

    assert ask(opened.home, work).code
