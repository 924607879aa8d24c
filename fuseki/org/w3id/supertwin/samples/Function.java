package org.w3id.supertwin.samples;

import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

import org.apache.jena.graph.Node;

/** The functions of samples, each with the rollup function of MetricsQL that computes a window. */
enum Function {
    LAST("last", ""),
    RAW("rawSamples", ""),
    AVG("avg", "avg_over_time"),
    MIN("min", "min_over_time"),
    MAX("max", "max_over_time"),
    SUM("sum", "sum_over_time"),
    COUNT("count", "count_over_time"),
    STDDEV("stddev", "stddev_over_time"),
    QUANTILE("quantile", "quantile_over_time"),
    RATE("rate", "rate"),
    INCREASE("increase", "increase");

    private static final String NAMESPACE = "https://w3id.org/supertwin/ns#";
    private final String name;
    private final String rollup;

    Function(String name, String rollup) {
        this.name = name;
        this.rollup = rollup;
    }

    /** The function with the IRI of a property, if there is one. */
    static Optional<Function> of(Node property) {
        return Stream.of(values()).filter(one -> property.hasURI(one.iri())).findFirst();
    }

    String iri() {
        return NAMESPACE + name;
    }

    /** The name as a query writes it. */
    @Override
    public String toString() {
        return "st:" + name;
    }

    boolean isWindow() {
        return !rollup.isEmpty();
    }

    boolean needsCounter() {
        return this == RATE || this == INCREASE;
    }

    /** What to write in an argument list, for messages. */
    String usage() {
        return switch (this) {
            case LAST -> "(?value ?time ?age)";
            case RAW -> "(from to ?time ?value)";
            default -> "(" + (this == QUANTILE ? "quantile " : "")
                    + "from to [step ?time] ?value [?present ?expected [?why]])";
        };
    }

    /** The expression of a window of a selector; {@code quantile} is used by QUANTILE only. */
    String expression(String selector, long windowMs, double quantile) {
        return expression(selector + "[" + windowMs + "ms]", quantile);
    }

    /** The expression of a window, which is written in brackets after its selector. */
    String expression(String window, double quantile) {
        String phi = this == QUANTILE ? String.format(Locale.ROOT, "%s,", quantile) : "";
        String value = rollup + "(" + phi + window + ")";
        // Without samples, VictoriaMetrics gives a rate of 0 for a while.
        return needsCounter() ? value + " if count_over_time(" + window + ")" : value;
    }
}
