package org.w3id.supertwin.samples;

import java.util.List;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.expr.NodeValue;

/**
 * The arguments of a function in one row, checked.
 *
 * @param outputs the variables to bind, or terms to compare with, in the order of the list
 */
record Call(Function function, Node telemetry, Range range, List<Node> outputs) {
    // VictoriaMetrics returns no more windows of a series.
    private static final int MOST_STEPS = 30_000;

    /**
     * A range of time, and how it is divided into windows.
     *
     * @param from the start in milliseconds; a range excludes it, so that adjacent ranges share no
     *        sample
     * @param to the end in milliseconds, which the range includes
     * @param stepMs the length of a window; 0 for one window over the whole range
     * @param quantile used by {@code st:quantile} only
     */
    record Range(long from, long to, long stepMs, double quantile) {
        long windowMs() {
            return stepMs == 0 ? to - from : stepMs;
        }

        int steps() {
            return stepMs == 0 ? 1 : (int) ((to - from) / stepMs);
        }

        /** The end of a window, {@link #windowMs} after its start. */
        long end(int step) {
            return from + (step + 1) * windowMs();
        }
    }

    /** Read an argument list; raises SampleError. */
    static Call read(Function function, Node telemetry, List<Node> list, long now) {
        Call call = function == Function.LAST ? last(telemetry, list, now)
                : ranged(function, telemetry, list, now);
        return call.of(telemetry);
    }

    /** The same call of another series; raises SampleError if it has no value. */
    Call of(Node series) {
        if (series.isVariable())
            throw SampleError.badCall(series + " has no value before " + function
                    + ": put the pattern that binds it first, in the same group");
        return new Call(function, series, range, outputs);
    }

    private static Call last(Node telemetry, List<Node> list, long now) {
        expect(Function.LAST, !list.isEmpty() && list.size() <= 3);
        return new Call(Function.LAST, telemetry, new Range(0, now, 0, 0), list);
    }

    private static Call ranged(Function function, Node telemetry, List<Node> list, long now) {
        int first = function == Function.QUANTILE ? 1 : 0;
        expect(function, list.size() > first + 2);
        double quantile = first == 0 ? 0 : quantile(list.get(0));
        long from = Times.time(list.get(first), now, "the start");
        long to = Times.time(list.get(first + 1), now, "the end");
        if (from >= to)
            throw SampleError.badCall(function + ": the range ends before it starts, or is empty;"
                    + " write its start before its end");
        boolean stepped = function.isWindow() && !list.get(first + 2).isVariable();
        List<Node> outputs = list.subList(first + (stepped ? 3 : 2), list.size());
        long step = stepped ? step(function, list.get(first + 2), to - from) : 0;
        int least = function == Function.RAW || stepped ? 2 : 1;
        int more = outputs.size() - least;
        expect(function, more == 0 || function.isWindow() && (more == 2 || more == 3));
        return new Call(function, telemetry, new Range(from, to, step, quantile), outputs);
    }

    private static long step(Function function, Node node, long range) {
        long step = Times.duration(node, "the step");
        if (step <= 0)
            throw SampleError.badCall(function + ": the step is " + Times.text(node)
                    + "; the shortest step is \"1ms\"");
        if (step > range)
            throw SampleError.badCall(function + ": the step " + Times.text(node)
                    + " is longer than the range; leave it out for one window");
        if (range / step > MOST_STEPS)
            throw new SampleError(SampleError.Code.TOO_MANY, function + ": " + range / step
                    + " windows for each series, at most " + MOST_STEPS
                    + " are allowed; write a longer step or a shorter range");
        return step;
    }

    private static double quantile(Node node) {
        NodeValue value = node.isLiteral() ? NodeValue.makeNode(node) : null;
        double number = value != null && value.isNumber() ? value.getDouble() : Double.NaN;
        if (!(number >= 0 && number <= 1))
            throw SampleError.badCall(Function.QUANTILE + ": the quantile " + Times.text(node)
                    + " is not a number between 0 and 1");
        return number;
    }

    private static void expect(Function function, boolean fits) {
        if (!fits)
            throw SampleError.badCall(function + " takes the list " + function.usage());
    }

    /** The output that the value of a window goes to. */
    Node value() {
        return outputs.get(range.stepMs == 0 ? 0 : 1);
    }

    /** How many outputs after the value ask for coverage: none, two or three. */
    int coverage() {
        return function.isWindow() ? outputs.size() - (range.stepMs == 0 ? 1 : 2) : 0;
    }
}
