package org.w3id.supertwin.samples;

import java.util.Collection;
import java.util.List;

import org.apache.jena.atlas.json.JsonArray;
import org.apache.jena.atlas.json.JsonObject;
import org.apache.jena.fuseki.servlets.HttpAction;
import org.apache.jena.fuseki.servlets.ServletOps;
import org.apache.jena.query.Query;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.Prologue;
import org.apache.jena.sparql.exec.QueryExec;
import org.apache.jena.sparql.exec.QueryExecResult;
import org.w3id.supertwin.limits.LimitedQueries;

/**
 * Fuseki's handler of queries, with errors of the functions and with EXPLAIN.
 *
 * <p>With the parameter {@code explain}, the answer is not the result of the query but the requests
 * that it sent to the series store.
 */
final class QueryHandler extends LimitedQueries {
    private static final String EXPLAIN = "explain";
    private static final String REQUESTS = Requests.class.getName();

    @Override
    protected Collection<String> customParams() {
        return List.of(EXPLAIN);
    }

    @Override
    protected QueryExec createQueryExec(HttpAction action, Query query, DatasetGraph dataset) {
        QueryExec execution = super.createQueryExec(action, query, dataset);
        Requests requests = Requests.of(execution.getContext());
        action.getRequest().setAttribute(REQUESTS, requests);
        return execution;
    }

    @Override
    protected void sendResults(HttpAction action, QueryExecResult result, Prologue prologue) {
        Requests requests = (Requests) action.getRequest().getAttribute(REQUESTS);
        if (action.getRequestParameter(EXPLAIN) == null) {
            super.sendResults(action, result, prologue);
            requests.raise();
            return;
        }
        if (result.isRowSet())
            result.rowSet().forEachRemaining(row -> {});
        requests.raise();
        ServletOps.success(action);
        ServletOps.sendJson(action, explained(requests));
    }

    private static JsonArray explained(Requests requests) {
        JsonArray list = new JsonArray();
        for (Requests.Request request : requests.sent()) {
            JsonObject one = new JsonObject();
            one.put("path", request.path());
            request.parameters().forEach(one::put);
            list.add(one);
        }
        return list;
    }
}
