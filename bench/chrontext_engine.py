"""chrontext over samples in DuckDB: the peer of SPARQL with samples.

A process of its own, because chrontext's packages are in conflict with SuperTwin's:
`PYTHONPATH=.tools/chrontext python -m bench.chrontext_engine FOLDER`. The folder has
the graph (`graph.nt`), the samples (`samples.csv`: id, timestamp, value) and the
queries (`*.rq`). Prints for each query the median of its seconds and the number of its
rows, as JSON.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
from chrontext import (
    XSD,
    Engine,
    Parameter,
    Prefix,
    RDFType,
    Template,
    Triple,
    Variable,
    VirtualizedPythonDatabase,
)
from pyoxigraph import RdfFormat, Store
from sqlalchemy import Column, MetaData, Table

ROUNDS, UNTIMED = 7, 2
_COLUMNS = ("id", "timestamp", "value")
_LOAD = """CREATE TABLE samples AS
SELECT id, "timestamp"::TIMESTAMPTZ AS "timestamp", "value"::DOUBLE AS "value"
FROM read_csv(?, names = ['id', 'timestamp', 'value'], all_varchar = true, skip = 1)
ORDER BY id, "timestamp" """


class _Database:
    """What chrontext sends its SQL to."""

    def __init__(self, samples: Path) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TIME ZONE 'UTC'")
        self.connection.execute(_LOAD, [str(samples)])

    def query(self, sql: str) -> Any:
        return self.connection.sql(sql).pl()


def main(folder: Path) -> None:
    engine = _engine(folder)
    print(json.dumps({f.stem: _timed(engine, f) for f in sorted(folder.glob("*.rq"))}))


def _engine(folder: Path) -> Engine:
    graph = Store()
    graph.bulk_load(path=str(folder / "graph.nt"), format=RdfFormat.N_TRIPLES)
    samples = VirtualizedPythonDatabase(
        database=_Database(folder / "samples.csv"),
        resource_sql_map={"samples": Table("samples", MetaData(), *_columns())},
        sql_dialect="postgres",
    )
    engine = Engine(
        {"samples": _template()},
        virtualized_python_database=samples,
        sparql_embedded_oxigraph=graph,
    )
    engine.init()
    return engine


def _columns() -> list[Column]:
    return [Column(name) for name in _COLUMNS]


def _template() -> Template:
    """Map a row to a data point of the telemetry that has the row's id."""
    terms = Prefix("ct", "https://github.com/DataTreehouse/chrontext#")
    types = (XSD().string, XSD().dateTime, XSD().double)
    row = [Variable(name) for name in _COLUMNS]
    point = Variable("point")
    return Template(
        iri=terms.suf("samples"),
        parameters=[
            Parameter(variable, rdf_type=RDFType.Literal(type_))
            for variable, type_ in zip(row, types, strict=True)
        ],
        instances=[
            Triple(row[0], terms.suf("hasDataPoint"), point),
            Triple(point, terms.suf("hasTimestamp"), row[1]),
            Triple(point, terms.suf("hasValue"), row[2]),
        ],
    )


def _timed(engine: Engine, query: Path) -> dict[str, Any]:
    """Answer a query in some rounds, each time as CSV.

    Counts distinct rows: chrontext 0.9.16 gives each group of two series twice.
    """
    text, seconds = query.read_text(), []
    for _ in range(UNTIMED + ROUNDS):
        started = time.perf_counter()
        rows = engine.query(text)
        rows.write_csv()
        seconds.append(time.perf_counter() - started)
    distinct = rows.unique().height
    return {"seconds": statistics.median(seconds[UNTIMED:]), "rows": distinct}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
