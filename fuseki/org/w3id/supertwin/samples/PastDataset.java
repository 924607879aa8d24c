package org.w3id.supertwin.samples;

import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;

import org.apache.jena.atlas.iterator.Iter;
import org.apache.jena.graph.Graph;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.DatasetGraphFactory;
import org.apache.jena.sparql.core.DatasetGraphWrapper;
import org.apache.jena.sparql.core.DatasetGraphWrapperView;
import org.apache.jena.sparql.core.GraphView;
import org.apache.jena.sparql.core.Quad;

/**
 * A view of a dataset as it was at an earlier time.
 *
 * <p>It hides the triples that were added since and some whole graphs, and shows those that were
 * removed since. ingest/history/past.py computes all three from the states of each host.
 */
final class PastDataset extends DatasetGraphWrapper implements DatasetGraphWrapperView {
    private final Set<Quad> added = new HashSet<>();
    private final DatasetGraph removed;
    private final Set<Node> hidden = new HashSet<>();

    /** {@code added} and {@code removed} are N-Quads, {@code hidden} are IRIs of graphs. */
    PastDataset(DatasetGraph now, String added, String removed, String hidden) {
        super(now);
        parsed(added).find().forEachRemaining(this.added::add);
        this.removed = parsed(removed);
        for (String graph : hidden.split(" "))
            this.hidden.add(NodeFactory.createURI(graph));
    }

    private static DatasetGraph parsed(String quads) {
        DatasetGraph dataset = DatasetGraphFactory.create();
        RDFParser.fromString(quads, Lang.NQUADS).parse(dataset);
        return dataset;
    }

    @Override
    public Iterator<Quad> findNG(Node graph, Node subject, Node predicate, Node object) {
        Node name = graph == null || Quad.isUnionGraph(graph) ? Node.ANY : graph;
        Iterator<Quad> kept = Iter.filter(super.findNG(name, subject, predicate, object),
                quad -> !hidden.contains(quad.getGraph()) && !added.contains(quad));
        return Iter.concat(kept, removed.findNG(name, subject, predicate, object));
    }

    /** The default graph is the union of all others, as in the dataset now. */
    @Override
    public Iterator<Quad> find(Node graph, Node subject, Node predicate, Node object) {
        boolean isUnion = graph != null && Quad.isDefaultGraph(graph);
        return findNG(isUnion ? Node.ANY : graph, subject, predicate, object);
    }

    @Override
    public Iterator<Quad> find(Quad quad) {
        return find(quad.getGraph(), quad.getSubject(), quad.getPredicate(), quad.getObject());
    }

    @Override
    public Iterator<Quad> find() {
        return find(Node.ANY, Node.ANY, Node.ANY, Node.ANY);
    }

    @Override
    public boolean contains(Node graph, Node subject, Node predicate, Node object) {
        return find(graph, subject, predicate, object).hasNext();
    }

    @Override
    public boolean contains(Quad quad) {
        return find(quad).hasNext();
    }

    @Override
    public boolean containsGraph(Node graph) {
        return contains(graph, Node.ANY, Node.ANY, Node.ANY);
    }

    @Override
    public Iterator<Node> listGraphNodes() {
        Iterator<Node> kept = Iter.filter(super.listGraphNodes(), name -> !hidden.contains(name));
        return Iter.distinct(Iter.concat(kept, removed.listGraphNodes()));
    }

    @Override
    public Graph getDefaultGraph() {
        return getUnionGraph();
    }

    @Override
    public Graph getUnionGraph() {
        return GraphView.createUnionGraph(this);
    }

    @Override
    public Graph getGraph(Node graph) {
        return GraphView.createNamedGraph(this, graph);
    }
}
