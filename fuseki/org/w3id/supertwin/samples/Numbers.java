package org.w3id.supertwin.samples;

import org.apache.jena.datatypes.xsd.XSDDatatype;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.graph.impl.LiteralLabelFactory;

/** Values of the series store as literals: whole numbers are integers, others doubles. */
final class Numbers {
    // Whole doubles below this are exact.
    private static final double EXACT = 1L << 53;
    // A number with at most this many characters fits into a long.
    private static final int LONG_DIGITS = 18;

    private Numbers() {}

    /** The literal of a number as the store wrote it. */
    static Node literal(String text) {
        if (isWhole(text))
            return text.length() > LONG_DIGITS
                    ? NodeFactory.createLiteralDT(text, XSDDatatype.XSDinteger)
                    : whole(text, Long.parseLong(text));
        return NodeFactory.createLiteralDT(special(text), XSDDatatype.XSDdouble);
    }

    /** The number that the store wrote: a division by zero gives +Inf, which Java does not read. */
    static double parsed(String text) {
        return switch (special(text)) {
            case "INF" -> Double.POSITIVE_INFINITY;
            case "-INF" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(text);
        };
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
        return literal(special(Double.toString(value)), value, XSDDatatype.XSDdouble);
    }

    /** A literal with its value, so that Jena does not parse the text: that is the slowest part. */
    private static Node literal(String text, Number value, XSDDatatype type) {
        return NodeFactory
                .createLiteral(LiteralLabelFactory.createIncludingValue(text, value, type));
    }

    static Node whole(long value) {
        return whole(Long.toString(value), value);
    }

    /** An integer literal whose value has the Java class that Jena's parser would choose. */
    private static Node whole(String text, long value) {
        Number number = value == (int) value ? (Number) (int) value : (Number) value;
        return literal(text, number, XSDDatatype.XSDinteger);
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
