"""The user that runs the commands that tokens launch."""

import os
import pwd

from core.settings.setting import SettingsError
from core.settings.settings import Settings


def other_user(settings: Settings) -> str:
    """The name of that user; empty if SuperTwin itself runs as that user.

    Raises SettingsError if the user in `SUPERTWIN_RUN_AS` does not exist, or SuperTwin
    may not run commands as that user.
    """
    if not settings.run_as:
        return ""
    try:
        uid = pwd.getpwnam(settings.run_as).pw_uid
    except KeyError:
        raise SettingsError(
            f"SUPERTWIN_RUN_AS: this machine has no user {settings.run_as!r}: create "
            "it, or name another"
        ) from None
    if uid == os.geteuid():
        return ""
    if os.geteuid():
        raise SettingsError(
            f"SUPERTWIN_RUN_AS={settings.run_as}: only root may run commands as "
            "another user: start SuperTwin as root, or name a list in "
            "SUPERTWIN_ALLOWED_COMMANDS instead"
        )
    return settings.run_as
