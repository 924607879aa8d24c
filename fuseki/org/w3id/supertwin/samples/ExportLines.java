package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Map;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;

/** Reads /api/v1/export: each line is an object with some samples of one series. */
final class ExportLines implements AutoCloseable {
    private final InputStream body;
    private final JsonReader json;
    private Map<String, String> labels = Map.of();
    private String[] values = new String[1024];
    private long[] times = new long[1024];
    private int count;

    ExportLines(InputStream body) {
        this.body = body;
        json = new JsonReader(SeriesStore.utf8(body));
        // The body has several JSON documents, one after the other.
        json.setStrictness(Strictness.LENIENT);
    }

    /** Read the next line; false at the end. */
    boolean next() throws IOException {
        if (json.peek() == JsonToken.END_DOCUMENT)
            return false;
        json.beginObject();
        while (json.hasNext()) {
            switch (json.nextName()) {
                case "metric" -> labels = QueryAnswer.labels(json);
                case "values" -> readValues();
                case "timestamps" -> readTimes();
                default -> json.skipValue();
            }
        }
        json.endObject();
        return true;
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

    String value(int place) {
        return values[place];
    }

    private void readValues() throws IOException {
        count = 0;
        json.beginArray();
        while (json.hasNext()) {
            if (count == values.length)
                values = Arrays.copyOf(values, 2 * count);
            values[count++] = value();
        }
        json.endArray();
    }

    private String value() throws IOException {
        if (json.peek() != JsonToken.NULL)
            return json.nextString();
        json.nextNull();
        return "NaN";
    }

    private void readTimes() throws IOException {
        int read = 0;
        json.beginArray();
        while (json.hasNext()) {
            if (read == times.length)
                times = Arrays.copyOf(times, 2 * read);
            times[read++] = json.nextLong();
        }
        json.endArray();
    }

    @Override
    public void close() {
        try {
            // The JsonReader may be in use by another thread.
            body.close();
        } catch (IOException ignored) {
            // The connection has failed, so nothing is left to close.
        }
    }
}
