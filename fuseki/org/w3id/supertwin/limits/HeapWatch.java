package org.w3id.supertwin.limits;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.Comparator;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import javax.management.NotificationEmitter;

/** Aborts the query that has allocated most if the heap is nearly full after a collection. */
final class HeapWatch {
    private static final double NEARLY_FULL = 0.8;
    // If this much is in use after a collection of young objects only, collect all objects:
    // otherwise it is unknown how much of it is garbage, and G1 would find out too late.
    private static final double UNCLEAR = 0.85;
    private static final long BETWEEN = TimeUnit.SECONDS.toNanos(5);
    // A query that allocated less cannot have filled the heap.
    private static final double LEAST_SHARE = 0.05;
    // How long an aborted query may take to end before the next one is aborted.
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(2);

    private final MemoryPoolMXBean pool;
    private long usedBefore;
    private long collectedAt = System.nanoTime();
    private long abortedAt;

    private HeapWatch(MemoryPoolMXBean pool) {
        this.pool = pool;
    }

    /** Watch the memory pool of long-lived objects; every garbage collector has one. */
    static void start() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
            if (pool.getType() == MemoryType.HEAP && pool.isUsageThresholdSupported()
                    && pool.isCollectionUsageThresholdSupported() && pool.getUsage().getMax() > 0)
                new HeapWatch(pool).listen();
    }

    private void listen() {
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans())
            ((NotificationEmitter) collector)
                    .addNotificationListener((event, unused) -> collected(), null, null);
    }

    private synchronized void collected() {
        long used = pool.getCollectionUsage().getUsed();
        // The collection usage of a pool changes only when the pool itself is collected.
        boolean isOfPool = used != usedBefore;
        usedBefore = used;
        double most = pool.getUsage().getMax();
        if (isOfPool ? used < NEARLY_FULL * most : pool.getUsage().getUsed() < UNCLEAR * most)
            return;
        Optional<RunningQuery> greediest = greediest();
        if (isOfPool)
            greediest.ifPresent(this::abort);
        else if (greediest.isPresent() && System.nanoTime() - collectedAt > BETWEEN)
            collect();
    }

    private void collect() {
        System.gc();
        collectedAt = System.nanoTime();
    }

    private Optional<RunningQuery> greediest() {
        boolean isEnding = RunningQuery.all().stream().anyMatch(RunningQuery::isAborted);
        if (isEnding && System.nanoTime() - abortedAt < PATIENCE)
            return Optional.empty();
        double least = LEAST_SHARE * Runtime.getRuntime().maxMemory();
        return RunningQuery.all().stream()
                .filter(query -> !query.isAborted() && query.allocated() > least)
                .max(Comparator.comparingLong(RunningQuery::allocated));
    }

    private void abort(RunningQuery greediest) {
        abortedAt = System.nanoTime();
        greediest.abort(new QueryError("too-much-memory", 413,
                "the query needs more memory than there is: narrow its patterns, or group, sort"
                        + " or compare fewer rows; SUPERTWIN_FUSEKI_HEAP sets the memory"));
    }
}
