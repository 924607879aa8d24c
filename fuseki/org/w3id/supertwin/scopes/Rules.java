package org.w3id.supertwin.scopes;

import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

import org.apache.jena.atlas.json.JSON;
import org.apache.jena.atlas.json.JsonObject;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.vocabulary.RDF;

/**
 * Decides which graphs and nodes a scope shows, by their IRIs (ontology/iris.py) and by what they
 * describe. A graph of an unknown kind is hidden.
 */
final class Rules {
    /** How much of a graph is visible: nothing, everything, or triples of visible nodes. */
    enum Rule {
        HIDDEN, WHOLE, PARTS
    }

    private static final Set<String> CATALOGUES = Set.of("metrics", "roles", "ontology");
    private static final Set<String> OF_HOSTS = Set.of("twin", "register", "plans", "cgroups",
            "processes", "accuracy", "counters", "agents", "history");
    private static final Set<String> OF_JOBS = Set.of("cgroups/of-job", "cgroups/job-threads");
    private static final String GRAPH = "graph/", ENTAILED = "entailed/", NO_ID = "/~";
    private static final String CGROUP_SERIES = "supertwin_cgroup_", CGROUP_DOMAIN = "513.0";

    private final Scope scope;
    private final Facts facts;
    private final Owned owned;
    private final String start;

    /** {@code facts} are those of the dataset, {@code owned} those of the dataset twin. */
    Rules(Scope scope, Facts facts, Owned owned) {
        this.scope = scope;
        this.facts = facts;
        this.owned = owned;
        start = scope.base() + "/";
    }

    // ---- graphs --------------------------------------------------------------------

    Rule graph(Node name) {
        String path = name.isURI() && name.getURI().startsWith(start + GRAPH)
                ? name.getURI().substring(start.length() + GRAPH.length()) : "";
        return path.startsWith(ENTAILED) ? facts(path.substring(ENTAILED.length()))
                : graph(name, path.split("/"));
    }

    /** Whether a graph describes a run, baseline or model, or has the consequences of one. */
    boolean isOfRuns(Node name) {
        return name.isURI() && name.getURI().startsWith(start + GRAPH)
                && name.getURI().substring(start.length() + GRAPH.length())
                        .matches("(entailed/)?(observation|baseline|model)/.+");
    }

    /** The rule of the graph whose consequences a graph has. */
    private Rule facts(String path) {
        String of = path.endsWith(NO_ID) ? path.substring(0, path.length() - NO_ID.length())
                : path.contains("/") ? path : "twin/" + path;
        return graph(NodeFactory.createURI(start + GRAPH + of),
                of.split("/"));
    }

    private Rule graph(Node name, String[] path) {
        if (path.length == 1 ? CATALOGUES.contains(path[0]) : path[0].equals("pmu"))
            return scope.metrics() == null ? Rule.WHOLE : Rule.PARTS;
        if (path.length < 2)
            return Rule.HIDDEN;
        if (OF_HOSTS.contains(path[0]))
            return ofHost(name, path);
        boolean isVisible = switch (path[0]) {
            case "observation" -> isRunVisible(name);
            case "baseline" -> areRunsVisible(name, Terms.BASELINE_RUN);
            case "model" -> areRunsVisible(name, Terms.MODELLED_RUN);
            case "benchmark" -> areHosts(name, this::host);
            default -> false;
        };
        return isVisible ? Rule.PARTS : Rule.HIDDEN;
    }

    private Rule ofHost(Node name, String[] path) {
        if (!host(Ids.decoded(path[1])))
            return Rule.HIDDEN;
        if (!scope.isOwned())
            return scope.metrics() == null ? Rule.WHOLE : Rule.PARTS;
        // Nothing tells whose process has a name.
        boolean isOthers = path[0].equals("processes")
                || path[0].equals("plans") && path.length > 2 && !isOwnPlan(name, path);
        return isOthers ? Rule.HIDDEN : Rule.PARTS;
    }

    private boolean host(String name) {
        return (scope.hosts() == null || scope.hosts().contains(name))
                && (scope.jobs() == null || owned.areOn(name));
    }

    private boolean isOwnPlan(Node graph, String[] path) {
        String host = Ids.decoded(path[1]);
        List<String> instances = facts.texts(graph, Terms.SAMPLES_INSTANCE);
        if (!instances.isEmpty())
            return instances.stream().allMatch(one -> owned.has(host, one));
        List<String> parameters = facts.texts(graph, Terms.QUERY_PARAMETERS);
        return !parameters.isEmpty()
                && OF_JOBS.containsAll(facts.texts(graph, Terms.INSTANCES_FROM))
                && parameters.stream().allMatch(this::isOfJob);
    }

