package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.jena.graph.Node;
import org.apache.jena.query.Query;
import org.apache.jena.query.QueryException;
import org.apache.jena.query.QueryFactory;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.exec.QueryExec;
import org.apache.jena.sparql.exec.RowSet;
import org.apache.jena.sparql.util.Context;
import org.apache.jena.sparql.util.Symbol;

import org.w3id.supertwin.samples.Telemetry.Key;
import org.w3id.supertwin.scopes.ScopedDataset;
import org.w3id.supertwin.version.DataVersion;

/** Finds the inputs of virtual telemetry during a query. */
final class InputSource {
    private static final Symbol RESOLVING = Symbol.create("https://w3id.org/supertwin/ns#resolving");
    private static final String TELEMETRY = "telemetry";
    // As virtual_telemetry/inputs.py allows.
    private static final int MOST_MEMBERS = 5000;
    // Enough to tell the period from gaps.
    private static final int SOME_SAMPLES = 100;
    private static final long HOUR_MS = 3_600_000;

    private final ExecutionContext context;
    private final SeriesStore store;
    private final Requests requests;
    private Call.Range range = new Call.Range(0, 0, 0, 0);

    InputSource(ExecutionContext context, SeriesStore store, Requests requests) {
        this.context = context;
        this.store = store;
        this.requests = requests;
    }

    /** Raise an error if a query for the members of a set calls a function of samples. */
    static void refuseIn(ExecutionContext context, String function) {
        if (context.getContext().isTrue(RESOLVING))
            throw SampleError.badCall(function
                    + " in the pattern of a set: the pattern is about the graph only");
    }

    /** The version of the graph that this query reads; empty if it reads only a part of it. */
    String version() {
        return ScopedDataset.isWhole(context.getContext()) ? DataVersion.of(context.getDataset()) : "";
    }

    /** Where to look for samples of series that no plan samples. */
    void periodsIn(Call.Range range) {
        this.range = range;
    }

    /** The same, with a catalogue that finds telemetry. */
    Virtuals.Source in(Catalogue catalogue) {
        return new Virtuals.Source() {
            @Override
            public Telemetry find(Node iri) {
                return catalogue.find(iri);
            }

            @Override
            public List<Node> members(String query) {
                return queried(query);
            }

            @Override
            public long observedPeriod(Key key) {
                return observed(key);
            }
        };
    }

    private static Query parsed(String text) {
        try {
            Query query = QueryFactory.create(text);
            if (query.isSelectType() && query.getResultVars().contains(TELEMETRY))
                return query;
        } catch (QueryException error) {
            // The same error as for other queries that find no telemetry.
        }
        throw Tree.wrong("\"set\" is not a SELECT query for ?" + TELEMETRY);
    }

    private List<Node> queried(String text) {
        Query query = parsed(text);
        Context inner = context.getContext().copy();
        inner.setTrue(RESOLVING);
        DatasetGraph dataset = context.getDataset();
        List<Node> found = new ArrayList<>();
        try (QueryExec execution =
                QueryExec.dataset(dataset).query(query).context(inner).build()) {
            RowSet rows = execution.select();
            while (rows.hasNext()) {
                if (found.size() == MOST_MEMBERS)
                    throw new SampleError(SampleError.Code.TOO_MANY, "a set has more than "
                            + MOST_MEMBERS + " members; narrow its pattern");
                Node member = rows.next().get(TELEMETRY);
                if (member != null && member.isURI())
                    found.add(member);
            }
        }
        return found;
    }

    /** The median time between the first samples of a series in the range. */
    private long observed(Key key) {
        long from = range.from() == 0 ? range.to() - HOUR_MS : range.from();
        Map<String, String> form = Map.of("match[]",
                Selector.ofProduct(key.series(), Set.of(key.host()),
                        Set.of(key.instance() == null ? "" : key.instance())),
                "start", Times.seconds(from + 1), "end", Times.seconds(range.to()),
                "max_rows_per_line", Integer.toString(SOME_SAMPLES));
        requests.send("/api/v1/export", form);
        try (InputStream answer = store.post("/api/v1/export", form);
                ExportLines lines = new ExportLines(answer)) {
            return lines.next() ? median(lines) : 0;
        } catch (IOException error) {
            throw store.away(error);
        }
    }

    private static long median(ExportLines lines) {
        long[] between = new long[Math.max(0, lines.count() - 1)];
        for (int i = 0; i < between.length; i++)
            between[i] = lines.time(i + 1) - lines.time(i);
        Arrays.sort(between);
        return between.length == 0 ? 0 : between[between.length / 2];
    }
}
