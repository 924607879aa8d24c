"""Names that a baseline cannot have."""

import pytest

from core.stores.endpoint import Endpoint
from observations.comparison.baselines import set_baseline
from observations.errors import BaselineNameError
from ontology.iris import Iris
from tests.ports import free_port

NAMES = ["", ".", "x" * 101, "a\nb", "a\tb", "\x1b[2Ja", "a\x7f", "a\u2028b", "a\udcff"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_invalid_name_is_refused_before_the_store_is_asked(name: str) -> None:
    with (
        Endpoint(f"http://127.0.0.1:{free_port()}/twin") as twin,
        pytest.raises(BaselineNameError),
    ):
        set_baseline(twin, Iris("http://twin.example"), name, "a")
