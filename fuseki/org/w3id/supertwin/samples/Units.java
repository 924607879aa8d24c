package org.w3id.supertwin.samples;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.DatasetGraph;

/** Converts units by the dimensions and multipliers that the ontology states of them. */
final class Units {
    private static final String QUDT = "http://qudt.org/schema/qudt/";
    private static final Node MULTIPLIER = qudt("conversionMultiplier");
    private static final Node OFFSET = qudt("conversionOffset");
    private static final Node DIMENSIONS = qudt("hasDimensionVector");
    private static final Node KIND = qudt("hasQuantityKind");

    /** How values change: {@code v * scale + shift}. */
    record Change(double scale, double shift) {
        static final Change NONE = new Change(1, 0);

        /** The MetricsQL for the changed values of an expression. */
        String of(String text) {
            String scaled = scale == 1 ? text : "(" + text + " * " + Part.number(scale) + ")";
            return shift == 0 ? scaled : "(" + scaled + " + " + Part.number(shift) + ")";
        }
    }

    private final DatasetGraph dataset;

    Units(DatasetGraph dataset) {
        this.dataset = dataset;
    }

    /** How to convert the values of telemetry; empty texts are for no unit. */
    Change change(String from, String to, Node telemetry) {
        if (from.equals(to))
            return Change.NONE;
        Node one = NodeFactory.createURI(from), other = NodeFactory.createURI(to);
        Double multiplier = number(one, MULTIPLIER), target = number(other, MULTIPLIER);
        boolean fits = multiplier != null && target != null
                && same(one, other, DIMENSIONS) && isInformation(one) == isInformation(other);
        if (!fits)
            throw new SampleError(SampleError.Code.UNITS, "<" + telemetry + "> is now in "
                    + name(from) + ", which does not convert to " + name(to)
                    + ": define the virtual telemetry again");
        return new Change(rounded(multiplier / target),
                rounded((offset(one) - offset(other)) / target));
    }

    private boolean same(Node one, Node other, Node link) {
        Node found = object(one, link);
        return found != null && found.equals(object(other, link));
    }

    /** QUDT gives bytes the dimensions of a count. */
    private boolean isInformation(Node unit) {
        Node kind = object(unit, KIND);
        return kind != null && (kind.getLocalName().equals("InformationEntropy")
                || kind.getLocalName().equals("DataRate"));
    }

    private double offset(Node unit) {
        Double found = number(unit, OFFSET);
        return found == null ? 0 : found;
    }

    private Double number(Node unit, Node link) {
        Node found = object(unit, link);
        return found == null ? null : Double.valueOf(found.getLiteralLexicalForm());
    }

    private Node object(Node subject, Node link) {
        var found = dataset.find(Node.ANY, subject, link, Node.ANY);
        return found.hasNext() ? found.next().getObject() : null;
    }

    private static double rounded(double value) {
        return Double.parseDouble(String.format(java.util.Locale.ROOT, "%.14g", value));
    }

    private static String name(String unit) {
        return unit.isEmpty() ? "no unit" : "unit:" + unit.substring(unit.lastIndexOf('/') + 1);
    }

    private static Node qudt(String name) {
        return NodeFactory.createURI(QUDT + name);
    }
}
