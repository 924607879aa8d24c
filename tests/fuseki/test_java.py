"""The tests of the extension in Java, by JUnit."""

import subprocess
from pathlib import Path

from core.settings import tools
from supertwin.stack.fuseki_extension import compile_java

SOURCES = Path(__file__).with_name("java")


def test_java(tmp_path: Path) -> None:
    (junit,) = (tools.TOOLS / "junit").glob("junit-platform-console-standalone-*.jar")
    libraries = (tools.fuseki_jar(), tools.fuseki_extension(), junit)
    compile_java((SOURCES,), tmp_path, libraries)
    path = ":".join(map(str, (tmp_path, *libraries)))
    command = [tools.java(), "-jar", junit, "execute", "-cp", path]
    done = subprocess.run(
        [*command, f"--scan-class-path={tmp_path}", "--disable-banner"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-5000:]
