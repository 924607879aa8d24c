"""Paths of the programs that the stack runs."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from core.errors import UserError
from core.settings.home import CHECKOUT

TOOLS = CHECKOUT / ".tools"
# The configuration of Fuseki and the sources of our extension of it.
FUSEKI = CHECKOUT / "fuseki"
# Compiled if a compiler and libbpf are installed.
PROCESS_READER = TOOLS / "process-reader"
PROBER = TOOLS / "prober"
_INSTALL = "run `make up`, or ./install.sh alone"
_MIN_JAVA = 17


class NotInstalledError(UserError):
    """A program that SuperTwin runs is not installed."""

    code = "not-installed"


def java() -> Path:
    """Return a Java that can run Fuseki; raises NotInstalledError."""
    return find_java(_javas())


def find_java(candidates: Iterable[Path]) -> Path:
    """Return the first candidate that is Java 17 or newer; raises NotInstalledError."""
    too_old: list[tuple[int, Path]] = []
    for path in candidates:
        major = _major(path)
        if major and major >= _MIN_JAVA:
            return path
        if major:
            too_old.append((major, path))
    if too_old:
        major, path = too_old[0]
        raise NotInstalledError(
            f"Java {major} ({path}) is too old for Fuseki, {_MIN_JAVA} or newer is "
            f"needed: {_INSTALL}, or set JAVA_HOME"
        )
    raise NotInstalledError(f"no Java, Fuseki needs {_MIN_JAVA} or newer: {_INSTALL}")


def _javas() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"))


def _major(path: Path) -> int | None:
    """Return the Java's major version; None if it does not run."""
    try:
        done = subprocess.run(  # noqa: S603
            [path, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)', done.stderr)
    return int(match[1]) if match else None


def fuseki_jar() -> Path:
    """Return Fuseki's jar; raises NotInstalledError."""
    jars = sorted((TOOLS / "fuseki").glob("jena-fuseki-server-*.jar"))
    if not jars:
        raise NotInstalledError(f"Fuseki is not installed in {TOOLS}: {_INSTALL}")
    return jars[-1]


def fuseki_extension() -> Path:
    """Return the jar of our extension of Fuseki; raises NotInstalledError."""
    jar = extension_path()
    if not jar.exists():
        version = fuseki_jar().name
        raise NotInstalledError(
            f"our extension of Fuseki is not built for {version}: {_INSTALL}"
        )
    return jar


def extension_path() -> Path:
    """Return where that jar is built, see `fuseki_extension.py`.

    Its name contains a hash of that folder and of Fuseki's version, so that a jar of
    other sources or for another Fuseki is never loaded.
    """
    fuseki, digest = fuseki_jar(), hashlib.sha256()
    digest.update(fuseki.name.encode())
    for path in sorted(path for path in FUSEKI.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(FUSEKI)}\n".encode() + path.read_bytes())
    return fuseki.parent / f"supertwin-{digest.hexdigest()[:12]}.jar"


def java_compiler() -> Path:
    """Return the jar of Eclipse's compiler of Java; raises NotInstalledError."""
    jars = sorted((TOOLS / "fuseki").glob("ecj-*.jar"))
    if not jars:
        raise NotInstalledError(f"no compiler of Java in {TOOLS}: {_INSTALL}")
    return jars[-1]


def fuseki_classes(java: Path) -> Path:
    """Return the archive of Fuseki's classes for a Java, see `fuseki_classes.py`.

    Its name contains a hash of the Java and the jars: Java rejects another's archive.
    """
    jar, program = fuseki_jar(), java.resolve()
    files = (program, jar, fuseki_extension())
    of = [f"{path} {path.stat().st_mtime_ns}" for path in files]
    key = hashlib.sha256("\n".join(of).encode()).hexdigest()[:12]
    return jar.parent / f"classes-{key}.jsa"


def store() -> Path:
    """Return VictoriaMetrics; raises NotInstalledError."""
    own = TOOLS / "victoria-metrics"
    if found := shutil.which("victoria-metrics"):
        return Path(found)
    if os.access(own, os.X_OK):
        return own
    raise NotInstalledError(f"VictoriaMetrics is not installed: {_INSTALL}")


def pmcd() -> Path:
    """Return PCP's daemon; raises NotInstalledError."""
    path = _pcp_folder() / "pmcd"
    if not os.access(path, os.X_OK):
        raise NotInstalledError(f"PCP is not installed (no {path}): {_INSTALL}")
    return path


def _pcp_folder() -> Path:
    """Return the folder of PCP's daemons, which /etc/pcp.conf names."""
    try:
        text = Path("/etc/pcp.conf").read_text(encoding="utf-8")
    except OSError:
        text = ""
    match = re.search(r"^PCP_BINADM_DIR=(.+)$", text, re.MULTILINE)
    return Path(match[1] if match else "/usr/lib/pcp/bin")


def setpriv() -> Path:
    """Return util-linux's setpriv, which ties a child's life to its parent's."""
    found = shutil.which("setpriv")
    if not found:
        raise NotInstalledError(f"setpriv (util-linux) is not installed: {_INSTALL}")
    return Path(found)
