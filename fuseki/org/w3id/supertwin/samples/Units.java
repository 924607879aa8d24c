package org.w3id.supertwin.samples;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.DatasetGraph;

/** Converts units by the dimensions and multipliers that the ontology states of them. */
final class Units {
    private static final String QUDT = "http://qudt.org/schema/qudt/";
    private static final Node MULTIPLIER = qudt("conversionMultiplier");
    private static final Node DIMENSIONS = qudt("hasDimensionVector");
    private static final Node KIND = qudt("hasQuantityKind");

    private final DatasetGraph dataset;

    Units(DatasetGraph dataset) {
        this.dataset = dataset;
    }

    /** What converts the values of telemetry if multiplied; empty texts are for no unit. */
    double scale(String from, String to, Node telemetry) {
        if (from.equals(to))
            return 1;
        Node one = NodeFactory.createURI(from), other = NodeFactory.createURI(to);
        Double multiplier = number(one, MULTIPLIER), target = number(other, MULTIPLIER);
        boolean fits = multiplier != null && target != null
                && same(one, other, DIMENSIONS) && isInformation(one) == isInformation(other);
        if (!fits)
            throw new SampleError(SampleError.Code.UNITS, "<" + telemetry + "> is now in "
                    + name(from) + ", which does not convert to " + name(to)
                    + ": define the virtual telemetry again");
        return rounded(multiplier / target);
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
