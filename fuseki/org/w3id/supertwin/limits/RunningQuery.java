package org.w3id.supertwin.limits;

import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

import com.sun.management.ThreadMXBean;

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

    /** The query of this thread. */
    static RunningQuery current() {
        return ALL.get(Thread.currentThread());
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

    /** Whether {@link #abort} was called. */
    synchronized boolean isAborted() {
        return error != null;
    }

    /** Raise the reason of an abort, if there was one. */
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
