package org.w3id.supertwin.scopes;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;

import org.apache.jena.atlas.lib.tuple.Tuple;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.util.Context;
import org.apache.jena.sparql.util.Symbol;
import org.apache.jena.system.Txn;
import org.apache.jena.tdb2.store.DatasetGraphTDB;
import org.apache.jena.tdb2.store.NodeId;
import org.apache.jena.tdb2.store.QuadTable;
import org.apache.jena.tdb2.store.StoragePrefixesTDB;
import org.apache.jena.tdb2.store.StorageTDB;
import org.apache.jena.tdb2.store.TripleTable;
import org.apache.jena.tdb2.store.nodetupletable.NodeTupleTable;
import org.apache.jena.tdb2.store.tupletable.TupleIndex;
import org.apache.jena.tdb2.sys.TDBInternal;

/** A TDB2 dataset as a scope shows it, for reading in the transaction of this thread. */
public final class ScopedDataset {
    private static final Symbol RULES =
            Symbol.create("https://w3id.org/supertwin/ns#scopeRules");
    private static final Symbol WHOLE =
            Symbol.create("https://w3id.org/supertwin/ns#wholeDataset");
    // Look-ups are kept for the next queries of the same callers.
    private static final int MOST_KEPT = 16;
    private static final Map<Key, Visibility> KEPT = Collections
            .synchronizedMap(new LinkedHashMap<>(MOST_KEPT, 0.75f, true) {
                @Override
                protected boolean removeEldestEntry(Map.Entry<Key, Visibility> eldest) {
                    return size() > MOST_KEPT;
                }
            });

    private record Key(String scope, Object store, long version) {}

    private ScopedDataset() {}

    /**
     * Leave out of a dataset what a scope hides.
     *
     * @param text the scope, as the API sends it
     * @param twin the dataset {@code twin}, which tells what belongs to jobs and users
     */
    public static DatasetGraph of(DatasetGraph dataset, String text, DatasetGraph twin) {
        Scope scope = Scope.read(text);
        DatasetGraphTDB all = TDBInternal.requireStorage(dataset);
        Visibility visible = visibility(scope, text, dataset, twin);
        DatasetGraph some = filtered(all, visible);
        some.getContext().putAll(dataset.getContext());
        some.getContext().set(RULES, visible.rules);
        some.getContext().set(WHOLE, all);
        return some;
    }

    private static Visibility visibility(Scope scope, String text, DatasetGraph dataset,
            DatasetGraph twin) {
        DatasetGraphTDB all = TDBInternal.requireStorage(dataset);
        long version = all.getTxnSystem().getThreadTransaction().getDataVersion();
        // What jobs own may change without a change of this dataset, the history.
        boolean isKept = !scope.isOwned() || dataset == twin;
        Key key = new Key(text, all.getLocation(), version);
        Visibility known = isKept ? KEPT.get(key) : null;
        if (known == null) {
            known = new Visibility(new Rules(scope, new Facts(all), owned(scope, dataset, twin)),
                    all.getQuadTable().getNodeTupleTable().getNodeTable());
            if (isKept)
                KEPT.put(key, known);
        }
        return known;
    }

    private static Owned owned(Scope scope, DatasetGraph dataset, DatasetGraph twin) {
        return dataset == twin ? Owned.find(scope, new Facts(dataset))
                : Txn.calculateRead(twin, () -> Owned.find(scope, new Facts(twin)));
    }

    private static DatasetGraph filtered(DatasetGraphTDB all, Predicate<Tuple<NodeId>> visible) {
        NodeTupleTable quads = all.getQuadTable().getNodeTupleTable();
        NodeTupleTable triples = all.getTripleTable().getNodeTupleTable();
        StorageTDB storage = new StorageTDB(all.getTxnSystem(),
                // The default graph is the union of the named graphs, and has no own triples.
                new TripleTable(indexes(triples, any -> false), triples.getNodeTable()),
                new QuadTable(indexes(quads, visible), quads.getNodeTable()));
        return new DatasetGraphTDB(all.getLocation(), all.getStoreParams(),
                all.getReorderTransform(), storage,
                (StoragePrefixesTDB) all.getStoragePrefixes(), all.getTxnSystem());
    }

    private static TupleIndex[] indexes(NodeTupleTable table, Predicate<Tuple<NodeId>> visible) {
        return Stream.of(table.getTupleTable().getIndexes())
                .map(one -> one == null ? null : new FilteredIndex(one, visible))
                .toArray(TupleIndex[]::new);
    }

    /** The dataset without its scope, to estimate how many triples match a pattern. */
    public static DatasetGraph whole(DatasetGraph dataset) {
        DatasetGraph whole = dataset.getContext().get(WHOLE);
        return whole == null ? dataset : whole;
    }

    /** Whether the query of a context may read a series; it may be of telemetry without a node. */
    public static boolean allowsSeries(Context context, String host, String series,
            String instance) {
        Rules rules = context.get(RULES);
        return rules == null || rules.isSeriesVisible(host, series, instance);
    }

    /** Whether the query of a context may read the account of missing points of hosts. */
    public static boolean allowsAccount(Context context) {
        Rules rules = context.get(RULES);
        return rules == null || rules.showsAccount();
    }

    /** Whether the query of a context may read everything. */
    public static boolean isWhole(Context context) {
        return context.isUndef(RULES);
    }

    /** Pass the rules of a dataset on to the context of a query. */
    public static void limit(Context query, DatasetGraph dataset) {
        if (dataset.getContext().isDefined(RULES))
            query.set(RULES, dataset.getContext().<Rules>get(RULES));
    }
}
