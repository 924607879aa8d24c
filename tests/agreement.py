"""Compare the twins of real machines with the output of hwloc's own tools.

``python -m tests.agreement [FOLDER]`` ingests every hwloc XML of a folder with the
command line, into a separate graph store, and compares the answers of the saved query
``topology/groups`` with the folder's ``expected.json``. It prints a table and exits
with 1 if anything differs. The default folder is ``../shared/machines/hwloc``, next to
the checkout.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.stores.endpoint import Endpoint
from queries.catalogue import saved_query
from tests.servers import Fuseki

ROOT = Path(__file__).parents[1]
MACHINES = ROOT.parent / "shared/machines/hwloc"
KINDS = ("Package", "Core", "L1dCache", "L2Cache", "L3Cache", "NUMANode")

Groups = dict[str, list[list[int]]]


def host_name(path: Path) -> str:
    """Return a host name made from a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", path.stem).strip("-")


def expectations(folder: Path = MACHINES) -> dict[Path, dict[str, Any]]:
    """Return each file and the output of hwloc's tools; nothing without the folder."""
    listed = folder / "expected.json"
    if not listed.exists():
        return {}
    known = json.loads(listed.read_text("utf-8"))
    return {folder / name: message for name, message in sorted(known.items())}


def groups(twin: Endpoint, host: str) -> Groups:
    """Return the allowed threads of each thing in the graph, by hwloc's names."""
    answer = twin.select(saved_query("topology/groups").bind({"host": host}))
    found: Groups = {}
    for row in answer.values():
        result = dict(zip(answer.columns, row, strict=True))
        cpus = [int(cpu) for cpu in result["cpus"].split(",") if cpu]
        # hwloc also calls a unified cache of level 1 an L1dCache.
        kind = "L1dCache" if result["kind"] == "L1Cache" else result["kind"]
        found.setdefault(kind, []).append(cpus)
    return found


def compare(found: Groups, expected: dict[str, Any]) -> dict[str, bool]:
    """Return for each kind whether the graph and hwloc's tools agree."""
    threads = {cpu for things in found.values() for cpus in things for cpu in cpus}
    verdict = {"PU": len(threads) == expected["pu"]}
    for kind in KINDS:
        verdict[kind] = sorted(found.get(kind, [])) == sorted(expected[kind])
    return verdict


def table(verdicts: dict[str, dict[str, bool]]) -> str:
    """Return a table with one line per machine and one column per kind."""
    columns = ("PU", *KINDS)
    width = max(map(len, verdicts), default=7)
    lines = [" ".join([f"{'machine':{width}}", *(f"{c:8}" for c in columns)])]
    for name, verdict in verdicts.items():
        words = ["agree" if verdict[column] else "DIFFER" for column in columns]
        lines.append(" ".join([f"{name:{width}}", *(f"{word:8}" for word in words)]))
    return "\n".join(line.rstrip() for line in lines)


def judge(
    folder: Path, twin: Endpoint, ingest: Callable[[Path, str], None]
) -> dict[str, dict[str, bool]]:
    """Ingest and compare every machine of a folder, by file name."""
    verdicts = {}
    for path, message in expectations(folder).items():
        ingest(path, host_name(path))
        verdicts[path.name] = compare(groups(twin, host_name(path)), message)
    return verdicts


def main(folder: Path) -> int:
    """Print the table; return 1 if anything differs, 2 if nothing can be compared."""
    if not expectations(folder):
        print(f"{folder} holds no expected.json: give a folder of machines")
        return 2
    with tempfile.TemporaryDirectory() as home, Fuseki(Path(home) / "f") as fuseki:
        environment = {
            **os.environ,
            "SUPERTWIN_HOME": home,
            "SUPERTWIN_FUSEKI_URL": fuseki.address,
            "SUPERTWIN_FUSEKI_USER": fuseki.account[0],
            "SUPERTWIN_FUSEKI_PASSWORD": fuseki.account[1],
        }

        def ingest(path: Path, host: str) -> None:
            words = ["-m", "supertwin", "ingest", "--hwloc", str(path), "--host", host]
            subprocess.run([sys.executable, *words], check=True, env=environment)

        with Endpoint(f"{fuseki.url}/twin") as twin:
            verdicts = judge(folder, twin, ingest)
    print(table(verdicts))
    differing = sum(not all(verdict.values()) for verdict in verdicts.values())
    print(
        f"{len(verdicts) - differing} of {len(verdicts)} machines agree in everything"
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else MACHINES))
