package org.w3id.supertwin.scopes;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

import org.apache.jena.atlas.lib.tuple.Tuple;
import org.apache.jena.graph.Node;
import org.apache.jena.tdb2.store.NodeId;
import org.apache.jena.tdb2.store.nodetable.NodeTable;
import org.w3id.supertwin.scopes.Rules.Rule;

/** Which quads of one version of a dataset a scope shows; used by several queries at once. */
final class Visibility implements Predicate<Tuple<NodeId>> {
    private static final int MOST_KEPT = 20_000;

    final Rules rules;
    private final NodeTable nodes;
    private final Map<NodeId, Graph> graphs = new ConcurrentHashMap<>();

    Visibility(Rules rules, NodeTable nodes) {
        this.rules = rules;
        this.nodes = nodes;
    }

    /** The rule of a graph, and its nodes that were decided; nodes of runs have other rules. */
    private record Graph(Rule rule, boolean isRun, Map<NodeId, Boolean> shown) {}

    private final Map<NodeId, Boolean> ofHosts = new ConcurrentHashMap<>();
    private final Map<NodeId, Boolean> ofRuns = new ConcurrentHashMap<>();

    @Override
    public boolean test(Tuple<NodeId> quad) {
        Graph graph = graph(quad.get(0));
        return switch (graph.rule) {
            case HIDDEN -> false;
            case WHOLE -> true;
            case PARTS -> shows(graph, quad.get(1)) && shows(graph, quad.get(3));
        };
    }

    private Graph graph(NodeId id) {
        Graph known = graphs.get(id);
        if (known == null)
            graphs.put(id, known = decided(nodes.getNodeForNodeId(id)));
        return known;
    }

    private Graph decided(Node name) {
        boolean isRun = rules.isOfRuns(name);
        return new Graph(rules.graph(name), isRun, isRun ? ofRuns : ofHosts);
    }

    private boolean shows(Graph graph, NodeId id) {
        if (id.isInline())
            return true;
        Boolean known = graph.shown.get(id);
        if (known == null) {
            if (graph.shown.size() >= MOST_KEPT)
                graph.shown.clear();
            known = rules.shows(nodes.getNodeForNodeId(id), graph.isRun);
            graph.shown.put(id, known);
        }
        return known;
    }
}
