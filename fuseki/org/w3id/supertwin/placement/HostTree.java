package org.w3id.supertwin.placement;

import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.Quad;
import org.apache.jena.vocabulary.RDF;

/**
 * The threads of a host and hwloc's tree of them, read from the host's graph. A thread's number is
 * that in the operating system.
 *
 * @param threads the nodes of all threads by number
 * @param allowed the numbers of the threads that may be used
 * @param order the numbers of the same threads, in the order of the tree
 * @param memory the NUMA domain that is nearest to each thread, by its number
 */
record HostTree(Map<Integer, Node> threads, BitSet allowed, Branch root, List<Integer> order,
        Map<Integer, Node> memory) {
    private static final List<Node> CONTAINERS =
            terms("Core", "Die", "Socket", "Cache", "Group", "NumaDomain");
    private static final List<Node> LINKS =
            terms("isPartOf", "usesCache", "inNumaDomain", "inGroup");

    /** The tree of the host with this name; it has no threads if the host is unknown. */
    static HostTree read(DatasetGraph dataset, Node hostname) {
        Iterator<Quad> named = dataset.findNG(Node.ANY, Node.ANY, term("hostname"), hostname);
        while (named.hasNext()) {
            Quad quad = named.next();
            if (dataset.contains(quad.getGraph(), quad.getSubject(), RDF.type.asNode(),
                    term("ComputeNode")))
                return new Reader(dataset, quad.getGraph()).tree();
        }
        return tree(Map.of(), new BitSet(), Set.of(), Map.of());
    }

    private static HostTree tree(Map<Integer, Node> threads, BitSet allowed, Set<BitSet> sets,
            Map<Integer, Node> memory) {
        BitSet all = new BitSet();
        threads.keySet().forEach(all::set);
        Branch root = Branch.of(all, sets);
        List<Integer> order = root.leaves().stream().filter(allowed::get).toList();
        return new HostTree(threads, allowed, root, order, memory);
    }

    private static Node term(String name) {
        return NodeFactory.createURI("https://w3id.org/supertwin/ns#" + name);
    }

    private static List<Node> terms(String... names) {
        return List.of(names).stream().map(HostTree::term).toList();
    }

    /** Reads one graph, a property at a time: that is faster than a thread at a time. */
    private static final class Reader {
        private final DatasetGraph dataset;
        private final Node graph;
        private final Map<Node, BitSet> held = new HashMap<>();
        private final Map<Node, Node> above = new HashMap<>();
        private final Map<Node, Integer> numbers = new HashMap<>();

        Reader(DatasetGraph dataset, Node graph) {
            this.dataset = dataset;
            this.graph = graph;
        }

        HostTree tree() {
            readContainers();
            Map<Integer, Node> threads = readThreads();
            BitSet allowed = new BitSet();
            each(term("allowed"), (thread, value) -> {
                if (numbers.containsKey(thread) && value.getLiteralValue().equals(true))
                    allowed.set(numbers.get(thread));
            });
            for (Node link : LINKS)
                each(link, (thread, container) -> {
                    if (numbers.containsKey(thread))
                        climb(container, numbers.get(thread));
                });
            Map<Integer, Node> memory = memory();
            // Memory is not part of hwloc's tree.
            held.keySet().removeAll(members(term("NumaDomain")));
            return HostTree.tree(threads, allowed, new HashSet<>(held.values()), memory);
        }

        /**
         * The smallest NUMA domain of each thread.
         *
         * <p>Of two equally small domains, one with memory is preferred, then the one with the
         * lower number: Linux numbers high-bandwidth and CXL memory after ordinary memory.
         */
        private Map<Integer, Node> memory() {
            Map<Node, Integer> index = new HashMap<>();
            Set<Node> empty = new HashSet<>();
            each(term("osIndex"), (one, number) -> index.put(one, integer(number)));
            each(term("memorySize"), (one, size) -> {
                if (integer(size) == 0)
                    empty.add(one);
            });
            Map<Integer, Node> nearest = new HashMap<>();
            members(term("NumaDomain")).stream()
                    .sorted(Comparator.comparingInt((Node one) -> held.get(one).cardinality())
                            .thenComparing(empty::contains)
                            .thenComparingInt(one -> index.getOrDefault(one, 0)))
                    .forEach(one -> held.get(one).stream()
                            .forEach(cpu -> nearest.putIfAbsent(cpu, one)));
            return nearest;
        }

        private static int integer(Node literal) {
            return literal.getLiteralValue() instanceof Number number ? number.intValue() : 0;
        }

        private void readContainers() {
            for (Node kind : CONTAINERS)
                members(kind).forEach(one -> held.put(one, new BitSet()));
            each(term("cacheType"), (cache, type) -> {
                if (type.equals(term("InstructionCache")))
                    held.remove(cache);
            });
            each(term("isPartOf"), (one, container) -> {
                if (held.containsKey(one))
                    above.put(one, container);
            });
        }

        private Map<Integer, Node> readThreads() {
            Set<Node> known = members(term("HardwareThread"));
            Map<Integer, Node> threads = new HashMap<>();
            each(term("osIndex"), (thread, number) -> {
                if (known.contains(thread)) {
                    threads.put(integer(number), thread);
                    numbers.put(thread, integer(number));
                }
            });
            return threads;
        }

        /** Add a thread to a container and to everything that contains the container. */
        private void climb(Node container, int cpu) {
            Node at = container;
            while (held.containsKey(at) && !held.get(at).get(cpu)) {
                held.get(at).set(cpu);
                at = above.get(at);
            }
        }

        private Set<Node> members(Node kind) {
            Set<Node> found = new HashSet<>();
            dataset.find(graph, Node.ANY, RDF.type.asNode(), kind)
                    .forEachRemaining(quad -> found.add(quad.getSubject()));
            return found;
        }

        private void each(Node property, BiConsumer<Node, Node> work) {
            dataset.find(graph, Node.ANY, property, Node.ANY)
                    .forEachRemaining(quad -> work.accept(quad.getSubject(), quad.getObject()));
        }
    }
}
