package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Inputs of an expression, aligned to a grid: those with a longer period than that of the grid are
 * interpolated between two values that are one such period apart.
 *
 * @param isOne whether it is one input, and not a set
 */
record Inputs(List<Group> groups, boolean isOne) implements Part {
    /**
     * Inputs that differ only in their labels.
     *
     * @param rollup the function of a window that gives the value of the period
     * @param toGrid a factor: the seconds of the grid for what grew in each of its periods
     */
    record Group(String selector, String rollup, boolean toGrid, int count, long periodMs,
            double scale) {
        private String text(long gridMs) {
            String text = aligned(gridMs);
            if (toGrid)
                text = "(" + text + " * " + Part.seconds(gridMs) + ")";
            return Parts.scaled(text, scale);
        }

        /** The value at each time of the grid. A longer window would carry it over a gap. */
        private String aligned(long gridMs) {
            long own = periodMs == 0 ? gridMs : periodMs;
            String at = selector + "[" + own + "ms]";
            String value = rollup + "(" + at + ")";
            if (own <= gridMs)
                return value;
            // The value at this time, or the next one; it is then at most a period ahead.
            String next = rollup + "(" + at + " offset -" + (own - 1) + "ms)";
            String share = "time() % " + Part.seconds(own) + " / " + Part.seconds(own);
            return "(" + value + " * (1 - " + share + ") + " + next + " * (" + share + "))";
        }
    }

    @Override
    public List<Part> operands() {
        return List.of();
    }

    @Override
    public LongStream periods() {
        return groups.stream().mapToLong(Group::periodMs);
    }

    @Override
    public List<Vector> vectors(long gridMs) {
        List<Vector> found = new ArrayList<>();
        int length = 0;
        for (Group one : groups) {
            String text = one.text(gridMs);
            found.add(new Vector(isOne ? "sum(" + text + ")" : text, one.count));
            Part.checkLength(length += text.length());
        }
        return found;
    }
}
