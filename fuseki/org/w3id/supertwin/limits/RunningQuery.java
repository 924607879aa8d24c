package org.w3id.supertwin.limits;

import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

import com.sun.management.ThreadMXBean;

import org.apache.jena.query.QueryCancelledException;

/** A query that runs now, in the thread that started it. */
final class RunningQuery implements AutoCloseable {
    private static final Map<Thread, RunningQuery> ALL = new ConcurrentHashMap<>();
    private static final ThreadMXBean THREADS =
            (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Thread thread = Thread.currentThread();
    private final long allocatedBefore = THREADS.getThreadAllocatedBytes(thread.getId());
    private AtomicBoolean cancelled = new AtomicBoolean();
    private QueryError error;

    private RunningQuery() {}

    static RunningQuery start() {
        RunningQuery query = new RunningQuery();
        ALL.put(query.thread, query);
        return query;
    }

    static Collection<RunningQuery> all() {
        return ALL.values();
    }

    /** The query of this thread; null in an update. */
    static RunningQuery current() {
        return ALL.get(Thread.currentThread());
    }

    /** Cancel the query of this thread, and return the error, to throw it. */
    static QueryError failed(QueryError error) {
        RunningQuery query = current();
        if (query != null)
            query.abort(error);
        return error;
    }

    /** Stop in a function that may be called for very long between two rows, as in a sort. */
    static void checkCancelled() {
        RunningQuery query = current();
        if (query != null && query.isCancelled())
            throw new QueryCancelledException();
    }

    /** Set the signal that Jena checks at each row. */
    synchronized void cancelBy(AtomicBoolean signal) {
        signal.compareAndSet(false, cancelled.get());
        cancelled = signal;
    }

    /**
     * Cancel the query for a reason.
     *
     * <p>Never by an interrupt: TDB2 reads through file channels, which it would close.
     */
    synchronized void abort(QueryError reason) {
        error = error == null ? reason : error;
        cancelled.set(true);
    }

    private synchronized boolean isCancelled() {
        return cancelled.get();
    }

    /** Whether {@link #abort} was called. */
    synchronized boolean isAborted() {
        return error != null;
    }

    /** Raise the reason of an abort; in a FILTER, Jena takes any error for false. */
    synchronized void raise() {
        if (error != null)
            throw error;
    }

    /** Bytes that the query has allocated, those that were freed included. */
    long allocated() {
        return THREADS.getThreadAllocatedBytes(thread.getId()) - allocatedBefore;
    }

    @Override
    public void close() {
        ALL.remove(thread);
    }
}
