"""`make bench`: speed and size on a stack of its own, as one table with ratios."""

import tempfile
from pathlib import Path

from tests.bench.bridge import bridge_figures
from tests.bench.dashboards import dashboard_figures
from tests.bench.fleet import (
    fleet_figures,
    local_probe_figures,
    zen4_figures,
)
from tests.bench.observe import accuracy_figures, overhead_figures
from tests.bench.pinning import pinning_figures
from tests.bench.queries import query_figures
from tests.bench.remote import remote_figures
from tests.bench.replacement import replacement_figures
from tests.bench.sampling_cost import cost_figures
from tests.bench.table import Figure, print_table
from tests.bench.twin import big_host_figures, probe_figures
from tests.stack import running_stack


def main() -> None:
    figures: list[Figure] = []
    with (
        tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder,
        running_stack(Path(folder)) as stack,
    ):
        figures += bridge_figures(stack)
        figures += probe_figures(stack)
        figures += remote_figures(stack)
        figures += big_host_figures(stack)
        figures += local_probe_figures(stack)
        figures += zen4_figures(stack)
        figures += query_figures(stack)
        figures += dashboard_figures(stack)
        figures += fleet_figures(stack)
        figures += overhead_figures(stack)
        figures += accuracy_figures(stack)
        figures += replacement_figures()
        figures += pinning_figures()
    figures += cost_figures()
    print_table(figures)


if __name__ == "__main__":
    main()
