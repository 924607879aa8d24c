package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.core.Substitute;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.QueryIterator;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.pfunction.PropFuncArg;
import org.apache.jena.sparql.pfunction.PropertyFunction;
import org.w3id.supertwin.scopes.ScopedDataset;

/**
 * One of the functions of samples, which Jena calls with all rows at once.
 *
 * <p>The rows are collected and sorted into batches, so that the series store gets one request for
 * each metric and range, however many rows there are.
 */
final class SampleFunction implements PropertyFunction {
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
            long now = Times.now(context.getContext());
            List<Batch> batches = collect(input, subject, object, context, now, requests);
            Reader reader = new Reader(function, store, requests, now,
                    ScopedDataset.allowsAccount(context.getContext()));
            reader.check(batches);
            if (function != Function.LAST)
                for (Batch batch : batches)
                    for (String host : batch.hosts())
                        requests.readFrom(host, batch.common.range().from());
            return new Results(batches, reader, context);
        } catch (SampleError error) {
            throw requests.fail(error);
        }
    }

    private List<Batch> collect(QueryIterator input, PropFuncArg subject, PropFuncArg object,
            ExecutionContext context, long now, Requests requests) {
        if (subject.isList() || !object.isList())
            throw SampleError.badCall(
                    function + " is written ?telemetry " + function + " " + function.usage());
        List<Node> list = new ArrayList<>(object.getArgList());
        List<Threshold> thresholds = Threshold.removeFrom(list);
        PropFuncArg arguments = new PropFuncArg(list);
        InputSource.refuseIn(context, function.toString());
        InputSource inputs = new InputSource(context, store, requests);
        Catalogue catalogue = new Catalogue(context, inputs);
        KnownTelemetry known = new KnownTelemetry();
        Map<Batch.Common, Batch> batches = new LinkedHashMap<>();
        Map<List<Node>, Call> calls = new HashMap<>();
        for (int rows = 0; input.hasNext(); rows++) {
            requests.checkRows(rows);
            Binding row = input.next();
            Node subjectNode = Substitute.substitute(subject.getArg(), row);
            // Most rows have the same arguments, and to parse a time takes long.
            Call call = calls.computeIfAbsent(
                    Substitute.substitute(arguments, row).getArgList(),
                    values -> Call.read(function, subjectNode, values, now)).of(subjectNode);
            Telemetry telemetry = known.get(call.telemetry(), call.range(), () -> {
                inputs.periodsIn(call.range());
                return catalogue.find(call.telemetry());
            });
            check(telemetry, call.telemetry());
            batches.computeIfAbsent(common(call, telemetry, thresholds), Batch::new)
                    .add(new Batch.Row(row, call.outputs(), telemetry));
        }
        input.close();
        return new ArrayList<>(batches.values());
    }

    private Batch.Common common(Call call, Telemetry telemetry, List<Threshold> thresholds) {
        // One request reads the last values of all metrics.
        boolean isAny = function == Function.LAST && telemetry.computed() == null;
        String series = isAny ? null : telemetry.key().series();
        return new Batch.Common(series, series != null && telemetry.isText(), call.range(),
                call.coverage(), thresholds.stream()
                        .filter(one -> one.value().equals(call.value())).toList());
    }

    /** What rows before have found, as many name the same telemetry. */
    private static final class KnownTelemetry {
        private final Map<Node, Telemetry> planned = new HashMap<>();
        // Its periods are those of the samples in a range.
        private final Map<List<Object>, Telemetry> unplanned = new HashMap<>();

        Telemetry get(Node iri, Call.Range range, Supplier<Telemetry> find) {
            Telemetry found = planned.get(iri);
            List<Object> inRange = List.of(iri, range);
            if (found == null)
                found = unplanned.get(inRange);
            if (found != null)
                return found;
            found = find.get();
            if (found.computed() == null || found.periodMs() > 0)
                planned.put(iri, found);
            else
                unplanned.put(inRange, found);
            return found;
        }
    }

    private void check(Telemetry telemetry, Node iri) {
        if (function.needsCounter() && telemetry.computed() != null)
            throw SampleError.badCall(function + " of <" + iri + ">, which is virtual telemetry:"
                    + " use st:avg, and write rate() in its expression");
        if (function.needsCounter() && !telemetry.isCounter())
            throw SampleError.badCall(function + " of <" + iri + ">, whose metric is not a counter:"
                    + " add ?telemetry st:ofMetric/st:semantics st:Counter, or use st:avg");
        if (function.isWindow() && telemetry.isText())
            throw SampleError.badCall(function + " of <" + iri
                    + ">, whose values are texts: use st:last or st:rawSamples");
    }

}
