"""The page of saved queries: title, description, parameters and columns of each."""

from queries.binding import Param
from queries.catalogue import SavedQuery, load_catalogue

_INTRODUCTION = """# Saved queries, one by one

[queries.md](../queries.md) says how to run them. Over HTTP, a `host` that is not given
means every host. On the command line it means this host in a query about a host, and
every host in a query about a fleet or about runs; the table of each query says which.

"""


def query_page() -> str:
    """Markdown with one section for each saved query."""
    return _INTRODUCTION + "".join(map(_section, load_catalogue().values()))


def _section(saved: SavedQuery) -> str:
    lines = [f"## `{saved.name}`", "", f"**{saved.title}.** {saved.description}", ""]
    if saved.params:
        lines += ["| parameter | type | default | |", "|---|---|---|---|"]
        lines += [*map(_row, saved.params.values()), ""]
    if saved.dataset != "twin":
        lines += [f"Asks the dataset `{saved.dataset}`.", ""]
    columns = ", ".join(f"`{name}`" for name in saved.returns)
    return "\n".join([*lines, f"Answers: {columns}.", "", ""])


def _row(param: Param) -> str:
    default = "" if param.default is None else f"`{param.default}`"
    about = " ".join(param.description.split())
    if param.name == "host":
        about += "" if param.everywhere else "; on the command line this host"
    if param.enum:
        about = f"{about}: {', '.join(map(str, param.enum))}".lstrip(": ")
    return f"| `{param.name}` | {param.type} | {default} | {about} |"
