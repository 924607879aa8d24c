package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.Quad;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.w3id.supertwin.scopes.Ids;
import org.w3id.supertwin.scopes.ScopedDataset;

/**
 * Finds the series of telemetry in the graph, for one call of a function.
 *
 * <p>The series of a process, for example, have no telemetry node. These are found by the parts of
 * their IRI: the host must expose the metric, and have the instance or look instances up at each
 * fetch. All named graphs are searched, whichever graphs the query selects.
 */
final class Catalogue {
    private static final Pattern IRI =
            Pattern.compile("(.+/twin/[^/]+)/telemetry/([^/]+)/([^/]+)");
    private static final String NO_INSTANCE = "~";

    private record Metric(String series, boolean isCounter, boolean isText, String unit) {}

    private final ExecutionContext context;
    private final DatasetGraph dataset;
    private final Map<Node, Metric> metrics = new HashMap<>();
    private final Map<Node, String> hosts = new HashMap<>();
    private final Map<Node, Long> periods = new HashMap<>();
    private final Virtuals virtuals;
    private final String version;

    Catalogue(ExecutionContext context, InputSource inputs) {
        this.context = context;
        dataset = context.getDataset();
        virtuals = new Virtuals(inputs.in(this), new Units(dataset));
        version = inputs.version();
    }

    /** The telemetry with an IRI; what the scope of the query hides is unknown. */
    Telemetry find(Node iri) {
        Telemetry found = findAny(iri);
        Telemetry.Key key = found.key();
        if (!ScopedDataset.allowsSeries(context.getContext(), key.host(), key.series(),
                key.instance()))
            throw unknown(iri);
        return found;
    }

    private Telemetry findAny(Node iri) {
        if (!iri.isURI())
            throw unknown(iri);
        // One look-up for all facts: a query may have thousands of nodes.
        Map<Node, List<Node>> facts = facts(iri);
        Node metric = first(facts.get(Terms.OF_METRIC));
        Node host = first(facts.get(Terms.OF_HOST));
        Node tree = first(facts.get(Terms.EXPRESSION_TREE));
        if (tree != null)
            return virtual(iri, text(tree), unit(first(facts.get(Terms.HAS_UNIT))));
        if (metric == null || host == null || !facts.containsKey(Terms.SAMPLER_NAME))
            return findByParts(iri);
        return telemetry(host, metric, text(first(facts.get(Terms.INSTNAME))),
                fastest(facts.getOrDefault(Terms.SAMPLED_BY, List.of())));
    }

    private Telemetry virtual(Node iri, String tree, String unit) {
        Telemetry known = version.isEmpty() ? null : KnownVirtuals.get(iri, version);
        if (known != null)
            return known;
        Telemetry found = virtuals.telemetry(iri, tree, unit);
        // A period that was found in samples may differ in other samples.
        if (!version.isEmpty() && found.periodMs() > 0)
            KnownVirtuals.keep(iri, version, found);
        return found;
    }

    private Map<Node, List<Node>> facts(Node subject) {
        Map<Node, List<Node>> found = new HashMap<>();
        dataset.findNG(Node.ANY, subject, Node.ANY, Node.ANY).forEachRemaining(quad -> found
                .computeIfAbsent(quad.getPredicate(), any -> new ArrayList<>())
                .add(quad.getObject()));
        return found;
    }

    private Telemetry findByParts(Node iri) {
        Matcher parts = IRI.matcher(iri.getURI());
        if (!parts.matches())
            throw unknown(iri);
        Node host = NodeFactory.createURI(parts.group(1));
        Node metric = exposed(host, Ids.decoded(parts.group(2)));
        String segment = parts.group(3);
        if (metric == null || !hasInstance(host, metric, segment))
            throw unknown(iri);
        String instance = segment.equals(NO_INSTANCE) ? null : Ids.decoded(segment);
        return telemetry(host, metric, instance, fastest(plans(host, metric, instance)));
    }

    private Telemetry telemetry(Node host, Node metric, String instance, long period) {
        Metric found = metrics.computeIfAbsent(metric, this::describe);
        String name = hosts.computeIfAbsent(host, node -> text(node, Terms.HOSTNAME));
        if (name == null || found.series == null)
            throw SampleError.badCall("<" + host + "> has no st:hostname, or <" + metric
                    + "> no st:dbName: their series have no name");
        return new Telemetry(new Telemetry.Key(found.series, name, instance), found.isCounter,
                found.isText, period, found.unit, null);
    }

