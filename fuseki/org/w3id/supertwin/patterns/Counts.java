package org.w3id.supertwin.patterns;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

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

/**
 * How many triples match a pattern, counted in the store up to a limit.
 *
 * <p>A count is kept for ten minutes: an old one costs speed, never a wrong answer.
 */
final class Counts {
    /** Counting takes some milliseconds up to here; above, all patterns are large. */
    private static final int MOST = 50_000;
    private static final int SUBJECTS = 50;
    private static final int MOST_KEPT = 20_000;
    private static final long KEPT_NS = TimeUnit.MINUTES.toNanos(10);
    private static final Map<Key, Kept<?>> KEPT = new ConcurrentHashMap<>();
    /** For a store that is not TDB2, where nothing is counted. */
    private static final Degrees UNKNOWN = new Degrees(MOST, 2, 10);

    private final DatasetGraphTDB store;

    private record Key(Object store, Node subject, Node predicate, Node object) {}

    private record Kept<T>(T value, long since) {}

    /**
     * A predicate's number of triples, at most {@link #MOST}, and of values in each direction.
     *
     * @param out objects of a subject, on average
     * @param in subjects of an object, on average
     */
    record Degrees(double triples, double out, double in) {
        double subjects() {
            return Math.max(1, triples / out);
        }

        double objects() {
            return Math.max(1, triples / in);
        }
    }

    private Counts(DatasetGraphTDB store) {
        this.store = store;
    }

    static Counts of(Context context) {
        Object found = context.get(ARQConstants.sysCurrentDataset);
        DatasetGraph data = found instanceof Dataset dataset ? dataset.asDatasetGraph() : null;
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
            return new Degrees(0, 1, 1);
        Set<NodeId> objects = new HashSet<>();
        found.forEach(quad -> objects.add(quad.get(3)));
        int step = Math.max(1, found.size() / SUBJECTS);
        NodeTupleTable quads = store.getQuadTable().getNodeTupleTable();
        NodeId id = quads.getNodeTable().getNodeIdForNode(predicate);
        double sampled = 0;
        double values = 0;
        for (int i = 0; i < found.size(); i += step, sampled++)
            values += read(quads.find(NodeId.NodeIdAny, found.get(i).get(1), id, NodeId.NodeIdAny),
                    1000).size();
        return new Degrees(found.size(), values / sampled, (double) found.size() / objects.size());
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
    private static <T> T kept(Key key, Supplier<T> counting) {
        Kept<?> before = KEPT.get(key);
        if (before != null && System.nanoTime() - before.since < KEPT_NS)
            return (T) before.value;
        T value = counting.get();
        if (KEPT.size() >= MOST_KEPT)
            KEPT.clear();
        KEPT.put(key, new Kept<>(value, System.nanoTime()));
        return value;
    }
}