    private boolean isOfJob(String parameters) {
        JsonObject given = JSON.parse(parameters);
        return scope.jobs() != null && scope.users() == null && given.hasKey("job")
                && scope.jobs().contains(given.getString("job"));
    }

    private boolean isRunVisible(Node graph) {
        return areHosts(graph, this::isHostOfRun)
                && (scope.users() == null || isOf(graph, Terms.USER_NAME, scope.users()))
                && (scope.jobs() == null || isOf(graph, Terms.JOB, scope.jobs()));
    }

    /** Whether a graph names hosts, and all of them fit. */
    private boolean areHosts(Node graph, Predicate<String> fits) {
        String prefix = start + "twin/";
        List<Node> hosts = facts.objects(graph, Terms.OF_HOST).toList();
        return !hosts.isEmpty() && hosts.stream().allMatch(host -> host.isURI()
                && host.getURI().startsWith(prefix)
                && fits.test(Ids.decoded(host.getURI().substring(prefix.length()))));
    }

    /** A job may have run elsewhere. */
    private boolean isHostOfRun(String name) {
        return scope.hosts() == null || scope.hosts().contains(name);
    }

    private boolean isOf(Node graph, Node property, Set<String> allowed) {
        List<String> found = facts.texts(graph, property);
        return !found.isEmpty() && allowed.containsAll(found);
    }

    /** Whether a graph names runs by a property, and all of them are visible. */
    private boolean areRunsVisible(Node graph, Node property) {
        List<Node> runs = facts.objects(graph, property).toList();
        return !runs.isEmpty() && runs.stream().allMatch(run -> shows(run, true));
    }

    // ---- nodes ---------------------------------------------------------------------

    /** Whether a node of a graph of parts is visible; {@code isRun}: in the graph of a run. */
    boolean shows(Node node, boolean isRun) {
        if (!node.isURI() || !node.getURI().startsWith(start))
            return true;
        String[] path = node.getURI().substring(start.length()).split("/");
        return path.length < 2 || switch (path[0]) {
            case "twin" -> ofTwin(node, path, isRun);
            case "metric" -> scope.allowsMetric(metric(path[1]));
            case "accuracy" -> host(Ids.decoded(path[1]));
            case "observation" -> isPartVisible(path)
                    && graph(node(GRAPH + "observation/" + path[1])) != Rule.HIDDEN;
            case "baseline", "benchmark" ->
                graph(node(GRAPH + path[0] + "/" + path[1])) != Rule.HIDDEN;
            case "model" -> path.length > 2
                    && graph(node(GRAPH + "model/" + path[1] + "/" + path[2])) != Rule.HIDDEN;
            case "graph" -> graph(node) != Rule.HIDDEN;
            default -> true;
        };
    }

    private Node node(String path) {
        return NodeFactory.createURI(start + path);
    }

    /** The name of a metric in its IRI, which ends with a hash for some hosts. */
    private static String metric(String segment) {
        return Ids.decoded(segment.split("~~")[0]);
    }

    /** Figures are computed from metrics that they do not name. */
    private boolean isPartVisible(String[] path) {
        return scope.metrics() == null || path.length < 4
                || path[2].equals("summary") && scope.allowsMetric(Ids.decoded(path[3]));
    }

    private boolean ofTwin(Node node, String[] path, boolean isRun) {
        String host = Ids.decoded(path[1]);
        if (isRun ? scope.hosts() != null && !scope.hosts().contains(host) : !host(host))
            return false;
        return path.length < 4 || switch (path[2]) {
            case "telemetry" -> scope.allowsMetric(Ids.decoded(path[3])) && (isRun
                    || path.length > 4 && isSeriesVisible(host, Ids.decoded(path[3])
                            .replaceAll("[^A-Za-z0-9_]", "_"), Ids.decoded(path[4])));
            case "plan" -> scope.allowsMetric(
                    Ids.decoded(path[3]).replaceFirst("^[^.]*\\.", ""));
            case "cgroup" -> !scope.isOwned() || owned.groups().contains(node)
                    || !facts.has(node, RDF.type.asNode(), Terms.CGROUP);
            case "instance" -> !scope.isOwned() || !path[3].equals(CGROUP_DOMAIN)
                    || path.length > 4 && owned.has(host, Ids.decoded(path[4]));
            case "process" -> isRun || !scope.isOwned();
            default -> true;
        };
    }

    // ---- samples -------------------------------------------------------------------

    /** Whether the samples of a series are those of the scope's jobs and users. */
    boolean isSeriesVisible(String host, String series, String instance) {
        return host(host) && (!scope.isOwned() || series.startsWith(CGROUP_SERIES)
                && instance != null && owned.has(host, instance));
    }

    /** Whether the account of missing points, which covers all series of a host, is visible. */
    boolean showsAccount() {
        return scope.metrics() == null && !scope.isOwned();
    }
}
