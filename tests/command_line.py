"""Run `supertwin` as a person does, in a separate process only where that matters.

A new Python process needs a second for its imports.
"""

import os
import subprocess
import sys
from collections.abc import Mapping

from click.testing import CliRunner, Result

from supertwin.cli.main import main
from tests.servers import ENDS_WITH_US, ROOT

# These set signal handlers, bypass Python's streams, and must be found by other
# processes.
_BY_ITSELF = ("up", "down", "observe")

Done = subprocess.CompletedProcess[str]


def supertwin(settings: Mapping[str, str], *words: str) -> Result:
    """Run `supertwin WORDS` with only these settings (upper case, without prefix)."""
    given = {f"SUPERTWIN_{name}": value for name, value in settings.items()}
    return _here(given, words)


def run(env: Mapping[str, str], *words: str) -> Done:
    """Run `supertwin WORDS` in an environment, as if in a process."""
    if words[0] in _BY_ITSELF:
        return run_by_itself(env, *words)
    done = _here(env, words)
    return Done(words, done.exit_code, done.stdout, done.stderr)


def run_by_itself(env: Mapping[str, str], *words: str) -> Done:
    """Run `supertwin WORDS` as a process."""
    return subprocess.run(
        [*ENDS_WITH_US, sys.executable, "-m", "supertwin", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def _here(env: Mapping[str, str], words: tuple[str, ...]) -> Result:
    others = {name: None for name in os.environ if name.startswith("SUPERTWIN_")}
    runner = CliRunner(env={**others, **env})
    return runner.invoke(main, words, catch_exceptions=False)
