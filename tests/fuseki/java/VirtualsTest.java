package org.w3id.supertwin.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.DatasetGraphFactory;
import org.junit.jupiter.api.Test;

import org.w3id.supertwin.samples.Telemetry.Computed;
import org.w3id.supertwin.samples.Telemetry.Key;

/** Expressions of MetricsQL for trees of expressions. */
class VirtualsTest {
    private static final String LAST = "last_over_time";

    private final Map<Node, Telemetry> known = new HashMap<>();
    private final Map<Node, String> trees = new HashMap<>();
    private List<Node> members = List.of();
    private final Virtuals virtuals = new Virtuals(new Virtuals.Source() {
        @Override
        public Telemetry find(Node iri) {
            return trees.containsKey(iri) ? virtuals().telemetry(iri, trees.get(iri), "")
                    : known.get(iri);
        }

        @Override
        public List<Node> members(String query) {
            return members;
        }

        @Override
        public long observedPeriod(Key key) {
            return "absent".equals(key.instance()) ? 0 : 5000;
        }
    }, new Units(DatasetGraphFactory.create()));

    private Virtuals virtuals() {
        return virtuals;
    }

    private static Node iri(String name) {
        return NodeFactory.createURI("urn:" + name);
    }

    private Node series(String metric, String host, String instance, boolean counter,
            long period) {
        Node iri = iri(metric + "-" + host + "-" + instance);
        known.put(iri, new Telemetry(new Key(metric, host, instance), counter, false, period, "",
                null));
        return iri;
    }

    private Computed compiled(String tree) {
        return virtuals.telemetry(iri("v"), tree, "").computed();
    }

    private static String input(Node iri) {
        return "{\"input\":\"" + iri + "\",\"unit\":\"\"}";
    }

    private static String of(String function, String tree) {
        return "{\"function\":\"" + function + "\",\"of\":" + tree + "}";
    }

    private static final String SET = "{\"set\":\"SELECT ?telemetry {}\",\"unit\":\"\"}";

    @Test
    void oneInputHasNoLabels() {
        Computed found = compiled(input(series("m", "n1", "cpu0", false, 1000)));
        assertEquals("sum(" + LAST + "(m{hostname=\"n1\",instname=\"cpu0\"}[1000ms]))",
                found.expression());
        assertEquals(1000, found.gridMs());
    }

    @Test
    void sumNeedsAllMembers() {
        members = IntStream.range(0, 3).mapToObj(n -> series("m", "n1", "cpu" + n, true, 1000))
                .toList();
        String rates = "irate(m{hostname=\"n1\",instname=~\"cpu0|cpu1|cpu2\"}[1000ms])";
        assertEquals("((sum(" + rates + ") if (count(" + rates + ") == 3)))",
                compiled(of("sum", of("rate", SET))).expression());
    }

    @Test
    void selectorsFindNoOtherCombinations() {
        members = List.of(series("m", "n1", "a", false, 1000), series("m", "n2", "b", false, 1000));
        String found = compiled(of("sum", SET)).expression();
        assertTrue(found.contains("{hostname=\"n1\",instname=\"a\"}"), found);
        assertTrue(found.contains("{hostname=\"n2\",instname=\"b\"}"), found);
        members = List.of(series("m", "n1", "a", false, 1000), series("m", "n2", "a", false, 1000));
        found = compiled(of("sum", SET)).expression();
        assertTrue(found.contains("{hostname=~\"n1|n2\",instname=\"a\"}"), found);
    }

    @Test
    void longerPeriodIsInterpolated() {
        String fast = input(series("f", "n1", null, false, 1000));
        String slow = input(series("s", "n1", null, false, 10_000));
        Computed found = compiled("{\"operator\":\"+\",\"left\":" + fast + ",\"right\":" + slow
                + "}");
        String window = LAST + "(s{hostname=\"n1\",instname=\"\"}[10000ms]";
        assertEquals("(sum(" + LAST + "(f{hostname=\"n1\",instname=\"\"}[1000ms])) + sum(("
                + window + ") * (1 - time() % 10 / 10) + " + window
                + " offset -9999ms) * (time() % 10 / 10))))", found.expression());
        assertEquals(1000, found.gridMs());
    }

    @Test
    void periodOfUnplannedSeriesIsThatOfSamples() {
        Node iri = series("m", "n1", null, false, 0);
        Telemetry found = virtuals.telemetry(iri("v"), input(iri), "");
        assertEquals(5000, found.computed().gridMs());
        assertEquals(0, found.periodMs());
    }

