package org.w3id.supertwin.samples;

import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.jena.query.QueryCancelledException;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.engine.iterator.QueryIter;

/** All rows of a function, batch by batch; while one is sent, the next ones are read. */
final class Results extends QueryIter {
    private static final ExecutorService READERS = Executors.newCachedThreadPool(Results::daemon);

    private final Iterator<Batch> batches;
    private final Reader reader;
    private final Queue<Future<Rows>> started = new ConcurrentLinkedQueue<>();
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
                closeRows();
                startNext();
                if (started.isEmpty())
                    return false;
                rows = finished(started.remove());
            }
            return true;
        } catch (SampleError error) {
            // Cancelling closes the connection, which looks like a failure of the store.
            if (cancelled)
                throw new QueryCancelledException();
            throw reader.requests.fail(error);
        }
    }

    private void startNext() {
        while (batches.hasNext() && started.size() < reader.mostAtOnce()) {
            Batch batch = batches.next();
            started.add(READERS.submit(() -> reader.read(batch)));
        }
    }

    private static Rows finished(Future<Rows> reading) {
        try {
            return reading.get();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RuntimeException cause)
                throw cause;
            throw new IllegalStateException(error.getCause());
        } catch (CancellationException | InterruptedException error) {
            throw new QueryCancelledException();
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "samples");
        thread.setDaemon(true);
        return thread;
    }

    @Override
    protected Binding moveToNextBinding() {
        return rows.next();
    }

    private void closeRows() {
        Rows open = rows;
        if (open != null)
            open.close();
    }

    @Override
    protected void closeIterator() {
        started.forEach(reading -> reading.cancel(true));
        closeRows();
    }

    @Override
    protected void requestCancel() {
        cancelled = true;
        closeIterator();
    }
}
