package org.w3id.supertwin.limits;

import org.apache.jena.fuseki.servlets.HttpAction;
import org.apache.jena.fuseki.servlets.SPARQL_QueryDataset;
import org.apache.jena.query.Query;
import org.apache.jena.query.QueryCancelledException;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.exec.QueryExec;
import org.apache.jena.sparql.util.Context;

/** A handler of queries for Fuseki that can abort them, and reports errors with a code. */
public class LimitedQueries extends SPARQL_QueryDataset {
    @Override
    protected void execute(String query, HttpAction action) {
        try (RunningQuery running = RunningQuery.start()) {
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
