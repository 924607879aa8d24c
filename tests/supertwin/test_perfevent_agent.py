"""The perfevent agent's folder, its line in pmcd.conf and its names."""

from pathlib import Path

import pytest

from supertwin import perfevent_agent
from supertwin.errors import MendableError
from supertwin.perfevent_agent import (
    check_installed,
    forget_others,
    keep_configuration,
    kept_configuration,
    log_of_agent,
    name_space,
    with_agent,
)

CONFIG = """linux\t60\tpipe\tbinary\t\t/var/lib/pcp/pmdas/linux/pmdalinux

[access]
allow "local:*" : all;
"""


def test_without_configuration_there_is_no_agent(tmp_path: Path) -> None:
    assert kept_configuration(tmp_path) is None
    assert with_agent(CONFIG, tmp_path, None) == CONFIG
    assert "perfevent" not in name_space(tmp_path)
    forget_others(tmp_path)


def test_another_configuration_is_another_line(tmp_path: Path) -> None:
    keep_configuration(tmp_path, "[perf]\n")
    first = with_agent(CONFIG, tmp_path, None)
    keep_configuration(tmp_path, "[perf]\n")
    assert with_agent(CONFIG, tmp_path, None) == first
    keep_configuration(tmp_path, "[perf]\nperf::X\n")
    assert kept_configuration(tmp_path) == "[perf]\nperf::X\n"
    second = with_agent(CONFIG, tmp_path, "ada").splitlines()
    assert second[0] == first.splitlines()[0]
    (line,) = (line for line in second if line.startswith("perfevent 127 pipe "))
    assert second.index(line) < second.index("[access]")
    assert line not in first
    assert f"/pmdaperfevent -d 127 -l {log_of_agent(tmp_path)} -U ada" in line


def test_the_folder_of_the_line_holds_the_configuration(tmp_path: Path) -> None:
    keep_configuration(tmp_path, "[perf]\n")
    words = with_agent("", tmp_path, None).split()
    (place,) = (word for word in words if word.startswith("PCP_PMDAS_DIR="))
    conf = Path(place.partition("=")[2]) / "perfevent" / "perfevent.conf"
    assert conf.read_text() == "[perf]\n"


def test_a_folder_that_pmcd_cannot_name(tmp_path: Path) -> None:
    with pytest.raises(MendableError, match="set SUPERTWIN_HOME"):
        keep_configuration(tmp_path / "a b", "[perf]\n")


def test_old_configurations_are_removed(tmp_path: Path) -> None:
    for text in ("a", "b", "c"):
        keep_configuration(tmp_path, text)
    forget_others(tmp_path)
    assert len(list((tmp_path / "perfevent").glob("*/"))) == 1
    assert kept_configuration(tmp_path) == "c"
    keep_configuration(tmp_path, None)
    forget_others(tmp_path)
    assert kept_configuration(tmp_path) is None
    assert not list((tmp_path / "perfevent").glob("*/"))


def test_the_names_stand_under_the_root(tmp_path: Path) -> None:
    keep_configuration(tmp_path, "[perf]\n")
    text = name_space(tmp_path)
    assert text.startswith("root {\n\tperfevent\n")
    assert "hwcounters 127:*:*" in text


def test_a_machine_without_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_installed()
    monkeypatch.setattr(perfevent_agent, "AGENTS", tmp_path)
    with pytest.raises(MendableError, match="apt-get install pcp"):
        check_installed()
