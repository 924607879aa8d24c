package org.w3id.supertwin.scopes;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.core.Quad;

/**
 * The control groups of the jobs and users of a scope, on its hosts.
 *
 * @param groups their nodes
 * @param paths their paths by host
 */
record Owned(Set<Node> groups, Map<String, Set<String>> paths) {
    /** Find them in the dataset {@code twin}. */
    static Owned find(Scope scope, Facts twin) {
        Owned owned = new Owned(new HashSet<>(), new HashMap<>());
        if (!scope.isOwned())
            return owned;
        String start = scope.base() + "/graph/cgroups/";
        for (Quad group : twin.find(Node.ANY, Node.ANY, Terms.CGROUP_PATH, Node.ANY)) {
            String graph = group.getGraph().isURI() ? group.getGraph().getURI() : "";
            if (!graph.startsWith(start))
                continue;
            String host = Ids.decoded(graph.substring(start.length()));
            boolean isOnHost = scope.hosts() == null || scope.hosts().contains(host);
            if (isOnHost && belongs(scope, twin, group.getGraph(), group.getSubject()))
                owned.add(host, group);
        }
        return owned;
    }

    private void add(String host, Quad group) {
        groups.add(group.getSubject());
        paths.computeIfAbsent(host, any -> new HashSet<>())
                .add(group.getObject().getLiteralLexicalForm());
    }

    private static boolean belongs(Scope scope, Facts twin, Node graph, Node group) {
        return (scope.jobs() == null || isOne(scope.jobs(), twin, graph, group, Terms.JOB))
                && (scope.users() == null
                        || isOne(scope.users(), twin, graph, group, Terms.USER_NAME)
                        || isOne(scope.users(), twin, graph, group, Terms.USER_ID));
    }

    private static boolean isOne(Set<String> allowed, Facts twin, Node graph, Node group,
            Node property) {
        List<Quad> found = twin.find(graph, group, property, Node.ANY);
        return !found.isEmpty() && found.stream().allMatch(
                one -> allowed.contains(one.getObject().getLiteralLexicalForm()));
    }

    boolean has(String host, String path) {
        return paths.getOrDefault(host, Set.of()).contains(path);
    }

    /** Whether some of them are or were on a host. */
    boolean areOn(String host) {
        return paths.containsKey(host);
    }
}
