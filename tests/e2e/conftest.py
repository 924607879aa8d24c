from collections.abc import Iterator

import pytest

from tests.sshd import Sshd
from tests.stack import Stack, running_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for all tests that leave it as it was."""
    with running_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="module")
def there(stack: Stack) -> Iterator[Sshd]:
    """A host whose PMCD is the stack's."""
    over = {"/run/pcp": str(stack.home / "pmcd/run")}
    with Sshd("SetEnv PATH=/usr/bin:/bin", over=over) as server:
        yield server


@pytest.fixture
def near(stack: Stack, there: Sshd) -> Iterator[Stack]:
    """The stack that knows how to get there; what it is told is forgotten."""
    config = stack.home / "ssh_config"
    config.write_text(there.config.read_text())
    yield stack
    stack.run("remove", "node9", "--history", "--yes", check=False)
    config.unlink()
