"""Reads answers with samples, and names the series of the small twin."""

import csv
from io import BytesIO, StringIO
from typing import Any

import httpx
import pyarrow as pa
from rdflib import RDF, Graph, Namespace

SOSA = Namespace("http://www.w3.org/ns/sosa/")
CPU0, CPU1 = (f"/twin/n1/telemetry/kernel.percpu.cpu.user/cpu{n}" for n in (0, 1))
FREE = "/twin/n1/telemetry/mem.util.free/~"
RELEASE = "/twin/n1/telemetry/kernel.uname.release/~"
PROCESS = "/twin/n1/telemetry/proc.psinfo.utime/1~20init"


def rows(answer: httpx.Response) -> list[list[str]]:
    assert answer.status_code == 200, answer.text
    return [*csv.reader(StringIO(answer.text))]


def observations(answer: httpx.Response) -> tuple[Graph, list[Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/ld+json"
    graph = Graph().parse(data=answer.text, format="json-ld")
    return graph, [*graph.subjects(RDF.type, SOSA.Observation)]


def read_arrow(body: BytesIO) -> pa.Table:
    return pa.ipc.open_stream(body).read_all()
