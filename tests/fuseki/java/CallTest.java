package org.w3id.supertwin.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.util.NodeFactoryExtra;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3id.supertwin.scopes.Ids;

/** Argument lists, times, selectors and ids, without servers. */
class CallTest {
    private static final Node TELEMETRY = NodeFactory.createURI("http://h/twin/n/telemetry/m/~");
    private static final long NOW = 1_700_000_000_000L;

    private static Call call(Function function, String... terms) {
        List<Node> list = List.of(terms).stream().map(CallTest::term).toList();
        return Call.read(function, TELEMETRY, list, NOW);
    }

    private static Node term(String text) {
        return text.startsWith("?") ? Var.alloc(text.substring(1))
                : NodeFactoryExtra.parseNode(text);
    }

    @ParameterizedTest
    @CsvSource({"'\"now\"', 0", "'\"now-1h\"', 3600000", "'\"now-1.5s\"', 1500",
            "'\"now-2y\"', 63072000000", "1699999999, 1000",
            "'\"2023-11-14T22:13:19Z\"^^xsd:dateTime', 1000",
            "'\"2023-11-14T22:13:19\"^^xsd:dateTime', 1000",
            "'\"2023-11-14T23:13:19+01:00\"^^xsd:dateTime', 1000"})
    void timesAreMillisecondsBeforeNow(String text, long before) {
        assertEquals(NOW - before, Times.time(term(text), NOW, "the end"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"1m\"", "60", "60.0", "\"PT1M\"^^xsd:duration"})
    void stepIsThirdArgumentWithValue(String step) {
        Call.Range range = call(Function.AVG, "0", "600", step, "?t", "?v").range();
        assertEquals(60_000, range.stepMs());
        assertEquals(10, range.steps());
        assertEquals(600_000, range.end(9));
    }

    @Test
    void windowsLeaveOutTheRestOfTheRange() {
        Call.Range range = call(Function.AVG, "0", "100", "30", "?t", "?v").range();
        assertEquals(90_000, range.end(range.steps() - 1));
    }

    @Test
    void coverageIsTwoOrThreeMoreOutputs() {
        assertEquals(2, call(Function.MAX, "0", "9", "?v", "?p", "?e").coverage());
        assertEquals(3, call(Function.MAX, "0", "9", "3", "?t", "?v", "?p", "?e", "?w").coverage());
        assertEquals(0, call(Function.MAX, "0", "9", "?v").coverage());
    }

    @Test
    void unboundSubjectIsAnError() {
        List<Node> list = List.of(Var.alloc("v"));
        SampleError error = assertThrows(SampleError.class,
                () -> Call.read(Function.LAST, Var.alloc("t"), list, NOW));
        assertEquals(SampleError.Code.BAD_CALL, error.code);
    }

    @Test
    void selectorEscapesQuotesAndExpressions() {
        List<String> found = Selector.of(List.of(new Telemetry.Key("m", "n", "a\"b"),
                new Telemetry.Key("m", "n", "c|d")));
        assertEquals(List.of("m{hostname=\"n\",instname=~\"a\\\"b|c\\\\|d\"}"), found);
    }

    @Test
    void selectorOfSeveralMetricsNamesThem() {
        List<String> found = Selector.of(List.of(new Telemetry.Key("m", "n", null),
                new Telemetry.Key("k", "n", "a")));
        assertEquals(List.of("{__name__=~\"k|m\",hostname=\"n\",instname=~\"|a\"}"), found);
    }

    @Test
    void longListsOfInstancesAreSplit() {
        List<Telemetry.Key> keys = java.util.stream.IntStream.range(0, 1000)
                .mapToObj(i -> new Telemetry.Key("m", "n", "instance" + i)).toList();
        assertEquals(4, Selector.of(keys).size());
    }

    @ParameterizedTest
    @CsvSource({"cpu0, cpu0", "1~20minute, 1 minute", "~C3~A9, \u00e9", "a~2Fb, a/b"})
    void idsAreDecoded(String segment, String text) {
        assertEquals(text, Ids.decoded(segment));
    }

    @ParameterizedTest
    @CsvSource({"1, integer", "-7, integer", "12345678901, integer",
            "-1234567890123456789, integer", "98765432109876543210, integer", "0.5, double",
            "1e+20, double", "INF, double"})
    void numbersKeepTheirText(String text, String type) {
        Node literal = Numbers.literal(text);
        assertEquals(text, literal.getLiteralLexicalForm());
        assertEquals(type, literal.getLiteralDatatypeURI().replaceAll(".*#", ""));
        Node parsed = NodeFactory.createLiteralDT(text, literal.getLiteralDatatype());
        assertEquals(parsed.getLiteralValue(), literal.getLiteralValue());
    }

    @ParameterizedTest
    @CsvSource({"0, 1970-01-01T00:00:00.000Z", "1700000000123, 2023-11-14T22:13:20.123Z",
            "951782399999, 2000-02-28T23:59:59.999Z"})
    void timesAreWrittenWithMilliseconds(long ms, String text) {
        assertEquals(text, new TimeLiterals().literal(ms).getLiteralLexicalForm());
    }

    @Test
    void expectedSamplesAreTheTicksAfterTheStart() {
        Telemetry telemetry = new Telemetry(new Telemetry.Key("m", "n", null), false, false, 10, "", null);
        assertEquals(3, telemetry.expected(20, 50));
        assertEquals(3, telemetry.expected(25, 55));
    }
}
