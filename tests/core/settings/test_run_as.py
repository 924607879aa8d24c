"""Which user may be set to run the commands of others."""

import getpass
import os

import pytest

from core.settings.run_as import other_user
from core.settings.setting import SettingsError
from core.settings.settings import Settings


def test_own_user_is_not_another_user() -> None:
    assert other_user(Settings()) == ""
    assert other_user(Settings(run_as=getpass.getuser())) == ""


def test_user_must_exist() -> None:
    with pytest.raises(SettingsError, match="this machine has no user 'no-such-user'"):
        other_user(Settings(run_as="no-such-user"))


def test_only_root_runs_commands_as_another_user() -> None:
    assert other_user(Settings(run_as="nobody")) == "nobody"
    os.seteuid(65533)
    try:
        with pytest.raises(SettingsError, match="only root may run commands"):
            other_user(Settings(run_as="nobody"))
    finally:
        os.seteuid(0)
