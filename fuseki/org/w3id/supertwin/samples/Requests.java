package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.jena.sparql.util.Context;
import org.apache.jena.sparql.util.Symbol;

/** The requests of one query to the series store, and limits on them; used by several threads. */
final class Requests {
    /** A request, as the parameter {@code explain} shows it. */
    record Request(String path, Map<String, String> parameters) {}

    /** More samples than this would take minutes to send. */
    static final long MOST_SAMPLES = 20_000_000;
    private static final int MOST_ROWS = 200_000;
    // A function in EXISTS or LATERAL is called for each row, with a request each time.
    private static final int MOST_CALLS = 100;
    private static final Symbol SYMBOL = Symbol.create("https://w3id.org/supertwin/ns#requests");

    private final List<Request> sent = new ArrayList<>();
    private int calls;
    private int trees;
    private int numbers;
    private long samples;
    private SampleError error;
    private final Map<String, Long> earliest = new TreeMap<>();

    /** The requests of the query that a context belongs to. */
    static Requests of(Context context) {
        Requests found = context.get(SYMBOL);
        if (found == null)
            context.set(SYMBOL, found = new Requests());
        return found;
    }

    synchronized List<Request> sent() {
        return List.copyOf(sent);
    }

    synchronized void send(String path, Map<String, String> parameters) {
        sent.add(new Request(path, Map.copyOf(parameters)));
    }

    /** Keep an error for {@link #raise}, and return it: in a FILTER, Jena treats it as false. */
    synchronized SampleError fail(SampleError found) {
        error = error == null ? found : error;
        return found;
    }

    /** Raise the first error that any call had. */
    synchronized void raise() {
        if (error != null)
            throw error;
    }

    void call(Function function) {
        if (++calls > MOST_CALLS)
            throw SampleError.badCall(function + " is evaluated for each row here, which needs a"
                    + " request for each: move it out of EXISTS, LATERAL or the inner group, after"
                    + " the pattern that binds its subject");
    }

    /** Count the trees of expressions, which are compiled for each row. */
    void compile() {
        if (++trees > MOST_CALLS)
            throw SampleError.badCall("more than " + MOST_CALLS + " trees of expressions in a"
                    + " query: define virtual telemetry, and name it by its IRI");
    }

    /** Note the start of a range of samples that the query reads of a host. */
    void readFrom(String host, long time) {
        earliest.merge(host, time, Math::min);
    }

    /** The earliest start of the samples of each host. */
    Map<String, Long> earliest() {
        return earliest;
    }

    /** Raise an error if a function already has the greatest number of input rows. */
    void checkRows(int rows) {
        if (rows == MOST_ROWS)
            throw fail(new SampleError(SampleError.Code.TOO_MANY, "more than " + MOST_ROWS
                    + " rows before a function of samples; narrow the patterns before it"));
    }

    /** A number that is unique within the query. */
    int nextNumber() {
        return ++numbers;
    }

    /** Count samples that are read, or are about to be. */
    synchronized void read(long count) {
        samples += count;
        if (samples > MOST_SAMPLES)
            throw tooMany();
    }

    static SampleError tooMany() {
        return new SampleError(SampleError.Code.TOO_MANY, "more than " + MOST_SAMPLES
                + " samples; ask for fewer series or a shorter range, or for windows (st:avg, ...)");
    }
}
