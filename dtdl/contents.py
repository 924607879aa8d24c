"""The contents of an Interface: a node's own facts, and the nodes that it holds."""

from collections.abc import Iterator

from rdflib import RDF, RDFS, URIRef

from dtdl.names import MAX_ID, Names, to_dtmi
from dtdl.nodes import HOMES, Nodes, Object
from dtdl.terms import (
    WHOLE_COMMENT,
    WHOLE_LABEL,
    class_name,
    compact,
    names,
)
from dtdl.units import (
    NUMERIC,
    UNITS,
    literal_schema,
    metric_schema,
    property_unit,
)
from dtdl.values import all_to_json
from dtdl.versions import TEXT, Element, Version
from dtdl.write import cut, element
from ontology.terms import QUDT, ST

# They may have several hundred values each: a list is shorter than Relationships.
_LISTED = {ST.involvesThread, ST.observes, ST.observesSoftware, ST.observesHardware}
VALUE, NODE = "Value", "Node"


class Contents:
    """Writes the contents of every Interface of a twin in one version of DTDL."""

    def __init__(self, nodes: Nodes, version: Version) -> None:
        self._nodes, self._version, self._base = nodes, version, nodes.base

    def of(self, interface: URIRef, taken: Names) -> Iterator[Element]:
        """Properties and Relationships of an Interface, then the nodes in it."""
        for property_, values in self._nodes.facts.get(interface, {}).items():
            if property_ in (RDF.type, RDFS.label, RDFS.comment):
                continue
            listed = property_ in _LISTED
            targets = [] if listed else [*filter(self._nodes.is_interface, values)]
            yield from self._relationships(property_, targets, taken)
            rest = [v for v in values if v not in targets]
            if property_ == ST.exposes:
                rest = [v for v in rest if not self._nodes.is_metric(v)]
            yield from self._properties(property_, rest, taken)
        for node in self._nodes.contents(interface):
            yield self._node(node, taken)

    def heading(self, node: URIRef) -> tuple[Element, Element]:
        """Label and comment of a node in DTDL, and the extra members that they need."""
        dtdl: Element = {}
        ours: Element = {}
        rules = (
            (RDFS.label, "displayName", WHOLE_LABEL, self._version.display_name),
            (RDFS.comment, "description", WHOLE_COMMENT, TEXT),
        )
        for property_, name, whole, longest in rules:
            values = self._nodes.facts.get(node, {}).get(property_, [])
            if values:
                dtdl[name] = cut(str(values[0]), longest)
            found = all_to_json(values, self._base) if values else None
            if values and found != dtdl[name]:
                ours[whole] = found
        return dtdl, ours

    def types(self, node: URIRef) -> tuple[str, Element]:
        """The co-type of a node, and its other classes."""
        classes = [c for c in self._nodes.classes(node) if isinstance(c, URIRef)]
        # A class that makes a node a content comes first.
        classes.sort(key=lambda class_: class_ not in HOMES)
        co_type = next(filter(None, map(class_name, classes)), NODE)
        more = [compact(c, self._base) for c in classes if class_name(c) != co_type]
        return co_type, {"types": more} if more else {}

    def identity(self, node: URIRef, longest: int) -> tuple[str, Element]:
        """The DTMI of a node, and its IRI if the DTMI does not contain it."""
        dtmi = to_dtmi(node, self._base, longest)
        hashed = dtmi.startswith("dtmi:supertwinLong:")
        return dtmi, {"iri": compact(node, self._base)} if hashed else {}

    def _relationships(
        self, property_: URIRef, targets: list[Object], taken: Names
    ) -> Iterator[Element]:
        name, ours = self._name(property_)
        for number, target in enumerate(targets):
            dtdl = {
                "name": taken.give(name if len(targets) == 1 else f"{name}_{number}"),
                "target": to_dtmi(str(target), self._base),
            }
            if ours:
                yield element(["Relationship"], VALUE, dtdl, ours, self._version)
            else:
                yield {"@type": "Relationship", **dtdl}

    def _properties(
        self, property_: URIRef, values: list[Object], taken: Names
    ) -> Iterator[Element]:
        if not values:
            return
        name, ours = self._name(property_)
        schema, kinds, unit = self._schema(property_, values)
        many = len(values) > 1 and not self._version.lossless
        dtdl = {
            "name": taken.give(name),
            "schema": {"@type": "Array", "elementSchema": schema} if many else schema,
        }
        if many:
            kinds, unit = ["Property"], {}
        own_fields = {"value": all_to_json(values, self._base), **ours}
        yield element(kinds, VALUE, dtdl | unit, own_fields, self._version)

    def _schema(
        self, property_: URIRef, values: list[Object]
    ) -> tuple[str, list[str], Element]:
        """The schema of some values, with class, semantic type and unit."""
        schemas = {literal_schema(getattr(value, "datatype", None)) for value in values}
        schema = schemas.pop() if len(schemas) == 1 else "string"
        return schema, *self._unit("Property", schema, property_unit(property_))

    def _unit(
        self, kind: str, schema: str, unit: Object | None
    ) -> tuple[list[str], Element]:
        """Class and semantic type, and the unit, if DTDL knows it."""
        if schema not in NUMERIC or not isinstance(unit, URIRef) or unit not in UNITS:
            return [kind], {}
        semantic, name = UNITS[unit]
        return [kind, semantic], {"unit": self._version.unit(name)}

    def _name(self, property_: URIRef) -> tuple[str, Element]:
        """The name of a property, and its IRI if the name does not imply it."""
        if property_ in names():
            return names()[property_], {}
        iri = compact(property_, self._base)
        return iri.rpartition(":")[2], {"predicate": iri}

    def _node(self, node: URIRef, taken: Names) -> Element:
        """Write a node as a content."""
        co_type, ours = self.types(node)
        dtmi, iri = self.identity(node, MAX_ID)
        heading, whole = self.heading(node)
        kinds, dtdl = self._kind(node, co_type)
        name = {"name": taken.give(self._content_name(node, co_type))}
        ours |= iri | self._members(node) | whole
        dtdl = {"@id": dtmi, **name, **heading, **dtdl}
        return element(kinds, co_type, dtdl, ours, self._version)

    def _members(self, node: URIRef) -> Element:
        """The facts of a content except class, label and comment, as members."""
        skipped = {RDF.type, RDFS.label, RDFS.comment, self._nodes.home_property(node)}
        ours: Element = {}
        more: Element = {}
        for property_, values in self._nodes.facts[node].items():
            if property_ not in skipped:
                found = all_to_json(values, self._base)
                name, unnamed = self._name(property_)
                (more if unnamed else ours)[unnamed.get("predicate", name)] = found
        if self._nodes.is_metric(node) and not self._nodes.is_exposed(node):
            ours["exposed"] = False
        return ours | ({"more": more} if more else {})

    def _content_name(self, node: URIRef, co_type: str) -> str:
        parts = [self._nodes.value(node, p) for p in (ST.dbName, ST.instname)]
        known = [str(part) for part in parts if part]
        if co_type == "MetricInstance":
            return f"instance {known[0] if known else ''}"
        if co_type == "PmuEvent":
            known = [str(self._nodes.value(node, ST.pmuName) or "")]
        if co_type == "NumaDistance" or not any(known):
            known = [co_type, str(node).rpartition("/")[2]]
        return " ".join(known)

    def _kind(self, node: URIRef, co_type: str) -> tuple[list[str], Element]:
        """Class and semantic type of a content, with its schema and unit or target."""
        value = self._nodes.value
        if co_type == "NumaDistance":
            target = value(node, ST.toDomain)
            known = target is not None and self._nodes.is_interface(target)
            where = {"target": to_dtmi(str(target), self._base)} if known else {}
            fields = [{"@type": "Property", "name": "distance", "schema": "double"}]
            return ["Relationship"], {**where, "properties": fields}
        if co_type == "MetricInstance":
            return ["Property"], {"schema": "string"}
        if co_type == "BenchmarkResult":
            kinds, unit = self._unit("Property", "double", value(node, QUDT.hasUnit))
            return kinds, {"schema": "double", **unit}
        if co_type == "PmuEvent":
            return ["Telemetry"], {"schema": "long"}
        return self._telemetry(node)

    def _telemetry(self, node: URIRef) -> tuple[list[str], Element]:
        metric = self._nodes.value(node, ST.ofMetric) or node
        schema = metric_schema(str(self._nodes.value(metric, ST.valueType)))
        if ST.HWTelemetry in self._nodes.classes(node) and metric == node:
            schema = "long"
        unit = self._nodes.value(metric, QUDT.hasUnit)
        # A value that must still be scaled is not in that unit.
        scaled = any(self._nodes.value(n, ST.scaleToUnit) for n in (node, metric))
        kinds, found = self._unit("Telemetry", schema, None if scaled else unit)
        return kinds, {"schema": schema, **found}
