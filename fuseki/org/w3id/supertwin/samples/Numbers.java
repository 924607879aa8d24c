package org.w3id.supertwin.samples;

import org.apache.jena.datatypes.xsd.XSDDatatype;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.graph.impl.LiteralLabelFactory;

/** Values of the series store as literals: whole numbers are integers, others doubles. */
final class Numbers {
    // Whole doubles below this are exact.
    private static final double EXACT = 1L << 53;

    private Numbers() {}

    /** The literal of a number as the store wrote it. */
    static Node literal(String text) {
        if (isWhole(text))
            return NodeFactory.createLiteralDT(text, XSDDatatype.XSDinteger);
        return NodeFactory.createLiteralDT(special(text), XSDDatatype.XSDdouble);
    }

    /** VictoriaMetrics writes infinity in three ways; XML Schema has one. */
    private static String special(String text) {
        return switch (text) {
            case "Infinity", "Inf", "+Inf" -> "INF";
            case "-Infinity", "-Inf" -> "-INF";
            default -> text;
        };
    }

    static Node literal(double value) {
        if (value == Math.rint(value) && Math.abs(value) < EXACT)
            return whole((long) value);
        String text = special(Double.toString(value));
        // Jena would parse the text to check it.
        return NodeFactory.createLiteral(
                LiteralLabelFactory.createIncludingValue(text, value, XSDDatatype.XSDdouble));
    }

    static Node whole(long value) {
        return NodeFactory.createLiteralDT(Long.toString(value), XSDDatatype.XSDinteger);
    }

    /** Milliseconds as a decimal number of seconds. */
    static Node seconds(long ms) {
        String text = Times.seconds(ms);
        return NodeFactory.createLiteralDT(text, XSDDatatype.XSDdecimal);
    }

    private static boolean isWhole(String text) {
        for (int i = 0; i < text.length(); i++) {
            char sign = text.charAt(i);
            if ((sign < '0' || sign > '9') && !(i == 0 && sign == '-'))
                return false;
        }
        return true;
    }
}
