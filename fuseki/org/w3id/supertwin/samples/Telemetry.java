package org.w3id.supertwin.samples;

/**
 * A telemetry node as its series: {@code instance} is null if the metric has none.
 *
 * @param periodMs of the fastest plan that samples it; 0 if no plan does
 */
record Telemetry(Key key, boolean isCounter, boolean isText, long periodMs) {

    /** The name and the labels that tell series apart. */
    record Key(String series, String host, String instance) {}

    /** How many samples the plan asks for after {@code from}, up to {@code to}. */
    long expected(long from, long to) {
        return Math.floorDiv(to, periodMs) - Math.floorDiv(from, periodMs);
    }
}
