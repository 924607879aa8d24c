"""The calibration of this machine, or the default model if there is none."""

from pathlib import Path
from typing import TYPE_CHECKING

from core.settings.settings import Settings
from core.settings.state import read_json

if TYPE_CHECKING:
    from sampling.cost.model import CostModel

_FILE = "cost.json"


def model_path(settings: Settings) -> Path:
    """The path of this machine's calibration."""
    return settings.home / _FILE


def is_calibrated(settings: Settings) -> bool:
    """Whether a calibration of this machine exists."""
    return model_path(settings).exists()


def calibrated_line(settings: Settings) -> str:
    """What estimates are based on, for `supertwin status`."""
    if not is_calibrated(settings):
        return "the default model; `supertwin sample calibrate` measures this machine"
    date = str(
        (read_json(model_path(settings)) or {}).get("date", "at an unknown time")
    )
    return f"calibrated {date[:16].replace('T', ' ')}"


def current_model(settings: Settings) -> "CostModel":
    """The model for estimates; raises ModelError if the saved one is damaged."""
    from sampling.cost.model import default_model, load_model

    return load_model(model_path(settings)) or default_model()
