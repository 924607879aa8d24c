package org.w3id.supertwin.samples;

import java.io.InputStream;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.engine.binding.Binding;

import org.w3id.supertwin.samples.Telemetry.Key;

/** Turns batches into requests to the series store, and the answers into rows. */
final class Reader {
    // Most series that are asked for are still running, so look at recent points first.
    private static final String RECENT = "2m";
    // A query without its own time would be rounded down to a whole second.
    private static final long AHEAD_MS = 1000;
    // VictoriaMetrics on two CPUs answers this many requests at once; others wait.
    private static final int MOST_AT_ONCE = 4;
    // This label tells the parts of an answer apart; no series has it.
    static final String PART = "supertwin_part";
    static final String VALUE = "value", TIME = "time";
    private static final String COUNT = "count";

    /** The last point of a series; {@code text} is its value if the metric has texts. */
    private record Last(double seconds, String value, String text) {}

    private final Function function;
    private final SeriesStore store;
    final Requests requests;
    final long now;
    private final boolean readsAccount;
    final TimeLiterals times = new TimeLiterals();

    /** {@code readsAccount} is false if the scope of the query hides why points are missing. */
    Reader(Function function, SeriesStore store, Requests requests, long now,
            boolean readsAccount) {
        this.function = function;
        this.store = store;
        this.requests = requests;
        this.now = now;
        this.readsAccount = readsAccount;
    }

    /** An export is read while rows are sent, and occupies a connection until then. */
    int mostAtOnce() {
        return function == Function.RAW ? 1 : MOST_AT_ONCE;
    }

    /** Refuse batches of too many samples before anything is read. */
    void check(Collection<Batch> batches) {
        if (function.isWindow())
            requests.read(batches.stream()
                    .mapToLong(one -> (long) one.common.range().steps() * one.rows.size()).sum());
        else if (function == Function.RAW
                && batches.stream().mapToLong(this::expected).sum() > Requests.MOST_SAMPLES)
            throw Requests.tooMany();
    }

    Rows read(Batch batch) {
        VirtualReader virtual =
                batch.computed() == null ? null : new VirtualReader(this, batch);
        return switch (function) {
            case LAST -> virtual == null ? last(batch) : virtual.last();
            case RAW -> virtual == null ? raw(batch) : virtual.raw();
            default -> windows(batch);
        };
    }

    // ---- the last value ----------------------------------------------------------

    private Rows last(Batch batch) {
        Map<Key, Last> found = lastWithin(RECENT, batch.rows.keySet());
        // One request for each metric: a selector of several metrics would also match series that
        // were found already, and read all their points within the retention.
        batch.rows.keySet().stream().filter(key -> !found.containsKey(key))
                .collect(Collectors.groupingBy(Key::series)).values()
                .forEach(keys -> found.putAll(lastWithin(store.retention, keys)));
        return Rows.of(found.entrySet().stream()
                .flatMap(one -> batch.rows.getOrDefault(one.getKey(), List.of()).stream()
                        .map(row -> bind(row, one.getValue())))
                .filter(Objects::nonNull).iterator());
    }

    private Map<Key, Last> lastWithin(String age, Collection<Key> keys) {
        Map<Map<String, String>, String> values = new HashMap<>();
        Map<Map<String, String>, Double> times = new HashMap<>();
        for (String selector : Selector.of(keys)) {
            String window = selector + "[" + age + "]";
            String query = "union(" + part(VALUE, "last_over_time(" + window + ")") + ","
                    + part(TIME, "tlast_over_time(" + window + ") keep_metric_names") + ")";
            query("/api/v1/query", Map.of("query", query, "time", Times.seconds(now + AHEAD_MS)),
                    false, (labels, ms, value) -> {
                        if (TIME.equals(labels.remove(PART)))
                            times.put(labels, Double.parseDouble(value));
                        else
                            values.put(labels, value);
                    });
        }
        Map<Key, Last> found = new LinkedHashMap<>();
        times.forEach((labels, at) -> found.merge(
                QueryAnswer.key(labels.get("__name__"), labels),
                new Last(at, values.get(labels), labels.get("value")),
                (one, other) -> one.seconds < other.seconds ? other : one));
        return found;
    }

    private Binding bind(Batch.Row row, Last last) {
        long ms = Math.round(last.seconds * 1000);
        return row.bind(row.telemetry().isText() ? text(last.text) : Numbers.literal(last.value),
                times.literal(ms), Numbers.seconds(Math.max(0, now - ms)));
    }

    private static Node text(String text) {
        return NodeFactory.createLiteralString(text == null ? "" : text);
    }

    // ---- samples as they are stored ----------------------------------------------

