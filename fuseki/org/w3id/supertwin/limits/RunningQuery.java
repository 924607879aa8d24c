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

    private final String id;
    private final Thread thread = Thread.currentThread();
    private final long allocatedBefore = THREADS.getThreadAllocatedBytes(thread.getId());
    private AtomicBoolean cancelled = new AtomicBoolean();
    private QueryError error;

    private RunningQuery(String id) {
        this.id = id;
    }

    /** Register the query of this thread; {@code id} may be null. */
    static RunningQuery start(String id) {
        RunningQuery query = new RunningQuery(id);
        ALL.put(query.thread, query);
        return query;
    }

    /** Cancel the query with an id, if it still runs; {@code id} may be null. */
    static void cancel(String id) {
        for (RunningQuery query : ALL.values())
            if (id != null && id.equals(query.id))
                query.cancel();
    }

    static Collection<RunningQuery> all() {
        return ALL.values();
    }

    /** The query of this thread; null in an update. */
    static RunningQuery current() {
        return ALL.get(Thread.currentThread());
    }

    /** Cancel the query of this thread, and return the error for the caller to throw. */
    static QueryError failed(QueryError error) {
        RunningQuery query = current();
        if (query != null)
            query.abort(error);
        return error;
    }

    /**
     * Raise QueryCancelledException if the query of this thread is cancelled.
     *
     * <p>Jena checks this at each row. Functions check it too, because a sort, for example, may
     * call them for very long between two rows.
     */
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
     * Cancel the query; {@link #raise} then raises the first reason that was given.
     *
     * <p>Do not interrupt its thread: that would close the file channels that TDB2 reads from.
     */
    synchronized void abort(QueryError reason) {
        error = error == null ? reason : error;
        cancel();
    }

    private synchronized void cancel() {
        cancelled.set(true);
    }

    private synchronized boolean isCancelled() {
        return cancelled.get();
    }

    /** Whether {@link #abort} was called. */
    synchronized boolean isAborted() {
        return error != null;
    }

    /**
     * Raise the reason of an abort, if there was one.
     *
     * <p>An error in a FILTER does not reach the caller: Jena treats it as false.
     */
    synchronized void raise() {
        if (error != null)
            throw error;
    }

    /** Bytes that the query has allocated, including those that were freed since. */
    long allocated() {
        return THREADS.getThreadAllocatedBytes(thread.getId()) - allocatedBefore;
    }

    @Override
    public void close() {
        ALL.remove(thread);
    }
}
