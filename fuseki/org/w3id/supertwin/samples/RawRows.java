package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.engine.binding.Binding;

/** Rows from an export of the store; each line of the export has some thousand samples. */
final class RawRows implements Rows {
    private final Batch batch;
    private final Iterator<InputStream> answers;
    private final SeriesStore store;
    private final Requests requests;
    private final TimeLiterals times = new TimeLiterals();
    private final Queue<Binding> waiting = new ArrayDeque<>();
    private volatile ExportLines lines;

    RawRows(Batch batch, Iterator<InputStream> answers, SeriesStore store, Requests requests) {
        this.batch = batch;
        this.answers = answers;
        this.store = store;
        this.requests = requests;
    }

    @Override
    public boolean hasNext() {
        try {
            while (waiting.isEmpty()) {
                if (lines != null && lines.next())
                    addRows();
                else if (answers.hasNext())
                    open(answers.next());
                else
                    return false;
            }
            return true;
        } catch (IOException error) {
            throw store.away(error);
        }
    }

    private void open(InputStream answer) {
        close();
        lines = new ExportLines(answer);
    }

    private void addRows() {
        Map<String, String> labels = lines.labels();
        List<Batch.Row> rows = batch.rows
                .getOrDefault(QueryAnswer.key(batch.common.series(), labels), List.of());
        int count = rows.isEmpty() ? 0 : lines.count();
        requests.read((long) count * rows.size());
        String text = labels.getOrDefault("value", "");
        Node texts = batch.common.isText() ? NodeFactory.createLiteralString(text) : null;
        for (int i = 0; i < count; i++) {
            Node time = times.literal(lines.time(i));
            Node value = texts == null ? Numbers.literal(lines.value(i)) : texts;
            for (Batch.Row row : rows) {
                Binding bound = row.bind(time, value);
                if (bound != null)
                    waiting.add(bound);
            }
        }
    }

    @Override
    public Binding next() {
        return waiting.remove();
    }

    @Override
    public void close() {
        ExportLines open = lines;
        if (open != null)
            open.close();
    }
}
