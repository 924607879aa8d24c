"""`supertwin cgroups` without a stack, and invalid roots."""

import pytest
from click.testing import CliRunner

from core.settings.setting import SettingsError
from core.settings.settings import Settings
from supertwin.cli.main import main
from tests.ports import free_port


@pytest.mark.parametrize("roots", ["slurm//x", "fine/*,../x", "a\nb"])
def test_invalid_roots_are_refused(roots: str) -> None:
    with pytest.raises(SettingsError, match="is not a cgroup root"):
        Settings(cgroup_roots=roots)


def test_invalid_root_gives_one_line_in_any_command() -> None:
    done = CliRunner().invoke(
        main, ["cgroups", "list"], env={"SUPERTWIN_CGROUP_ROOTS": "/a/**/b"}
    )
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert "SUPERTWIN_CGROUP_ROOTS" in line
    assert "** is allowed only at the end" in line


def test_command_fails_without_the_graph_store() -> None:
    away = {"SUPERTWIN_FUSEKI_PORT": str(free_port())}
    done = CliRunner().invoke(main, ["cgroups", "list"], env=away)
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1
