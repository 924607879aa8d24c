"""The Dockerfile: pinned versions, no root, and only files that exist."""

import re
from fnmatch import fnmatch

from core.settings.settings import Settings
from tests.servers import ROOT

TEXT = (ROOT / "Dockerfile").read_text("utf-8")
LINES = [
    " ".join(line.split())
    for line in re.sub(r"\\\n", " ", TEXT).splitlines()
    if line.strip() and not line.startswith("#")
]
STAGES = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", TEXT, re.MULTILINE)


def instructions(name: str) -> list[str]:
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{name} ")]


def test_base_images_are_pinned() -> None:
    names = {stage for _, stage in STAGES}
    for image, _ in STAGES:
        assert image in names or re.search(r":v?\d+(\.\d+)+(-slim)?$", image), image


def test_store_version_matches_the_lock_file() -> None:
    module = (ROOT / "deploy/locks/victoria-metrics/go.mod").read_text()
    version = re.search(r"VictoriaMetrics/VictoriaMetrics (v[\d.]+)", module)
    assert version
    assert STAGES[0] == (
        f"victoriametrics/victoria-metrics:{version[1]}",
        "victoria-metrics",
    )


def test_image_does_not_run_as_root() -> None:
    last = TEXT[TEXT.rindex("\nFROM ") :]
    assert re.search(r"^USER supertwin$", last, re.MULTILINE)
    assert last.rindex("\nUSER ") > last.rindex("\nRUN ")


def ignored() -> list[str]:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_copied_files_exist_and_are_not_ignored() -> None:
    for copied in instructions("COPY"):
        words = copied.split()
        if words[0].startswith("--from="):
            assert words[0].removeprefix("--from=") in {stage for _, stage in STAGES}
            continue
        for source in words[:-1]:
            assert (ROOT / source).exists(), source
            assert not [rule for rule in ignored() if fnmatch(source, rule)]


def test_every_folder_of_the_program_is_copied() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    block = project.partition("packages = [")[2].partition("]")[0]
    packages = set(re.findall(r'"(\w+)"', block))
    assert packages
    assert not packages & set(ignored())
    compiled = next(line for line in instructions("RUN") if "compileall" in line)
    assert packages <= set(compiled.split())


def test_copied_tools_are_installed_by_install_sh() -> None:
    installer = (ROOT / "install.sh").read_text()
    for place in re.findall(r"--from=build /opt/supertwin/(\S+) ", TEXT):
        assert place.removeprefix(".tools/").removeprefix(".") in installer


def test_settings_of_the_image_exist() -> None:
    names = set(re.findall(r"\b(SUPERTWIN_\w+)=", TEXT))
    assert names
    assert names <= {f"SUPERTWIN_{name.upper()}" for name in Settings.fields}


def test_image_has_no_secrets() -> None:
    assert not re.search(r"password|secret|token", TEXT, re.IGNORECASE)
