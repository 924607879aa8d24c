"""VictoriaMetrics with its accounts and keys, as the supervisor starts it."""

from pathlib import Path

from core.settings.accounts import Account, store_write_account
from core.settings.settings import Settings
from supertwin.stack import children
from tests.ports import free_port
from tests.servers import Server, answers


class OwnStore(Server):
    """The store as the supervisor starts it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.settings = Settings(home=folder, store_port=free_port())
        self.url = self.settings.store_read

    @property
    def account(self) -> Account:
        account = store_write_account(self.settings)
        assert account
        return account

    def start(self) -> None:
        spec = children.store(self.settings)
        self.launch(spec.command, **spec.env)
        self.ready(lambda: answers(f"{self.url}/health"))
