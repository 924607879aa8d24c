package org.w3id.supertwin.version;

import java.util.UUID;

import org.apache.jena.dboe.transaction.txn.TransactionInfo;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.tdb2.store.DatasetGraphTDB;
import org.apache.jena.tdb2.sys.TDBInternal;

/** The version of a dataset: every transaction that writes gives it another one. */
public final class DataVersion {
    public static final String HEADER = "SuperTwin-Version";
    // A dataset counts its transactions from 0 again whenever Fuseki starts.
    private static final String START = UUID.randomUUID().toString().substring(0, 8);

    private DataVersion() {}

    /**
     * The version that the transaction of this thread reads; empty if the dataset has none.
     *
     * <p>TDB2 counts a write in the lock that also makes it visible. So a query that begins after
     * a version was read sees that version or a newer one.
     */
    public static String of(DatasetGraph dataset) {
        // A query that runs sees the storage itself.
        DatasetGraphTDB storage = dataset instanceof DatasetGraphTDB own ? own
                : TDBInternal.isTDB2(dataset) ? TDBInternal.getDatasetGraphTDB(dataset) : null;
        if (storage == null)
            return "";
        TransactionInfo transaction = storage.getTxnSystem().getTransactionInfo();
        return transaction == null ? "" : START + "-" + transaction.getDataVersion();
    }
}
