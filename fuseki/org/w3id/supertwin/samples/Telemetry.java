package org.w3id.supertwin.samples;

/**
 * The series of a telemetry IRI.
 *
 * @param periodMs the period of the fastest plan that samples it; 0 if no plan does
 */
record Telemetry(Key key, boolean isCounter, boolean isText, long periodMs) {

    /** What identifies a series; {@code instance} is null if the metric has no instances. */
    record Key(String series, String host, String instance) {}

    /** How many samples the plan asks for after {@code from}, up to {@code to}. */
    long expected(long from, long to) {
        return Math.floorDiv(to, periodMs) - Math.floorDiv(from, periodMs);
    }
}
