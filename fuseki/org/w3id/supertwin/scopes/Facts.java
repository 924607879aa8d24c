package org.w3id.supertwin.scopes;

import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;

import org.apache.jena.atlas.iterator.Iter;
import org.apache.jena.graph.Node;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.Quad;

/** Reads the whole dataset, to decide what is visible. */
record Facts(DatasetGraph all) {
    List<Quad> find(Node graph, Node subject, Node predicate, Node object) {
        Iterator<Quad> found = all.findNG(graph, subject, predicate, object);
        return Iter.toList(found);
    }

    boolean has(Node subject, Node predicate, Node object) {
        return all.findNG(Node.ANY, subject, predicate, object).hasNext();
    }

    /** The objects of a property in a graph. */
    Stream<Node> objects(Node graph, Node predicate) {
        return find(graph, Node.ANY, predicate, Node.ANY).stream().map(Quad::getObject);
    }

    /** The objects of a property in a graph, as texts. */
    List<String> texts(Node graph, Node predicate) {
        return objects(graph, predicate).filter(Node::isLiteral)
                .map(Node::getLiteralLexicalForm).toList();
    }
}
