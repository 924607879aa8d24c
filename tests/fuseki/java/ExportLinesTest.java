package org.w3id.supertwin.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Lines of an export, as VictoriaMetrics writes them. */
class ExportLinesTest {
    private static final String LINE = "{\"metric\":{\"__name__\":\"m\",\"instname\":\"a\\\"},{\u00e4\"},"
            + "\"values\":[1,-2.5,1e+21,null,\"Infinity\",\"-Infinity\"],"
            + "\"timestamps\":[0,1,1700000000000,3,4,5]}\n";

    /** An export that arrives in pieces of some bytes. */
    private static ExportLines export(String text, int piece) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return new ExportLines(new ByteArrayInputStream(bytes) {
            @Override
            public synchronized int read(byte[] into, int from, int length) {
                return super.read(into, from, Math.min(length, piece));
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 100_000})
    void linesAreReadWhateverThePiecesTheyArriveIn(int piece) throws IOException {
        ExportLines lines = export(LINE + LINE, piece);
        for (int line = 0; line < 2; line++) {
            assertTrue(lines.next());
            assertEquals(Map.of("__name__", "m", "instname", "a\"},{\u00e4"), lines.labels());
            assertEquals(List.of("1", "-2.5", "1e+21", "NaN", "Infinity", "-Infinity"),
                    IntStream.range(0, lines.count()).mapToObj(lines::value).toList());
            assertEquals(1_700_000_000_000L, lines.time(2));
        }
        assertFalse(lines.next());
    }

    @Test
    void lineMayHaveMoreSamplesThanTheLastOne() throws IOException {
        String many = "1" + ",1".repeat(4999), more = "2" + ",2".repeat(9999);
        String line = "{\"metric\":{},\"values\":[%s],\"timestamps\":[%s]}\n";
        ExportLines lines = export(line.formatted(many, many) + line.formatted(more, more), 4096);
        assertTrue(lines.next() && lines.next());
        assertEquals(10_000, lines.count());
        assertEquals("2", lines.value(9999));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "{\"metric\":{}", "{\"metric\":{},\"values\":[1,2],\"timestamps\":[1]}",
            "{\"values\":[],\"timestamps\":[]}", "{\"other\":1}", "[1]", "{\"values\":[1"})
    void unexpectedLineIsAnError(String line) {
        assertThrows(IOException.class, () -> export(line + "\n", 100).next());
    }

    @Test
    void lineThatIsCutOffIsAnError() {
        String cut = LINE.substring(0, LINE.length() - 1);
        assertThrows(IOException.class, () -> export(cut, 100).next());
    }
}
