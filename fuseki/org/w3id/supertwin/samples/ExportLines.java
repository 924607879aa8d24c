package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

import com.google.gson.stream.JsonReader;

/**
 * Reads /api/v1/export: each line is a JSON object with some samples of one series.
 *
 * <p>A JSON library would take several times as long for the numbers, so only the labels are read
 * by one.
 */
final class ExportLines implements AutoCloseable {
    private final InputStream body;
    private byte[] bytes = new byte[1 << 16];
    // The current line ends before `end`; `read` bytes are there.
    private int end;
    private int read;
    private int place;
    private Map<String, String> labels = Map.of();
    private int[] starts = new int[1024];
    private long[] times = new long[1024];
    private int count;

    ExportLines(InputStream body) {
        this.body = body;
    }

    /** Read the next line; false at the end. */
    boolean next() throws IOException {
        if (!readLine())
            return false;
        char before = '{';
        while (peek() != '}') {
            expect(before);
            readMember(text(skipText()));
            before = ',';
        }
        return true;
    }

    private void readMember(String name) throws IOException {
        expect(':');
        switch (name) {
            case "metric" -> readLabels();
            case "values" -> readValues();
            case "timestamps" -> readTimes();
            default -> throw unexpected();
        }
    }

    Map<String, String> labels() {
        return labels;
    }

    int count() {
        return count;
    }

    long time(int place) {
        return times[place];
    }

    /** The number as the store wrote it. */
    String value(int place) {
        int from = starts[place], to = starts[place + 1] - 1;
        if (bytes[from] == 'n')
            return "NaN";
        boolean quoted = bytes[from] == '"';
        return quoted ? text(from + 1, to - 1) : text(from, to);
    }

    /** Make the next line the current one; false at the end of the answer. */
    private boolean readLine() throws IOException {
        read -= end;
        System.arraycopy(bytes, end, bytes, 0, read);
        place = end = 0;
        do {
            if (end == read && !readMore()) {
                if (end > 0)
                    throw new IOException("the last line is incomplete");
                return false;
            }
        } while (bytes[end++] != '\n');
        return true;
    }

    private boolean readMore() throws IOException {
        if (read == bytes.length)
            bytes = Arrays.copyOf(bytes, 2 * read);
        int more = body.read(bytes, read, bytes.length - read);
        read += Math.max(0, more);
        return more > 0;
    }

    private void readLabels() throws IOException {
        int from = place;
        while (peek() != '}') {
            if (peek() == '"')
                skipText();
            else
                place++;
        }
        labels = QueryAnswer.labels(new JsonReader(new StringReader(text(from, ++place))));
    }

    private void readValues() throws IOException {
        count = 0;
        expect('[');
        while (bytes[place - 1] != ']') {
            if (count + 1 == starts.length)
                starts = Arrays.copyOf(starts, 2 * count + 2);
            starts[count++] = place;
            while (peek() != ',' && peek() != ']')
                place++;
            starts[count] = ++place;
        }
    }

    private void readTimes() throws IOException {
        int found = 0;
        expect('[');
        while (bytes[place - 1] != ']') {
            if (found == times.length)
                times = Arrays.copyOf(times, 2 * found);
            times[found++] = readTime();
            if (peek() != ',' && peek() != ']')
                throw unexpected();
            place++;
        }
        if (found != count)
            throw unexpected();
    }

    private long readTime() throws IOException {
        int from = place;
        long time = 0;
        for (; peek() >= '0' && peek() <= '9'; place++)
            time = 10 * time + peek() - '0';
        if (place == from)
            throw unexpected();
        return time;
    }

    /** Go past a text in quotes; returns where its content starts. */
    private int skipText() throws IOException {
        expect('"');
        int from = place;
        for (; peek() != '"'; place++)
            if (peek() == '\\')
                place++;
        place++;
        return from;
    }

    private String text(int from) {
        return text(from, place - 1);
    }

    private String text(int from, int to) {
        return new String(bytes, from, to - from, StandardCharsets.UTF_8);
    }

    /** The next byte; an error at the end of the line. */
    private byte peek() throws IOException {
        if (place >= end)
            throw unexpected();
        return bytes[place];
    }

    private void expect(char wanted) throws IOException {
        if (peek() != wanted)
            throw unexpected();
        place++;
    }

    private IOException unexpected() {
        return new IOException("byte " + place + " of a line of the export is unexpected");
    }

    @Override
    public void close() {
        try {
            // Another thread may be reading.
            body.close();
        } catch (IOException ignored) {
            // The connection has failed, so nothing is left to close.
        }
    }
}
