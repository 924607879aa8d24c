"""Requests about virtual telemetry, and the values to expect."""

import json
from typing import Any

from tests.api.servers import Closed, bearer
from tests.virtual_telemetry.world import series, telemetry

POWER = f"<{telemetry('power')}>"
OF_POWER = '{ ?telemetry st:samplerName "power" }'
RACK = {"expression": f"sum({OF_POWER})", "unit": "KiloW", "label": "Power of the rack"}
ACCEPT = {"Accept": "application/json"}


def send(api: Closed, method: str, token: str, path: str, body: Any = None) -> Any:
    headers = {**bearer(token), "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body)
    return api.client.request(method, api.url + path, content=content, headers=headers)


def at(second: int) -> float:
    """The power of both hosts in kW."""
    both = (series("power", host, None).get(second) for host in ("n1", "n2"))
    return sum(one for one in both if one is not None) / 1000
