package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.core.Substitute;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.QueryIterator;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.expr.NodeValue;
import org.apache.jena.sparql.pfunction.PropFuncArg;
import org.apache.jena.sparql.pfunction.PropertyFunction;

/**
 * One of the functions, as Jena calls it: with all rows at once.
 *
 * <p>The rows are collected and sorted into batches, so that the series store gets one request for
 * each metric and range, however many rows there are.
 */
final class SampleFunction implements PropertyFunction {
    private static final int MOST_ROWS = 200_000;

    private final Function function;
    private final SeriesStore store;

    SampleFunction(Function function, SeriesStore store) {
        this.function = function;
        this.store = store;
    }

    @Override
    public void build(PropFuncArg subject, Node predicate, PropFuncArg object,
            ExecutionContext context) {}

    @Override
    public QueryIterator exec(QueryIterator input, PropFuncArg subject, Node predicate,
            PropFuncArg object, ExecutionContext context) {
        Requests requests = Requests.of(context.getContext());
        try {
            requests.call(function);
            long now = now(context);
            List<Batch> batches = collect(input, subject, object, context, now);
            return new Results(batches, new Reader(function, store, requests, now), context);
        } catch (SampleError error) {
            throw requests.fail(error);
        }
    }

    private List<Batch> collect(QueryIterator input, PropFuncArg subject, PropFuncArg object,
            ExecutionContext context, long now) {
        if (subject.isList() || !object.isList())
            throw SampleError.badCall(
                    function + " is written ?telemetry " + function + " " + function.usage());
        Catalogue catalogue = new Catalogue(context.getDataset());
        Map<Node, Telemetry> known = new HashMap<>();
        Map<Batch.Common, Batch> batches = new LinkedHashMap<>();
        int rows = 0;
        for (; input.hasNext(); rows++) {
            if (rows == MOST_ROWS)
                throw new SampleError(SampleError.Code.TOO_MANY, "more than " + MOST_ROWS
                        + " rows before " + function + "; narrow the patterns before it");
            Binding row = input.next();
            Call call = Call.read(function, Substitute.substitute(subject.getArg(), row),
                    Substitute.substitute(object, row).getArgList(), now);
            Telemetry telemetry = known.computeIfAbsent(call.telemetry(), catalogue::find);
            check(telemetry, call.telemetry());
            batches.computeIfAbsent(common(call, telemetry), Batch::new)
                    .add(new Batch.Row(row, call.outputs(), telemetry));
        }
        input.close();
        return new ArrayList<>(batches.values());
    }

    private Batch.Common common(Call call, Telemetry telemetry) {
        return new Batch.Common(telemetry.series(), telemetry.isText(), call.range(),
                call.hasCoverage());
    }

    private void check(Telemetry telemetry, Node iri) {
        if (function.needsCounter() && !telemetry.isCounter())
            throw SampleError.badCall(function + " of <" + iri + ">, whose metric is not a counter:"
                    + " add ?telemetry st:ofMetric/st:semantics st:Counter, or use st:avg");
        if (function.isWindow() && telemetry.isText())
            throw SampleError.badCall(function + " of <" + iri
                    + ">, whose values are texts: use st:last or st:rawSamples");
    }

    /** The time of NOW() in the query, so that all calls in it have the same. */
    private static long now(ExecutionContext context) {
        Node now = context.getContext().get(ARQConstants.sysCurrentTime);
        return now == null ? System.currentTimeMillis()
                : Times.time(NodeValue.makeNode(now).asNode(), 0, "the current time");
    }
}
