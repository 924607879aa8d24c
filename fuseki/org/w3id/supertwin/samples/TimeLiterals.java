package org.w3id.supertwin.samples;

import java.time.LocalDate;

import org.apache.jena.datatypes.xsd.XSDDatatype;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;

/** Writes times as xsd:dateTime, many times faster than java.time; not thread-safe. */
final class TimeLiterals {
    private static final long DAY_MS = 86_400_000L;
    // The seconds of four and a half hours.
    private static final int KEPT = 1 << 14;

    private final char[] text = "0000-00-00T00:00:00.000Z".toCharArray();
    private final long[] keptMs = new long[KEPT];
    private final Node[] kept = new Node[KEPT];
    private long day = Long.MIN_VALUE;

    /** The literal of a time between the years 0 and 9999; cached, since series share times. */
    Node literal(long ms) {
        int slot = (int) (31 * (ms / 1000) + ms % 1000) & KEPT - 1;
        if (kept[slot] == null || keptMs[slot] != ms) {
            kept[slot] = made(ms);
            keptMs[slot] = ms;
        }
        return kept[slot];
    }

    private Node made(long ms) {
        long ofDay = Math.floorDiv(ms, DAY_MS);
        if (ofDay != day) {
            LocalDate.ofEpochDay(ofDay).toString().getChars(0, 10, text, 0);
            day = ofDay;
        }
        int rest = (int) (ms - ofDay * DAY_MS);
        write(12, rest / 3_600_000);
        write(15, rest / 60_000 % 60);
        write(18, rest / 1000 % 60);
        text[20] = (char) ('0' + rest % 1000 / 100);
        write(22, rest % 100);
        return NodeFactory.createLiteralDT(new String(text), XSDDatatype.XSDdateTime);
    }

    /** Write two digits that end at a position. */
    private void write(int end, int number) {
        text[end - 1] = (char) ('0' + number / 10);
        text[end] = (char) ('0' + number % 10);
    }
}
