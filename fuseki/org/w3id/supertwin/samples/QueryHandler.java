package org.w3id.supertwin.samples;

import java.util.Collection;
import java.util.List;
import java.util.Objects;

import org.apache.jena.atlas.json.JsonArray;
import org.apache.jena.atlas.json.JsonObject;
import org.apache.jena.datatypes.xsd.XSDDatatype;
import org.apache.jena.fuseki.server.DataAccessPoint;
import org.apache.jena.fuseki.servlets.HttpAction;
import org.apache.jena.fuseki.servlets.ServletOps;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.query.Query;
import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.Prologue;
import org.apache.jena.sparql.exec.QueryExec;
import org.apache.jena.sparql.exec.QueryExecResult;
import org.w3id.supertwin.limits.LimitedQueries;
import org.w3id.supertwin.scopes.ScopedDataset;
import org.w3id.supertwin.version.DataVersion;

/**
 * A handler of queries for Fuseki with more parameters; it also reports errors of functions,
 * and the version of the dataset.
 *
 * <p>With {@code explain}, the answer is not the result of the query but the requests that it sent
 * to the series store. With {@code asof}, NOW() is that time, and the query runs on the dataset as
 * it was then: the client gives the changes since as {@code added}, {@code removed} and
 * {@code hidden} (see {@link PastDataset}). With {@code scope}, the query sees a part of the dataset
 * only ({@link ScopedDataset}).
 */
final class QueryHandler extends LimitedQueries {
    private static final String EXPLAIN = "explain";
    private static final String AS_OF = "asof", ADDED = "added", REMOVED = "removed",
            HIDDEN = "hidden";
    private static final String NOW = Times.class.getName();
    private static final String WARNING = "SuperTwin-Warning", HISTORY = "/history",
            TWIN = "/twin";
    private static final String SCOPE = "scope", SCOPED = ScopedDataset.class.getName();
    private static final String REQUESTS = Requests.class.getName();

    @Override
    protected Collection<String> customParams() {
        return List.of(EXPLAIN, AS_OF, ADDED, REMOVED, HIDDEN, SCOPE);
    }

    /** The dataset as the scope of the caller shows it, also for FROM. */
    @Override
    protected DatasetGraph getDataset(HttpAction action) {
        DatasetGraph all = super.getDataset(action);
        String scope = action.getRequestParameter(SCOPE);
        if (scope == null)
            return all;
        DatasetGraph some = ScopedDataset.of(all, scope, twin(action));
        action.getRequest().setAttribute(SCOPED, some);
        return some;
    }

    private static DatasetGraph twin(HttpAction action) {
        return action.getDataAccessPointRegistry().get(TWIN).getDataService().getDataset();
    }

    @Override
    protected QueryExec createQueryExec(HttpAction action, Query query, DatasetGraph dataset) {
        String asOf = action.getRequestParameter(AS_OF);
        QueryExec execution = super.createQueryExec(action, query,
                asOf == null ? dataset : past(action, dataset));
        if (asOf != null)
            execution.getContext().set(ARQConstants.sysCurrentTime,
                    NodeFactory.createLiteralDT(asOf, XSDDatatype.XSDdateTime));
        if (action.getRequest().getAttribute(SCOPED) instanceof DatasetGraph some)
            ScopedDataset.limit(execution.getContext(), some);
        BatchingExecutor.use(execution.getContext());
        Requests requests = Requests.of(execution.getContext());
        action.getRequest().setAttribute(REQUESTS, requests);
        action.getRequest().setAttribute(NOW, Times.now(execution.getContext()));
        return execution;
    }

    private static DatasetGraph past(HttpAction action, DatasetGraph now) {
        return new PastDataset(now, parameter(action, ADDED), parameter(action, REMOVED),
                parameter(action, HIDDEN));
    }

    private static String parameter(HttpAction action, String name) {
        return Objects.requireNonNullElse(action.getRequestParameter(name), "");
    }

    @Override
    protected void sendResults(HttpAction action, QueryExecResult result, Prologue prologue) {
        Requests requests = (Requests) action.getRequest().getAttribute(REQUESTS);
        warn(action, requests);
        action.setResponseHeader(DataVersion.HEADER, DataVersion.of(action.getActiveDSG()));
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

    /**
     * Add a header if samples are older than the state of their host.
     *
     * <p>Functions in EXISTS give no warning: they are called later, while rows are sent.
     */
    private static void warn(HttpAction action, Requests requests) {
        DataAccessPoint history = action.getDataAccessPointRegistry().get(HISTORY);
        if (history == null || requests.earliest().isEmpty())
            return;
        long now = (Long) action.getRequest().getAttribute(NOW);
        String warning = new HostStates(history.getDataService().getDataset())
                .warning(requests.earliest(), now);
        if (!warning.isEmpty())
            action.setResponseHeader(WARNING, warning.replaceAll("[^ -~]", "?"));
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
