package org.w3id.supertwin.samples;

import java.math.BigDecimal;
import java.util.Date;
import java.util.Map;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.xml.datatype.DatatypeConstants;
import javax.xml.datatype.XMLGregorianCalendar;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.expr.NodeValue;
import org.apache.jena.sparql.util.Context;

/** Times and durations in argument lists, as milliseconds. */
final class Times {
    private static final Pattern DURATION = Pattern.compile("(\\d{1,9}(?:\\.\\d+)?)(ms|s|m|h|d|w|y)");
    private static final Pattern RELATIVE = Pattern.compile("now(?:-(.+))?");
    private static final Map<String, Long> UNITS = Map.of("ms", 1L, "s", 1000L, "m", 60_000L,
            "h", 3_600_000L, "d", 86_400_000L, "w", 604_800_000L, "y", 31_536_000_000L);
    private static final TimeZone UTC = TimeZone.getTimeZone("UTC");
    // The end of the year 9999. The store has no times before 1970.
    private static final long LATEST = 253_402_300_799_999L;

    private Times() {}

    /** The time of NOW() in a query, so that all calls in it have the same. */
    static long now(Context context) {
        Node now = context.get(ARQConstants.sysCurrentTime);
        return now == null ? System.currentTimeMillis() : time(now, 0, "the current time");
    }

    /** A time: xsd:dateTime, Unix seconds, "now" or "now-1h"; {@code now} is that of the query. */
    static long time(Node node, long now, String what) {
        long time = anyTime(node, now, what);
        if (time < 0 || time > LATEST)
            throw SampleError.badCall(what + " " + text(node) + " is not between 1970 and 9999");
        return time;
    }

    private static long anyTime(Node node, long now, String what) {
        NodeValue value = literal(node, what);
        if (value.isDateTime())
            return milliseconds(value.getDateTime());
        if (value.isNumber())
            return milliseconds(value);
        Matcher relative = RELATIVE.matcher(value.asUnquotedString());
        if (!value.isString() || !relative.matches())
            throw SampleError.badCall(what + " " + text(node) + " is not a time: write an"
                    + " xsd:dateTime, Unix seconds, \"now\" or \"now-1h\"");
        return relative.group(1) == null ? now : now - duration(relative.group(1), what);
    }

    /** A duration: "1m", seconds, or xsd:duration. */
    static long duration(Node node, String what) {
        NodeValue value = literal(node, what);
        if (value.isNumber())
            return milliseconds(value);
        if (value.isDuration())
            return value.getDuration().getTimeInMillis(new Date(0));
        return duration(value.asUnquotedString(), what);
    }

    private static long duration(String text, String what) {
        Matcher found = DURATION.matcher(text);
        if (!found.matches())
            throw SampleError.badCall(what + " '" + text + "' is not a duration: write a number"
                    + " with ms, s, m, h, d, w or y, such as \"1m\"");
        return Math.round(Double.parseDouble(found.group(1)) * UNITS.get(found.group(2)));
    }

    private static NodeValue literal(Node node, String what) {
        if (node.isVariable())
            throw SampleError.badCall(what + " " + text(node)
                    + " has no value here: put the pattern that binds it before the function");
        if (!node.isLiteral())
            throw SampleError.badCall(what + " " + text(node) + " is not a literal");
        return NodeValue.makeNode(node);
    }

    /** A time without a zone is in UTC, whatever the zone of the machine. */
    private static long milliseconds(XMLGregorianCalendar time) {
        boolean hasZone = time.getTimezone() != DatatypeConstants.FIELD_UNDEFINED;
        return time.toGregorianCalendar(hasZone ? null : UTC, null, null).getTimeInMillis();
    }

    /** Seconds as milliseconds; a number beyond the range of long becomes its end. */
    private static long milliseconds(NodeValue seconds) {
        return Math.round(seconds.getDouble() * 1000);
    }

    /** A node in a message. */
    static String text(Node node) {
        return node.isLiteral() ? "'" + node.getLiteralLexicalForm() + "'" : node.toString();
    }

    /** As the series store writes times: seconds with three decimals. */
    static String seconds(long ms) {
        return BigDecimal.valueOf(ms, 3).toPlainString();
    }
}
