from collections.abc import Iterator

import pytest

from api.access.tokens import TokenRole
from tests.api.servers import Closed, own_api
from tests.api.virtual.calls import RACK, send
from tests.virtual_telemetry.world import BASE, World, running


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("world")) as found:
        yield found


@pytest.fixture(scope="package")
def api(world: World) -> Iterator[Closed]:
    home = world.settings.home
    home.mkdir(exist_ok=True)
    with own_api(home, BASE, world.fuseki, world.store) as found:
        yield found


@pytest.fixture(scope="package")
def operator(api: Closed) -> str:
    return api.add("carla", TokenRole.OPERATOR)


@pytest.fixture(scope="package")
def rack(api: Closed, operator: str) -> str:
    answer = send(api, "PUT", operator, "/virtual/rack", RACK)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == "/virtual/rack"
    return "/virtual/rack"
