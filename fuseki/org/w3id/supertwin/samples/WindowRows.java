package org.w3id.supertwin.samples;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.engine.binding.Binding;

import org.w3id.supertwin.samples.Telemetry.Key;

/** The rows of a batch of windows; without coverage, windows without a value have no row. */
final class WindowRows implements Iterator<Binding> {
    private final Batch batch;
    private final Map<Key, double[]> values;
    private final Map<Key, double[]> counts;
    private final Account account;
    private final Iterator<Map.Entry<Key, List<Batch.Row>>> series;
    private final Node[] ends;
    private List<Batch.Row> rows = List.of();
    private double[] ownValues;
    private double[] ownCounts;
    private int step;
    private int row;
    private Node[] nodes;
    private Binding next;

    /** {@code values} and {@code counts} have one number for each window, NaN for none. */
    WindowRows(Batch batch, Map<Key, double[]> values, Map<Key, double[]> counts,
            Account account) {
        this.batch = batch;
        this.values = values;
        this.counts = counts;
        this.account = account;
        series = batch.rows.entrySet().iterator();
        // Shared by all series: making such a literal is the most expensive part of a row.
        ends = ends(batch.common.range());
        step = ends.length;
    }

    private static Node[] ends(Call.Range range) {
        TimeLiterals times = new TimeLiterals();
        Node[] ends = new Node[range.steps()];
        for (int i = 0; i < ends.length; i++)
            ends[i] = times.literal(range.end(i));
        return ends;
    }

    @Override
    public boolean hasNext() {
        while (next == null) {
            if (nodes != null && row < rows.size())
                next = rows.get(row++).bind(nodes);
            else if (step < ends.length)
                startWindow(step++);
            else if (series.hasNext())
                startSeries(series.next());
            else
                return false;
        }
        return true;
    }

    private void startSeries(Map.Entry<Key, List<Batch.Row>> one) {
        rows = one.getValue();
        ownValues = values.get(one.getKey());
        ownCounts = counts.get(one.getKey());
        boolean isEmpty = ownValues == null && !batch.common.hasCoverage();
        step = isEmpty ? ends.length : 0;
    }

    private void startWindow(int at) {
        double value = ownValues == null ? Double.NaN : ownValues[at];
        row = 0;
        nodes = Double.isNaN(value) && !batch.common.hasCoverage() ? null : nodes(at, value);
    }

    private Node[] nodes(int at, double value) {
        int first = batch.common.range().stepMs() > 0 ? 1 : 0;
        Node[] made = new Node[first + 1 + batch.common.coverage()];
        if (first > 0)
            made[0] = ends[at];
        made[first] = Double.isNaN(value) ? null : Numbers.literal(value);
        if (batch.common.hasCoverage())
            cover(made, first + 1, at);
        return made;
    }

    private void cover(Node[] made, int place, int at) {
        boolean isEmpty = ownCounts == null || Double.isNaN(ownCounts[at]);
        long present = isEmpty ? 0 : (long) ownCounts[at];
        Telemetry telemetry = rows.get(0).telemetry();
        long end = batch.common.range().end(at);
        long expected = telemetry.periodMs() == 0 ? -1
                : telemetry.expected(end - batch.common.range().windowMs(), end);
        made[place] = Numbers.whole(present);
        made[place + 1] = expected < 0 ? null : Numbers.whole(expected);
        if (batch.common.hasReason() && present < expected)
            made[place + 2] =
                    NodeFactory.createLiteralString(account.why(telemetry.hosts(), at));
    }

    @Override
    public Binding next() {
        if (!hasNext())
            throw new NoSuchElementException();
        Binding found = next;
        next = null;
        return found;
    }
}
