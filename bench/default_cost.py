"""Make the default model: ``python -m bench.default_cost CALIBRATION…``.

Of calibrations of one machine, idle and busy, the one nearest their median becomes
`sampling/cost/default.json`. The spread of all is stored with it, as the measured part
of the error. The difference between machines cannot be measured here and is assumed.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from sampling.cost.estimate import estimate_all
from sampling.cost.load import SamplingLoad
from sampling.cost.model import BUSY, DEFAULT, CostModel, load_model, save_model

# Cores of one decade differ in speed by about this factor; memory and bytes on disk
# depend on releases, on the available memory, and on how much values vary.
_ASSUMED = {"cpu": 3.0, "memory": 2.0, "disk": 3.0}


def main() -> None:
    """Choose a calibration, print the spread of all, and write the default model."""
    found = [model for path in sys.argv[1:] if (model := load_model(Path(path)))]
    loads = [run.load for run in found[0].runs if run.load.series]
    costs = [[_costs(model, load) for load in loads] for model in found]
    middle = [
        {of: median(cost[at][of] for cost in costs) for of in _ASSUMED}
        for at in range(len(loads))
    ]
    spreads = [_spread(cost, middle) for cost in costs]
    best = min(range(len(found)), key=lambda at: spreads[at]["cpu"])
    spread = {of: max(each[of] for each in spreads) for of in _ASSUMED}
    error = {of: max(_ASSUMED[of], spread[of]) for of in _ASSUMED}
    model = found[best]
    save_model(DEFAULT, replace(model, host="default", error=error))
    document = json.loads(DEFAULT.read_text())
    document["spread"] = {
        "calibrations": len(found),
        "of_a_busy_machine": sum(model.busy for model in found),
        "busy_means_percent_of_a_core": BUSY,
        "factors": {of: round(value, 2) for of, value in spread.items()},
    }
    DEFAULT.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["spread"], indent=1))


def _costs(model: CostModel, load: SamplingLoad) -> dict[str, float]:
    cost = estimate_all(model, load)
    memory = sum(of.value for of in cost.memory.values())
    return {"cpu": cost.cpu_total.value, "memory": memory, "disk": cost.disk.value}


def _spread(
    cost: Sequence[dict[str, float]], middle: Sequence[dict[str, float]]
) -> dict[str, float]:
    """The largest factor by which the costs of loads differ from the median."""
    return {
        of: max(
            max(one[of] / other[of], other[of] / one[of])
            for one, other in zip(cost, middle, strict=True)
        )
        for of in _ASSUMED
    }


if __name__ == "__main__":
    main()
