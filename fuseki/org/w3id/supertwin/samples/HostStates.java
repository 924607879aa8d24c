package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.Quad;
import org.apache.jena.system.Txn;

/** The states that hosts had over time, from the dataset {@code history}: see docs/fleet.md. */
final class HostStates {
    private static final int MOST_NAMED = 5;

    private final DatasetGraph history;

    HostStates(DatasetGraph history) {
        this.history = history;
    }

    /**
     * A warning about hosts that changed after the first of the samples that a query reads of them;
     * empty if there are none. The query joins such samples with a state that is too new.
     *
     * @param earliest the start of the samples of each host
     * @param now the time of the query
     */
    String warning(Map<String, Long> earliest, long now) {
        List<String> changed = new ArrayList<>();
        Txn.executeRead(history, () -> earliest.forEach((host, from) -> {
            long start = startOfState(host, now);
            if (start > from)
                changed.add(host + " changed at "
                        + new TimeLiterals().literal(start).getLiteralLexicalForm());
        }));
        if (changed.isEmpty())
            return "";
        String more = changed.size() > MOST_NAMED ? " and others" : "";
        return "the query joins samples with a newer state of the twin: "
                + String.join(", ", changed.stream().limit(MOST_NAMED).toList()) + more
                + "; asof=TIME queries the twins as they were";
    }

    /** When the state that a host has at {@code now} began; 0 if it is the first known one. */
    private long startOfState(String host, long now) {
        long start = 0;
        for (Node state : subjects(Terms.SPECIALIZATION_OF,
                subjects(Terms.HOSTNAME, List.of(NodeFactory.createLiteralString(host))))) {
            long at = Times.time(object(state, Terms.GENERATED_AT), 0, "the start of a state");
            boolean isFirst = "1".equals(object(state, Terms.STATE_NUMBER).getLiteralLexicalForm());
            if (at <= now && at > start && !isFirst)
                start = at;
        }
        return start;
    }

    private List<Node> subjects(Node link, List<Node> objects) {
        List<Node> found = new ArrayList<>();
        for (Node object : objects)
            history.findNG(Node.ANY, Node.ANY, link, object)
                    .forEachRemaining(quad -> found.add(quad.getSubject()));
        return found;
    }

    private Node object(Node subject, Node link) {
        Iterator<Quad> found = history.findNG(Node.ANY, subject, link, Node.ANY);
        return found.next().getObject();
    }
}
