"""The official DTDL parser (.NET as WebAssembly, on Node.js; tests/install.sh)."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.dashboards.node import node
from tests.servers import ROOT

MODULES = ROOT / ".tools/dtdl/node_modules"
_CHECK = Path(__file__).with_name("check.mjs")
_HEAP = "--max-old-space-size=768"


@dataclass(frozen=True)
class Verdict:
    """The parser's verdict on a document: its errors, if any.

    `elements` are those of its object model, `rss` the bytes of the process by then.
    """

    errors: list[str]
    elements: int
    ms: int
    rss: int


def verdicts(documents: Mapping[str, bytes]) -> dict[str, Verdict]:
    """The parser's verdict on each document, all from one process."""
    assert MODULES.is_dir(), "no DTDL parser: run tests/install.sh"
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for number, (name, text) in enumerate(documents.items()):
            path = Path(folder) / f"{number}.json"
            path.write_bytes(text)
            files[str(path)] = name
        done = subprocess.run(
            [node(), _HEAP, _CHECK, MODULES],
            input="".join(f"{path}\n" for path in files),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    found = {}
    for line in done.stdout.splitlines():
        document = json.loads(line)
        name = files[document.pop("file")]
        found[name] = Verdict(**document)
    assert found.keys() == documents.keys()
    return found
