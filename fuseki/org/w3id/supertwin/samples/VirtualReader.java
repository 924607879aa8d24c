package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.engine.binding.Binding;

import org.w3id.supertwin.samples.Telemetry.Computed;

/** Reads virtual telemetry, which the series store computes in the spans that are asked for. */
final class VirtualReader {
    // VictoriaMetrics computes no more values of a series in a request, or inside of one.
    private static final int MOST_VALUES = 30_000, MOST_INSIDE = 100_000;
    private static final long BEFORE_MS = 300_000;
    // Where st:last looks first, and how far back: at least these, or periods of the slowest input.
    private static final long RECENT_MS = 120_000, PAST_MS = 3_600_000;
    private static final int RECENT_PERIODS = 3, PAST_PERIODS = 100;
    private static final int MOST_LOOKS = 10;
    // In a query, the expression has this name: written twice, it could be too long.
    private static final String NAME = "supertwin_virtual";
    // The store caches nothing younger, and takes some seconds to see points that come late.
    private static final long SETTLED_MS = 600_000;

    private final Reader reader;
    private final Batch batch;
    private final Computed computed;

    VirtualReader(Reader reader, Batch batch) {
        this.reader = reader;
        this.batch = batch;
        computed = batch.computed();
    }

    /** The windows of a range, in portions: the store computes the values inside of them. */
    List<Call.Range> portions(Call.Range range) {
        if (range.windowMs() > longest())
            throw new SampleError(SampleError.Code.TOO_MANY, "a window of <"
                    + batch.common.series() + "> has " + range.windowMs() / computed.gridMs()
                    + " computed values, at most " + longest() / computed.gridMs()
                    + " are allowed; give a step, or a shorter range");
        long steps = Math.max(1, longest() / range.windowMs() - 1);
        List<Call.Range> found = new ArrayList<>();
        for (int step = 0; step < range.steps(); step += (int) Math.min(steps, MOST_VALUES)) {
            long last = Math.min(range.steps(), step + Math.min(steps, MOST_VALUES));
            found.add(new Call.Range(range.from() + step * range.windowMs(),
                    range.from() + last * range.windowMs(), range.stepMs(), range.quantile()));
        }
        return found;
    }

    /** The milliseconds of the longest window: the store also computes values before it. */
    private long longest() {
        return (MOST_INSIDE - 2) * computed.gridMs() - BEFORE_MS;
    }

    /** A window of the values, in a query that {@link #query} completes. */
    String window(long windowMs) {
        return "(" + NAME + ")[" + windowMs + "ms:" + computed.gridMs() + "ms]";
    }

    /** A query that has windows of the values. */
    String query(String windows) {
        return "WITH (" + NAME + " = " + computed.expression() + ") " + windows;
    }

    /** Whether the store may answer from its cache: it then moves times to multiples of a step. */
    boolean mayCache(Call.Range range) {
        boolean isAligned = range.stepMs() == 0 || range.end(0) % range.stepMs() == 0;
        return isAligned && range.to() < reader.now - SETTLED_MS;
    }

    // ---- the last value ----------------------------------------------------------

    Rows last() {
        if (computed.isEmpty())
            return Rows.of(List.<Binding>of().iterator());
        long most = longest();
        long start = reader.now - Math.max(PAST_MS, PAST_PERIODS * computed.slowestMs());
        long recent = Math.max(RECENT_MS, RECENT_PERIODS * computed.slowestMs());
        List<Binding> found = List.of();
        long end = reader.now, window = Math.min(recent, most);
        for (int look = 0; look < MOST_LOOKS && end > start && found.isEmpty(); look++) {
            found = last(end, window);
            end -= window;
            window = Math.min(most, end - start);
        }
        return Rows.of(found.iterator());
    }

    private List<Binding> last(long end, long windowMs) {
        Map<String, String> parts = new HashMap<>();
        String window = window(windowMs);
        String query = query("union(" + Reader.part(Reader.VALUE, "last_over_time(" + window + ")")
                + "," + Reader.part(Reader.TIME, "tlast_over_time(" + window + ")") + ")");
        reader.query("/api/v1/query", Map.of("query", query, "time", Times.seconds(end)),
                false, (labels, ms, value) -> parts.put(labels.get(Reader.PART), value));
        if (!parts.containsKey(Reader.TIME))
            return List.of();
        long ms = Math.round(Double.parseDouble(parts.get(Reader.TIME)) * 1000);
        return rows().stream()
                .map(row -> row.bind(Numbers.literal(parts.get(Reader.VALUE)),
                        reader.times.literal(ms),
                        Numbers.seconds(Math.max(0, reader.now - ms))))
                .filter(Objects::nonNull).toList();
    }

    private List<Batch.Row> rows() {
        return batch.rows.values().iterator().next();
    }

    // ---- all values --------------------------------------------------------------

    /** How many values a range has at most. */
    long count(Call.Range range) {
        return range.to() / computed.gridMs() - range.from() / computed.gridMs();
    }

    Rows raw() {
        return computed.isEmpty() ? Rows.of(List.<Binding>of().iterator())
                : Rows.of(new Values(batch.common.range()));
    }

    /** The values of a range, read in portions while they are sent. */
    private final class Values implements Iterator<Binding> {
        private final long last;
        private long next;
        private Iterator<Binding> read = List.<Binding>of().iterator();

        Values(Call.Range range) {
            long grid = computed.gridMs();
            next = (range.from() / grid + 1) * grid;
            last = range.to() / grid * grid;
        }

        @Override
        public boolean hasNext() {
            while (!read.hasNext() && next <= last)
                read = portion().iterator();
            return read.hasNext();
        }

        private List<Binding> portion() {
            long grid = computed.gridMs();
            long end = Math.min(last, next + (MOST_VALUES - 1) * grid);
            List<Binding> found = new ArrayList<>();
            boolean mayCache = end < reader.now - SETTLED_MS;
            reader.query("/api/v1/query_range",
                    Map.of("query", computed.expression(), "start", Times.seconds(next), "end",
                            Times.seconds(end), "step", grid + "ms"),
                    mayCache, (labels, ms, value) -> add(found, ms, value));
            next = end + grid;
            reader.requests.read((long) found.size());
            return found;
        }

        private void add(List<Binding> found, long ms, String value) {
            // With its value, a literal is made without parsing the text again.
            Node literal = Numbers.literal(Numbers.parsed(value));
            Node time = reader.times.literal(ms);
            for (Batch.Row row : rows()) {
                Binding bound = row.bind(time, literal);
                if (bound != null)
                    found.add(bound);
            }
        }

        @Override
        public Binding next() {
            if (!hasNext())
                throw new NoSuchElementException();
            return read.next();
        }
    }
}
