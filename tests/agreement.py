"""Does the twin say of real machines what hwloc's own tools say of them?

``python -m tests.agreement [FOLDER]`` ingests every hwloc XML of a folder with the
command line, into a graph store of its own, and compares what the saved query
``topology/groups`` answers with the folder's ``expected.json``: a table of what agrees
and what differs, exit 1 where anything differs. The folder is by default
``../shared/machines/hwloc``, beside the checkout.
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
    """A file's name as one that a host can have."""
    return re.sub(r"[^A-Za-z0-9]+", "-", path.stem).strip("-")


def expectations(folder: Path = MACHINES) -> dict[Path, dict[str, Any]]:
    """Each file and what hwloc's tools said of it; nothing where there is no folder."""
    listed = folder / "expected.json"
    if not listed.exists():
        return {}
    known = json.loads(listed.read_text("utf-8"))
    return {folder / name: said for name, said in sorted(known.items())}


def groups(twin: Endpoint, host: str) -> Groups:
    """By hwloc's names: the allowed threads of each thing, as the graph has them."""
    answer = twin.select(saved_query("topology/groups").bind({"host": host}))
    found: Groups = {}
    for row in answer.values():
        told = dict(zip(answer.columns, row, strict=True))
        cpus = [int(cpu) for cpu in told["cpus"].split(",") if cpu]
        # What allows for data is what hwloc calls the cache of a level.
        kind = "L1dCache" if told["kind"] == "L1Cache" else told["kind"]
        found.setdefault(kind, []).append(cpus)
    return found


def compare(found: Groups, said: dict[str, Any]) -> dict[str, bool]:
    """Of each kind, whether the graph says what hwloc's tools say."""
    threads = {cpu for things in found.values() for cpus in things for cpu in cpus}
    verdict = {"PU": len(threads) == said["pu"]}
    for kind in KINDS:
        verdict[kind] = sorted(found.get(kind, [])) == sorted(said[kind])
    return verdict


def table(verdicts: dict[str, dict[str, bool]]) -> str:
    """One line a machine, one column a kind."""
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
    """Ingest every machine of a folder and compare it, by file name."""
    verdicts = {}
    for path, said in expectations(folder).items():
        ingest(path, host_name(path))
        verdicts[path.name] = compare(groups(twin, host_name(path)), said)
    return verdicts


def main(folder: Path) -> int:
    """Print the table; 1 where anything differs, 2 where there is nothing to judge."""
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