    private Metric describe(Node metric) {
        return new Metric(text(metric, Terms.DB_NAME),
                Terms.COUNTER.equals(object(metric, Terms.SEMANTICS)),
                "string".equals(text(metric, Terms.VALUE_TYPE)),
                unit(object(metric, Terms.HAS_UNIT)));
    }

    private Node exposed(Node host, String name) {
        for (Node metric : subjects(Terms.SAMPLER_NAME, NodeFactory.createLiteralString(name)))
            if (dataset.contains(Node.ANY, host, Terms.EXPOSES, metric))
                return metric;
        return null;
    }

    private boolean hasInstance(Node host, Node metric, String segment) {
        Node domain = object(metric, Terms.INSTANCE_DOMAIN);
        if (domain == null || segment.equals(NO_INSTANCE))
            return domain == null && segment.equals(NO_INSTANCE);
        if (dataset.contains(Node.ANY, host, Terms.RESOLVES_AT_FETCH, domain))
            return true;
        String iri = host + "/instance/" + text(domain, Terms.DOMAIN_ID) + "/" + segment;
        return object(NodeFactory.createURI(iri), Terms.INSTNAME) != null;
    }

    private List<Node> plans(Node host, Node metric, String instance) {
        List<Node> found = new ArrayList<>();
        for (Node plan : subjects(Terms.SAMPLES, metric))
            if (dataset.contains(Node.ANY, plan, Terms.OF_HOST, host) && samples(plan, instance))
                found.add(plan);
        return found;
    }

    private boolean samples(Node plan, String instance) {
        List<Node> some = objects(plan, Terms.SAMPLES_INSTANCE);
        return some.isEmpty() || instance != null
                && some.stream().anyMatch(one -> instance.equals(one.getLiteralLexicalForm()));
    }

    private long fastest(List<Node> plans) {
        return plans.stream().mapToLong(plan -> periods.computeIfAbsent(plan, this::period))
                .filter(period -> period > 0).min().orElse(0);
    }

    private long period(Node plan) {
        Node period = object(plan, Terms.PERIOD);
        return period == null ? 0 : Times.duration(period, "the period of a plan");
    }

    private String text(Node subject, Node link) {
        return text(object(subject, link));
    }

    private static String unit(Node unit) {
        return unit == null ? "" : unit.toString();
    }

    boolean isVirtual(Node iri) {
        return object(iri, Terms.EXPRESSION_TREE) != null;
    }

    /** The inputs that the expression of virtual telemetry names. */
    Set<Node> named(Node iri) {
        return Tree.parse(text(iri, Terms.EXPRESSION_TREE)).inputs();
    }

    /** The telemetry that a tree of an expression computes, before it is in the graph. */
    Telemetry compiled(Node tree) {
        return virtuals.telemetry(tree, tree.getLiteralLexicalForm(), "");
    }

    private static String text(Node literal) {
        return literal == null ? null : literal.getLiteralLexicalForm();
    }

    private Node object(Node subject, Node link) {
        return first(objects(subject, link));
    }

    private static Node first(List<Node> found) {
        return found == null || found.isEmpty() ? null : found.get(0);
    }

    private List<Node> objects(Node subject, Node link) {
        List<Node> found = new ArrayList<>();
        Iterator<Quad> quads = dataset.find(Node.ANY, subject, link, Node.ANY);
        quads.forEachRemaining(quad -> found.add(quad.getObject()));
        return found;
    }

    private List<Node> subjects(Node link, Node object) {
        List<Node> found = new ArrayList<>();
        Iterator<Quad> quads = dataset.find(Node.ANY, Node.ANY, link, object);
        quads.forEachRemaining(quad -> found.add(quad.getSubject()));
        return found;
    }

    private static SampleError unknown(Node iri) {
        return new SampleError(SampleError.Code.UNKNOWN_TELEMETRY, Times.text(iri)
                + " is not telemetry of the twin; telemetry is a st:SWTelemetry or st:HWTelemetry"
                + " (leave out other nodes by this class), or"
                + " {host}/telemetry/{metric}/{instance} of a metric that the host exposes");
    }
}
