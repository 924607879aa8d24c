"""The Commands of a host's Interface.

They describe what the command line does: `supertwin probe`, sampling plans, and runs
under observation.
"""

from dtdl.versions import Element


def _object(**fields: str) -> Element:
    return {
        "@type": "Object",
        "fields": [{"name": n, "schema": s} for n, s in fields.items()],
    }


def _command(
    name: str, shown: str, request: Element, response: Element, why: str
) -> Element:
    return {
        "@type": "Command",
        "name": name,
        "displayName": shown,
        "description": why,
        "request": {"name": "asked", "schema": request},
        "response": {"name": "given", "schema": response},
    }


def commands() -> list[Element]:
    """Probe, sample and observe, each with its request and response."""
    return [
        _command(
            "probe",
            "Probe the machine",
            _object(confirm="boolean"),
            _object(probe="string", changed="boolean", seconds="double"),
            "Probes the machine again and loads the facts as its twin; `confirm` "
            "replaces another machine of that name. Gives the IRI of the probe.",
        ),
        _command(
            "sample",
            "Sample a metric",
            _object(metric="string", period="double"),
            _object(plan="string"),
            "Samples a metric, by its samplerName, every `period` seconds. Gives the "
            "IRI of the plan.",
        ),
        _command(
            "observe",
            "Run a command under observation",
            _object(
                command="string",
                folder="string",
                no_threads="integer",
                involved_threads="string",
                modifier="string",
                metrics="string",
                period="double",
            ),
            _object(observation="string", time="double", exit_status="integer"),
            "Runs a command pinned to the threads given, such as `0-3,8`, and records "
            "the given metrics while it runs. Gives the IRI of the observation.",
        ),
    ]
