"""Small programs that name regions, compiled here and run with the recorder."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from observations.regions.regions import RegionRecord, regions_of, sources
from tests.observations.pop.recorded import recorded_event

HERE = Path(__file__).parent
LIKWID = Path("/usr/include/likwid-marker.h")
_KOKKOS = ("-std=c++14", "-I/usr/include/trilinos", "-ltrilinos_kokkoscore")
_LIKWID = ("-DWITH_LIKWID", "-llikwid")
# A software event, as `observations.regions.counting` encodes it.
FAULTS = {"name": "software::page-faults", "type": 1, "config": 2}


def build(folder: Path) -> None:
    """Compile all programs into a folder; `libstub.so` is what they are linked to.

    Debian has likwid for x86-64 only.
    """
    has_likwid = LIKWID.exists()
    stub, link = str(HERE / "stub.c"), [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lstub"]
    _compile("-shared", "-fPIC", stub, "-o", str(folder / "libstub.so"))
    for name, words in {
        "regions": ["regions.c", "-pthread", *link],
        "likwid": ["regions.c", "-pthread", *(_LIKWID if has_likwid else link)],
        "static": ["regions.c", "-pthread", "-static", stub],
        "caliper": ["caliper.c", *link],
        "kokkos": ["kokkos.c", "-ldl"],
    }.items():
        source, *more = words
        _compile("-O1", str(HERE / source), *more, "-o", str(folder / name))


def marker_library(folder: Path) -> list[str]:
    """Return what compiles a program that uses likwid's header.

    Debian has likwid for x86-64 only; elsewhere, a made-up header declares its macros.
    """
    if LIKWID.exists():
        return ["-DLIKWID_PERFMON", "-llikwid"]
    stub = str(HERE / "stub.c")
    _compile("-shared", "-fPIC", stub, "-o", str(folder / "libstub.so"))
    text = (HERE / "regions.c").read_text().partition("#else\n")[2]
    (folder / LIKWID.name).write_text(text.partition("#endif")[0])
    return [f"-I{folder}", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lstub"]


def build_on_kokkos(folder: Path) -> Path:
    """Compile a program on Debian's Kokkos; return its path."""
    program, source = folder / "kokkos_program", HERE / "kokkos_program.cpp"
    words = ["g++", "-O1", str(source), *_KOKKOS, "-o", str(program)]
    subprocess.run(words, check=True, timeout=600)
    return program


def _compile(*words: str) -> None:
    subprocess.run(["gcc", *words], check=True, timeout=120)


def recorded(
    *argv: str,
    events: Sequence[Mapping[str, Any]] = (),
    env: Mapping[str, str] | None = None,
    **more: Any,
) -> RegionRecord:
    """Run a command with the recorder; return its regions."""
    request = {"argv": list(argv), "env": {**(env or {})}, **more}
    request["regions"] = {"sources": sources(), "events": [*events]}
    return regions_of(recorded_event("regions", request))