    private Rows raw(Batch batch) {
        Call.Range range = batch.common.range();
        Iterator<InputStream> answers = batch.selectors().stream().map(selector -> post(
                "/api/v1/export",
                Map.of("match[]", selector, "start", Times.seconds(range.from() + 1), "end",
                        Times.seconds(range.to()), "max_rows_per_line", "10000")))
                .iterator();
        return new RawRows(batch, answers, store, requests);
    }

    /** How many samples the plans of a batch ask for. */
    private long expected(Batch batch) {
        Call.Range range = batch.common.range();
        if (batch.computed() != null)
            return new VirtualReader(this, batch).count(range);
        long end = Math.min(range.to(), now + AHEAD_MS);
        return batch.rows.values().stream().map(rows -> rows.get(0).telemetry())
                .filter(one -> one.periodMs() > 0)
                .mapToLong(one -> Math.max(0, one.expected(range.from(), end))).sum();
    }

    // ---- windows -----------------------------------------------------------------

    private Rows windows(Batch batch) {
        Map<Key, double[]> values = new HashMap<>(), counts = new HashMap<>();
        Call.Range range = batch.common.range();
        Telemetry.Computed computed = batch.computed();
        WindowSink sink = (labels, step, value) -> {
            Key key = computed == null ? QueryAnswer.key(batch.common.series(), labels)
                    : batch.rows.keySet().iterator().next();
            boolean isCount = COUNT.equals(labels.get(PART));
            if (batch.rows.containsKey(key))
                (isCount ? counts : values)
                        .computeIfAbsent(key, any -> empty(range.steps()))[step] = value;
        };
        if (computed == null)
            for (String selector : batch.selectors())
                windows(range, expression(batch, selector + "[" + range.windowMs() + "ms]"), false,
                        sink);
        else if (!computed.isEmpty())
            windows(batch, sink);
        Account account = new Account();
        if (batch.common.hasReason() && readsAccount)
            windows(range, Account.query(batch), false, account::add);
        return Rows.of(new WindowRows(batch, values, counts, account));
    }

    /** The windows of virtual telemetry. */
    private void windows(Batch batch, WindowSink sink) {
        VirtualReader virtual = new VirtualReader(this, batch);
        Call.Range range = batch.common.range();
        String query = virtual.query(expression(batch, virtual.window(range.windowMs())));
        for (Call.Range part : virtual.portions(range)) {
            int first = (int) ((part.from() - range.from()) / range.windowMs());
            windows(part, query, virtual.mayCache(part),
                    (labels, step, value) -> sink.take(labels, first + step, value));
        }
    }

    private String expression(Batch batch, String window) {
        Call.Range range = batch.common.range();
        String query = function.expression(window, range.quantile());
        for (Threshold threshold : batch.common.thresholds())
            query = threshold.of(query);
        return !batch.common.hasCoverage() ? query : "union(" + part(VALUE, query) + ","
                + part(COUNT, Function.COUNT.expression(window, 0)) + ")";
    }

    /** Takes one window of a series. */
    private interface WindowSink {
        void take(Map<String, String> labels, int step, double value);
    }

    private void windows(Call.Range range, String query, boolean mayCache, WindowSink sink) {
        boolean isOne = range.stepMs() == 0;
        Map<String, String> parameters = isOne
                ? Map.of("query", query, "time", Times.seconds(range.to()))
                : Map.of("query", query, "start", Times.seconds(range.end(0)), "end",
                        Times.seconds(range.end(range.steps() - 1)), "step",
                        range.stepMs() + "ms");
        query(isOne ? "/api/v1/query" : "/api/v1/query_range", parameters, mayCache,
                (labels, ms, value) -> {
                    int step = (int) ((ms - range.from()) / range.windowMs()) - 1;
                    if (step >= 0 && step < range.steps())
                        sink.take(labels, step, Numbers.parsed(value));
                });
    }

    private static double[] empty(int size) {
        double[] values = new double[size];
        java.util.Arrays.fill(values, Double.NaN);
        return values;
    }

    // ---- requests ----------------------------------------------------------------

    static String part(String name, String expression) {
        return "label_set(" + expression + ",\"" + PART + "\",\"" + name + "\")";
    }

    void query(String path, Map<String, String> parameters, boolean mayCache,
            QueryAnswer.Sink sink) {
        Map<String, String> form = new HashMap<>(parameters);
        // With its cache, the store would move the times to multiples of the step.
        if (!mayCache)
            form.put("nocache", "1");
        QueryAnswer.read(store, post(path, form), sink);
    }

    private InputStream post(String path, Map<String, String> form) {
        requests.send(path, form);
        return store.post(path, form);
    }
}
