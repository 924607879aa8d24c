package org.w3id.supertwin.samples;

import java.util.List;
import java.util.Set;

import org.apache.jena.graph.Node;

/**
 * The series of a telemetry IRI.
 *
 * @param periodMs the period of the fastest plan that samples it; 0 if no plan does
 * @param unit an IRI; empty if none is known
 * @param computed how virtual telemetry is computed; null for all other
 */
record Telemetry(Key key, boolean isCounter, boolean isText, long periodMs, String unit,
        Computed computed) {

    /**
     * What identifies a series; {@code instance} is null if the metric has no instances. The name
     * of a virtual one is its IRI.
     */
    record Key(String series, String host, String instance) {}

    /**
     * An expression of MetricsQL.
     *
     * @param part writes the expression for any grid
     * @param expression gives one series, without labels, or is empty: it then has no values
     * @param gridMs the milliseconds between two values, at multiples of it
     * @param slowestMs the milliseconds between two values of the slowest input
     * @param hosts those of all inputs
     * @param inputs the telemetry that it names, and the members of its sets
     */
    record Computed(Part part, String expression, long gridMs, long slowestMs, Set<String> hosts,
            List<Node> inputs) {
        boolean isEmpty() {
            return expression.isEmpty();
        }
    }

    /** How many samples the plan asks for after {@code from}, up to {@code to}. */
    long expected(long from, long to) {
        return Math.floorDiv(to, periodMs) - Math.floorDiv(from, periodMs);
    }

    /** The hosts whose samples it has. */
    Set<String> hosts() {
        return computed == null ? Set.of(key.host()) : computed.hosts();
    }
}
