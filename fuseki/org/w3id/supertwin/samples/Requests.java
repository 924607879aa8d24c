package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.apache.jena.sparql.util.Context;
import org.apache.jena.sparql.util.Symbol;

/** What one query has asked the series store, and its limits. */
final class Requests {
    /** A request as EXPLAIN shows it. */
    record Request(String path, Map<String, String> parameters) {}

    /** More samples than this would take minutes to send. */
    static final long MOST_SAMPLES = 20_000_000;
    // A function in a plain group is called once. One in OPTIONAL, UNION or EXISTS may be
    // called for each row, with a request each time.
    private static final int MOST_CALLS = 100;
    private static final Symbol SYMBOL = Symbol.create("https://w3id.org/supertwin/ns#requests");

    private final List<Request> sent = new ArrayList<>();
    private int calls;
    private long samples;
    private SampleError error;

    /** The requests of the query that a context belongs to. */
    static Requests of(Context context) {
        Requests found = context.get(SYMBOL);
        if (found == null)
            context.set(SYMBOL, found = new Requests());
        return found;
    }

    List<Request> sent() {
        return sent;
    }

    void send(String path, Map<String, String> parameters) {
        sent.add(new Request(path, Map.copyOf(parameters)));
    }

    /** Remember an error: in a FILTER, Jena takes any error for false. */
    SampleError fail(SampleError found) {
        error = error == null ? found : error;
        return found;
    }

    /** Raise the first error that any call had. */
    void raise() {
        if (error != null)
            throw error;
    }

    void call(Function function) {
        if (++calls > MOST_CALLS)
            throw SampleError.badCall(function + " is evaluated for each row here, which needs a"
                    + " request for each: move it out of OPTIONAL, UNION, EXISTS or LATERAL, after"
                    + " the pattern that binds its subject");
    }

    /** Count samples that are read, or are about to be. */
    void read(long count) {
        samples += count;
        if (samples > MOST_SAMPLES)
            throw tooMany();
    }

    static SampleError tooMany() {
        return new SampleError(SampleError.Code.TOO_MANY, "more than " + MOST_SAMPLES
                + " samples; ask for fewer series or a shorter range, or for windows (st:avg, ...)");
    }
}
