"""The pages' own files and the browser libraries."""

import asyncio
from pathlib import Path

import httpx
import pytest

from api.app import create_app
from api.web import assets
from core.settings.settings import Settings

STATIC = Path(assets.__file__).parent / "static"
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_served(api: httpx.Client, path: Path) -> None:
    answer = api.get(f"/static/{path.relative_to(STATIC)}")
    assert answer.status_code == 200
    assert answer.content == path.read_bytes()
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", assets.LIBRARIES)
def test_browser_libraries_are_installed(api: httpx.Client, name: str) -> None:
    answer = api.get(f"/static/lib/{name}")
    assert answer.status_code == 200 and len(answer.content) > 1000
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"


def test_unchanged_file_is_not_sent_again(api: httpx.Client) -> None:
    first = api.get("/static/theme.css")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for given in (tag, f'"other", {tag}', tag.removeprefix("W/")):
        again = api.get("/static/theme.css", headers={"If-None-Match": given})
        assert (again.status_code, again.content) == (304, b"")
    other = api.get("/static/theme.css", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "../assets.py",
        "..%2fassets.py",
        "%2e%2e/%2e%2e/README.md",
        "charts/../../assets.py",
        "%2fetc%2fpasswd",
        "nul%00byte.css",
        "x" * 300,
        "charts",
        "",
        "lib/uPlot.cjs.js",
        "lib/..%2f..%2ftheme.css",
    ],
)
def test_other_files_are_not_served(api: httpx.Client, path: str) -> None:
    # Send the raw path: clients normalise such paths.
    raw = f"/static/{path}".encode()
    answer = api.get(api.base_url.copy_with(raw_path=raw))
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_missing_library_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(assets, "_MODULES", tmp_path)
    transport = httpx.ASGITransport(create_app(Settings()))

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost"
        ) as client:
            return await client.get("/static/lib/uPlot.esm.js")

    answer = asyncio.run(asked())
    assert answer.status_code == 503
    assert answer.json()["detail"] == (
        "the browser library uPlot.esm.js is not installed: run ./install.sh"
    )
