package org.w3id.supertwin.patterns;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.function.ToDoubleFunction;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.query.Dataset;
import org.apache.jena.query.ReadWrite;
import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.util.Context;
import org.apache.jena.system.Txn;
import org.apache.jena.tdb2.TDB2Factory;
import org.junit.jupiter.api.Test;

/** Counts of a store in memory. */
class CountsTest {
    private static final Node PART_OF = node("partOf");
    private final Dataset dataset = TDB2Factory.createDataset();

    private static Node node(String name) {
        return NodeFactory.createURI("urn:" + name);
    }

    private void add(int from, int to, String whole) {
        Txn.executeWrite(dataset, () -> {
            for (int i = from; i < to; i++)
                dataset.asDatasetGraph().add(node("graph"), node("part" + i), PART_OF, node(whole));
        });
    }

    private double counted(ToDoubleFunction<Counts> count) {
        Context context = new Context();
        context.set(ARQConstants.sysCurrentDataset, dataset);
        dataset.begin(ReadWrite.READ);
        try {
            return count.applyAsDouble(Counts.of(context));
        } finally {
            dataset.end();
        }
    }

    @Test
    void countIsRepeatedAfterWrite() throws InterruptedException {
        ToDoubleFunction<Counts> all = counts -> counts.triples(Node.ANY, PART_OF, Node.ANY);
        assertEquals(0, counted(all));
        add(0, 3, "node");
        // The old count is kept for a multiple of the time that counting took.
        for (int waits = 0; waits < 600 && counted(all) == 0; waits++)
            Thread.sleep(100);
        assertEquals(3, counted(all));
        assertEquals(3, counted(counts -> counts.triples(Node.ANY, PART_OF, node("node"))));
        assertEquals(0, counted(counts -> counts.triples(Node.ANY, PART_OF, node("other"))));
    }

    @Test
    void degreesAreAveragesOverTriples() {
        add(0, 9, "node");
        add(9, 10, "core");
        assertEquals(10, counted(counts -> counts.degrees(PART_OF).triples()));
        assertEquals(2, counted(counts -> counts.degrees(PART_OF).objects()));
        assertEquals(1, counted(counts -> counts.degrees(PART_OF).out()));
        assertEquals(8.2, counted(counts -> counts.degrees(PART_OF).in()));
    }
}
