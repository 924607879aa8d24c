"""The sign of a machine: what tells it from another one of the same name."""

from typing import Any

from ingest.dmi import real


def signs(facts: dict[str, Any]) -> dict[str, str]:
    """Every real sign in the facts of a probe, by kind, the strongest first.

    A probe without root sees the machine-id only: two probes of one machine may differ
    in their strongest sign, but not in one of the same kind.
    """
    board = facts.get("board") or {}
    found = {
        "board-serial": board.get("board", {}).get("serial"),
        "product-uuid": board.get("system", {}).get("uuid"),
        "machine-id": (facts.get("os") or {}).get("machine_id"),
    }
    return {kind: text for kind, value in found.items() if (text := real(value))}


def sign(facts: dict[str, Any]) -> str | None:
    """The strongest real sign, such as ``board-serial:WM19S002``; None without any."""
    return next((f"{kind}:{text}" for kind, text in signs(facts).items()), None)
