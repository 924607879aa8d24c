"""The jar of our extension of Fuseki.

    python -m supertwin.stack.fuseki_extension

builds it from `fuseki/` next to Fuseki's jar, unless it exists for these sources and
this Fuseki. Eclipse's compiler needs no JDK.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from core.errors import UserError
from core.settings import tools
from supertwin.errors import BuildError

# Read by the extension when it starts: it ends Fuseki if the versions differ.
_VERSION = "org/w3id/supertwin/samples/jena-version"


def build_extension() -> Path:
    """Return the jar; build it first if needed, and remove older ones."""
    jar = tools.extension_path()
    if not jar.exists():
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            classes = Path(folder) / "classes"
            compile_java((tools.FUSEKI,), classes, (tools.fuseki_jar(),))
            # Atomically: a Fuseki that starts now must not read half a jar.
            _pack(classes, Path(folder) / "extension.jar").replace(jar)
        for older in set(jar.parent.glob("supertwin-*.jar")) - {jar}:
            older.unlink()
    return jar


def compile_java(
    sources: tuple[Path, ...], classes: Path, libraries: tuple[Path, ...]
) -> None:
    """Compile folders of Java; raises BuildError with the first error."""
    command = (
        *(str(tools.java()), "-jar", str(tools.java_compiler())),
        *("-17", "-proc:none", "-nowarn", "-encoding", "UTF-8"),
        *("-cp", ":".join(map(str, libraries)), "-d", str(classes)),
        *map(str, sources),
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip("- ")]
        raise BuildError(f"Java does not compile: {' '.join(lines[:4])}")


def _pack(classes: Path, jar: Path) -> Path:
    version = tools.fuseki_jar().stem.rpartition("-")[2]
    services = "META-INF/services"
    with ZipFile(jar, "w", ZIP_DEFLATED) as file:
        file.writestr(_VERSION, version)
        for path in sorted(classes.rglob("*.class")):
            file.write(path, path.relative_to(classes))
        for path in sorted((tools.FUSEKI / services).iterdir()):
            file.write(path, f"{services}/{path.name}")
    return jar


if __name__ == "__main__":
    try:
        build_extension()
    except UserError as error:
        sys.exit(str(error))
