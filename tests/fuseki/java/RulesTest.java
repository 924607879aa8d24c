package org.w3id.supertwin.scopes;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Set;

import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.DatasetGraphFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.w3id.supertwin.scopes.Rules.Rule;

/** Which graphs and nodes a scope shows, by their IRIs. */
class RulesTest {
    private static final String BASE = "http://h";

    private static Rules rules(Set<String> hosts, Set<String> metrics) {
        return new Rules(new Scope(BASE, hosts, null, null, metrics),
                new Facts(DatasetGraphFactory.create()), new Owned(Set.of(), Map.of()));
    }

    @ParameterizedTest
    @CsvSource({"graph/twin/a, WHOLE", "graph/twin/b, HIDDEN", "graph/twin/a~20b, HIDDEN",
            "graph/plans/a/fast, WHOLE", "graph/plans/b/fast, HIDDEN", "graph/history/a/2/added, WHOLE",
            "graph/history/b/2/added, HIDDEN", "graph/metrics, WHOLE", "graph/ontology, WHOLE",
            "graph/pmu/x, WHOLE", "graph/entailed/a, WHOLE", "graph/entailed/b, HIDDEN",
            "graph/entailed/metrics, HIDDEN", "graph/entailed/metrics/~, WHOLE",
            "graph/entailed/plans/b, HIDDEN", "graph/entailed/pmu/x, WHOLE",
            "graph/observation/1, HIDDEN", "graph/baseline/x, HIDDEN", "graph/model/a/x, HIDDEN",
            "graph/benchmark/1, HIDDEN",
            "graph/twin, HIDDEN", "graph/new/a, HIDDEN", "graph/, HIDDEN", "twin/a, HIDDEN"})
    void graphsOfOtherHostsAndOfUnknownKindsAreHidden(String path, Rule rule) {
        assertEquals(rule, rules(Set.of("a"), null).graph(NodeFactory.createURI(BASE + "/" + path)));
    }

    @ParameterizedTest
    @CsvSource({"http://other/graph/twin/a", "urn:x-arq:DefaultGraph", "http://h2/graph/metrics"})
    void graphsOfOtherInstallationsAreHidden(String iri) {
        assertEquals(Rule.HIDDEN, rules(Set.of("a"), null).graph(NodeFactory.createURI(iri)));
    }

    @ParameterizedTest
    @CsvSource({"metric/mem.free, true", "metric/mem.free~~1f, true", "metric/memory, false",
            "metric/mem, false", "twin/a/telemetry/mem.free/~7E, true",
            "twin/a/telemetry/kernel.all/~, false", "twin/a/plan/p.mem.free, true",
            "twin/a/plan/mem.kernel.all, false", "observation/1/figure/energy, false",
            "twin/a/thread/0, true", "indom/60.0, true"})
    void nodesOfOtherMetricsAreHidden(String path, boolean shown) {
        assertEquals(shown, rules(null, Set.of("mem.*"))
                .shows(NodeFactory.createURI(BASE + "/" + path), false));
    }
}
