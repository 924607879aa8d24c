package org.w3id.supertwin.limits;

import org.apache.jena.fuseki.servlets.HttpAction;
import org.apache.jena.fuseki.servlets.SPARQL_QueryDataset;
import org.apache.jena.query.Query;
import org.apache.jena.query.QueryCancelledException;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.exec.QueryExec;
import org.apache.jena.sparql.util.Context;

/**
 * A handler of queries for Fuseki that can abort them, and reports errors with a code.
 *
 * <p>A header gives a query an id, by which another request can cancel it: Fuseki does not notice
 * that a client has disconnected before it writes rows.
 */
public class LimitedQueries extends SPARQL_QueryDataset {
    private static final String ID = "SuperTwin-Query", CANCEL = "SuperTwin-Cancel";

    @Override
    protected void execute(String query, HttpAction action) {
        RunningQuery.cancel(action.getRequestHeader(CANCEL));
        try (RunningQuery running = RunningQuery.start(action.getRequestHeader(ID))) {
            execute(query, action, running);
        } catch (QueryError error) {
            error.report(action);
        }
    }

    private void execute(String query, HttpAction action, RunningQuery running) {
        try {
            super.execute(query, action);
        } catch (QueryCancelledException cancelled) {
            running.raise();
            throw cancelled;
        }
        running.raise();
    }

    @Override
    protected QueryExec createQueryExec(HttpAction action, Query query, DatasetGraph dataset) {
        QueryExec execution = super.createQueryExec(action, query, dataset);
        RunningQuery.current().cancelBy(Context.getOrSetCancelSignal(execution.getContext()));
        return execution;
    }
}
