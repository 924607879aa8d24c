"""The monitor plan of hosts, in the form that loading needs."""

from functools import partial
from typing import TYPE_CHECKING

from core.settings.settings import Settings
from core.stores.datasets import Progress
from ingest.monitoring import Monitoring
from sampling.plan_file.monitor import load_monitor, plan_names
from sampling.plan_file.notify import notify
from sampling.sources.local_metrics import monitored_metrics, with_local

if TYPE_CHECKING:
    from ingest.schema.schema import ProbeDocument


def monitoring(settings: Settings) -> Monitoring:
    """The monitor plan, which samples each host as soon as it is loaded."""
    tell = partial(notify, settings.home / "bridge")
    return Monitoring(monitored, with_bridge, tell)


def monitored(document: "ProbeDocument", progress: Progress) -> list[str]:
    """The part of the monitor set that the host exposes; reports the rest.

    Metrics of the bridge and of control groups are included if the host exposes them.
    """
    exposed = [metric.name for metric in document.facts.metrics]
    monitor = load_monitor()
    absent = [name for name in monitor if not plan_names([name], exposed)]
    if exposed and absent:
        progress(
            f"metrics of the monitor set that this host lacks: {', '.join(absent)}"
        )
    return plan_names([*monitor, *monitored_metrics()], exposed)


def with_bridge(document: "ProbeDocument", near: bool = True) -> "ProbeDocument":
    """The facts of a host that the bridge samples, with metrics of the bridge itself.

    On the bridge's own machine, ``near``, metrics of control groups are included.
    """
    facts = document.facts
    if facts.pcp is None:
        return document
    facts = facts.model_copy(update={"pcp": with_local(facts.pcp, near)})
    return document.model_copy(update={"facts": facts})
