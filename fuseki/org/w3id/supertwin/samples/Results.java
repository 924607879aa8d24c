package org.w3id.supertwin.samples;

import java.util.Iterator;
import java.util.List;

import org.apache.jena.query.QueryCancelledException;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.engine.iterator.QueryIter;

/** All rows of a function: each batch is read when the one before it ends. */
final class Results extends QueryIter {
    private final Iterator<Batch> batches;
    private final Reader reader;
    private volatile Rows rows;
    private volatile boolean cancelled;

    Results(List<Batch> batches, Reader reader, ExecutionContext context) {
        super(context);
        this.batches = batches.iterator();
        this.reader = reader;
    }

    @Override
    protected boolean hasNextBinding() {
        try {
            while (rows == null || !rows.hasNext()) {
                closeIterator();
                if (!batches.hasNext())
                    return false;
                rows = reader.read(batches.next());
            }
            return true;
        } catch (SampleError error) {
            // Cancelling closes the connection, which looks as if the store went away.
            if (cancelled)
                throw new QueryCancelledException();
            throw reader.requests.fail(error);
        }
    }

    @Override
    protected Binding moveToNextBinding() {
        return rows.next();
    }

    @Override
    protected void closeIterator() {
        Rows open = rows;
        if (open != null)
            open.close();
    }

    @Override
    protected void requestCancel() {
        cancelled = true;
        closeIterator();
    }
}
