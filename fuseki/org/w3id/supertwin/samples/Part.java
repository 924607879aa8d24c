package org.w3id.supertwin.samples;

import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;

/** A part of an expression of virtual telemetry, which can be written in MetricsQL. */
interface Part {
    /**
     * The most bytes of an expression: VictoriaMetrics refuses queries over 16 KiB, and the rest is
     * for what a function of samples or a panel writes around it.
     */
    int LONGEST = 15_000;

    /**
     * A vector in MetricsQL.
     *
     * @param count how many series it has where none lacks a value; one series has no labels
     */
    record Vector(String text, int count) {
        /** Checked here: some parts hold their operand twice, so nested ones would fill the heap. */
        public Vector {
            checkLength(text.length());
        }

        Vector map(UnaryOperator<String> change) {
            return new Vector(change.apply(text), count);
        }
    }

    /** The parts that this part computes with. */
    List<Part> operands();

    /** How many parts are in each other here. */
    default int depth() {
        return 1 + operands().stream().mapToInt(Part::depth).max().orElse(0);
    }

    /** The milliseconds between two values of each input; 0 where they are not known. */
    default LongStream periods() {
        return operands().stream().flatMapToLong(Part::periods);
    }

    /** The values of this part on a grid of time; several vectors if it is a set. */
    List<Vector> vectors(long gridMs);

    static void checkLength(int length) {
        if (length > LONGEST)
            throw new SampleError(SampleError.Code.TOO_MANY, "an expression of more than " + LONGEST
                    + " bytes is needed for these inputs, and VictoriaMetrics takes no longer one;"
                    + " use fewer inputs, or fewer functions in each other");
    }

    /** The text of a part that is one series, or a number. */
    default String text(long gridMs) {
        return vectors(gridMs).get(0).text();
    }

    /** A number as MetricsQL writes it. */
    static String number(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15 ? Long.toString((long) value)
                : Double.toString(value);
    }

    /** Milliseconds as a number of seconds. */
    static String seconds(long ms) {
        return number(ms / 1000.0);
    }
}
