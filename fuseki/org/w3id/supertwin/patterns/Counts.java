package org.w3id.supertwin.patterns;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.apache.jena.atlas.lib.tuple.Tuple;
import org.apache.jena.graph.Node;
import org.apache.jena.query.Dataset;
import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.util.Context;
import org.apache.jena.tdb2.store.DatasetGraphTDB;
import org.apache.jena.tdb2.store.NodeId;
import org.apache.jena.tdb2.store.nodetupletable.NodeTupleTable;
import org.apache.jena.tdb2.sys.TDBInternal;
import org.w3id.supertwin.scopes.ScopedDataset;

/**
 * How many triples match a pattern, counted in the store up to a limit.
 *
 * <p>Counts are cached. After a write, a pattern is counted again only if the last count is older
 * than {@link #KEPT_FOR_TIMES_ITS_COST} times the time that it took. An outdated count can make a
 * query slower, but never its answer wrong.
 */
final class Counts {
    /** Counting stops here, after some milliseconds: larger patterns need not be told apart. */
    private static final int MOST = 50_000;
    private static final int SUBJECTS = 50;
    private static final int MOST_KEPT = 20_000;
    private static final int KEPT_FOR_TIMES_ITS_COST = 20;
    private static final Map<Key, Kept<?>> KEPT = new ConcurrentHashMap<>();
    /** The guess for a store that is not TDB2: nothing is counted there. */
    private static final Degrees UNKNOWN = new Degrees(MOST, MOST / 2, MOST / 10, 2, 10);

    private final DatasetGraphTDB store;

    private record Key(Object store, Node subject, Node predicate, Node object) {}

    private record Kept<T>(T value, long version, long since, long cost) {
        boolean isCurrent(long now) {
            return version == now
                    || System.nanoTime() - since < KEPT_FOR_TIMES_ITS_COST * cost;
        }
    }

    /**
     * Numbers of triples, distinct subjects and distinct objects of a predicate, and how many
     * triples a subject or an object has. All are taken from at most {@link #MOST} triples.
     *
     * <p>A few objects may have most of the subjects: most parts are parts of the host itself.
     * Queries ask for just these. So {@code out} and {@code in} are averages over triples, not over
     * distinct subjects and objects.
     *
     * @param out how many objects the subject of a triple has, on average
     * @param in how many subjects the object of a triple has, on average
     */
    record Degrees(double triples, double subjects, double objects, double out, double in) {}

    private Counts(DatasetGraphTDB store) {
        this.store = store;
    }

    static Counts of(Context context) {
        Object found = context.get(ARQConstants.sysCurrentDataset);
        DatasetGraph data = found instanceof Dataset dataset ? dataset.asDatasetGraph() : null;
        if (data != null)
            data = ScopedDataset.whole(data);
        boolean counts = data != null && data.isInTransaction() && TDBInternal.isBackedByTDB(data);
        return new Counts(counts ? TDBInternal.requireStorage(data) : null);
    }

    /** The number of triples that match; {@link Node#ANY} matches all. */
    double triples(Node subject, Node predicate, Node object) {
        if (store == null)
            return UNKNOWN.triples / (subject.isConcrete() || object.isConcrete() ? 1000 : 1);
        return kept(new Key(store.getLocation(), subject, predicate, object),
                () -> (double) pairs(subject, predicate, object, MOST).size());
    }

    Degrees degrees(Node predicate) {
        if (store == null || !predicate.isConcrete())
            return UNKNOWN;
        return kept(new Key(store.getLocation(), null, predicate, null), () -> counted(predicate));
    }

    private Degrees counted(Node predicate) {
        List<Tuple<NodeId>> found = pairs(Node.ANY, predicate, Node.ANY, MOST);
        if (found.isEmpty())
            return new Degrees(0, 1, 1, 1, 1);
        Map<NodeId, Integer> of = new HashMap<>();
        found.forEach(quad -> of.merge(quad.get(3), 1, Integer::sum));
        double pairs = of.values().stream().mapToDouble(count -> (double) count * count).sum();
        double out = out(found, predicate);
        return new Degrees(found.size(), found.size() / out, of.size(), out, pairs / found.size());
    }

    /**
     * The mean number of objects, from a sample of the triples.
     *
     * <p>The triples are sorted by object, so each subject needs a look-up of its own.
     */
    private double out(List<Tuple<NodeId>> found, Node predicate) {
        NodeTupleTable quads = store.getQuadTable().getNodeTupleTable();
        NodeId id = quads.getNodeTable().getNodeIdForNode(predicate);
        int step = Math.max(1, found.size() / SUBJECTS);
        return IntStream.iterate(0, i -> i < found.size(), i -> i + step)
                .map(i -> read(quads.find(NodeId.NodeIdAny, found.get(i).get(1), id,
                        NodeId.NodeIdAny), 1000).size())
                .average().orElse(1);
    }

    private List<Tuple<NodeId>> pairs(Node subject, Node predicate, Node object, int most) {
        return read(store.getQuadTable().getNodeTupleTable()
                .findAsNodeIds(Node.ANY, subject, predicate, object), most);
    }

    private static List<Tuple<NodeId>> read(Iterator<Tuple<NodeId>> quads, int most) {
        List<Tuple<NodeId>> found = new ArrayList<>();
        while (quads != null && quads.hasNext() && found.size() < most)
            found.add(quads.next());
        return found;
    }

    @SuppressWarnings("unchecked") // a key always has values of one type
    private <T> T kept(Key key, Supplier<T> counting) {
        long version = store.getTxnSystem().getThreadTransaction().getDataVersion();
        Kept<?> before = KEPT.get(key);
        if (before != null && before.isCurrent(version))
            return (T) before.value;
        long start = System.nanoTime();
        T value = counting.get();
        if (KEPT.size() >= MOST_KEPT)
            KEPT.clear();
        long end = System.nanoTime();
        KEPT.put(key, new Kept<>(value, version, end, end - start));
        return value;
    }
}