    @Test
    void setWithoutMembersHasNoExpression() {
        assertTrue(compiled(of("sum", SET)).isEmpty());
    }

    @Test
    void otherKindOfSeriesIsRefused() {
        String counter = input(series("c", "n1", null, true, 1000));
        String gauge = input(series("g", "n1", null, false, 1000));
        assertThrows(SampleError.class, () -> compiled(counter));
        assertThrows(SampleError.class, () -> compiled(of("rate", gauge)));
    }

    @Test
    void setHasNoVirtualMember() {
        trees.put(iri("w"), input(series("m", "n1", null, false, 1000)));
        members = List.of(iri("w"));
        SampleError error =
                assertThrows(SampleError.class, () -> compiled(of("sum", SET)));
        assertEquals(SampleError.Code.BAD_CALL, error.code);
    }

    @Test
    void virtualTelemetryIsComputedOnTheGridOfTheOuterOne() {
        String slow = input(series("s", "n1", null, false, 10_000));
        String fast = input(series("f", "n1", null, false, 1000));
        trees.put(iri("w"), of("integral", slow));
        String plus = "{\"operator\":\"+\",\"left\":%s,\"right\":" + fast + "}";
        assertEquals(compiled(String.format(plus, trees.get(iri("w")))).expression(),
                compiled(String.format(plus, input(iri("w")))).expression());
    }

    @Test
    void chainThatIsNotTooLongIsNotACycle() {
        trees.put(iri("0"), input(series("m", "n1", null, false, 1000)));
        for (int n = 1; n <= 400; n++)
            trees.put(iri("" + n), input(iri("" + (n - 1))));
        assertEquals(compiled(trees.get(iri("0"))).expression(),
                compiled(trees.get(iri("100"))).expression());
        SampleError error =
                assertThrows(SampleError.class, () -> compiled(trees.get(iri("400"))));
        assertEquals(SampleError.Code.TOO_MANY, error.code);
    }

    @Test
    void membersOfASetWithoutAPlanHaveThePeriodOfTheFirstWithSamples() {
        members = List.of(series("m", "n1", "absent", false, 0), series("m", "n1", "b", false, 0));
        assertEquals(5000, compiled(of("sum", SET)).gridMs());
    }

    @Test
    void errorOfUnitsNamesTheMember() {
        Node watts = series("w", "n1", null, false, 1000);
        known.put(watts, new Telemetry(known.get(watts).key(), false, false, 1000, "urn:W", null));
        members = List.of(series("m", "n1", null, false, 1000), watts);
        SampleError error =
                assertThrows(SampleError.class, () -> compiled(of("sum", SET)));
        assertTrue(error.getMessage().contains(watts.toString()), error.getMessage());
    }

    @Test
    void countersAreCounted() {
        members = List.of(series("c", "n1", null, true, 1000));
        assertTrue(compiled(of("count", SET)).expression().startsWith("count(" + LAST));
    }

    @Test
    void cycleIsRefused() {
        trees.put(iri("v"), input(iri("w")));
        trees.put(iri("w"), input(iri("v")));
        SampleError error =
                assertThrows(SampleError.class, () -> compiled(trees.get(iri("v"))));
        assertEquals(SampleError.Code.CYCLE, error.code);
    }

    @Test
    void unitThatIsNotInTheGraphDoesNotConvert() {
        String tree = input(series("m", "n1", null, false, 1000)).replace("\"unit\":\"\"",
                "\"unit\":\"urn:W\"");
        SampleError error = assertThrows(SampleError.class, () -> compiled(tree));
        assertEquals(SampleError.Code.UNITS, error.code);
    }

    @Test
    void functionsThatAreNestedDeeplyAreRefusedBeforeTheirTextIsWritten() {
        String tree = input(series("m", "n1", null, false, 1000));
        for (int depth = 0; depth < 30; depth++)
            tree = of(depth % 2 == 0 ? "derivative" : "integral", tree);
        String nested = tree;
        SampleError error = assertThrows(SampleError.class, () -> compiled(nested));
        assertEquals(SampleError.Code.TOO_MANY, error.code);
    }

    @Test
    void tooLongExpressionIsRefused() {
        members = IntStream.range(0, 2000).mapToObj(n -> series("m", "n1", "cpu" + n, false, 1000))
                .toList();
        SampleError error =
                assertThrows(SampleError.class, () -> compiled(of("sum", SET)));
        assertEquals(SampleError.Code.TOO_MANY, error.code);
    }
}
