package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;

import com.google.gson.stream.JsonReader;

import org.w3id.supertwin.samples.Telemetry.Key;

/** Reads the series and points in an answer of the Prometheus query API. */
final class QueryAnswer {
    /** Takes one point of a series. */
    interface Sink {
        void take(Map<String, String> labels, long ms, String value);
    }

    private QueryAnswer() {}

    /** Give all points of an answer to a sink. */
    static void read(SeriesStore store, InputStream body, Sink sink) {
        try (JsonReader json = new JsonReader(SeriesStore.utf8(body))) {
            json.beginObject();
            while (json.hasNext())
                readMember(json, sink);
            json.endObject();
        } catch (IOException error) {
            throw store.away(error);
        }
    }

    private static void readMember(JsonReader json, Sink sink) throws IOException {
        String name = json.nextName();
        if (name.equals("data")) {
            json.beginObject();
            while (json.hasNext())
                readData(json, sink);
            json.endObject();
        } else if (name.equals("isPartial")) {
            if (json.nextBoolean())
                throw new IOException("a part of its storage does not answer");
        } else {
            json.skipValue();
        }
    }

    private static void readData(JsonReader json, Sink sink) throws IOException {
        if (!json.nextName().equals("result")) {
            json.skipValue();
            return;
        }
        json.beginArray();
        while (json.hasNext())
            readSeries(json, sink);
        json.endArray();
    }

    private static void readSeries(JsonReader json, Sink sink) throws IOException {
        Map<String, String> labels = Map.of();
        json.beginObject();
        while (json.hasNext()) {
            switch (json.nextName()) {
                case "metric" -> labels = labels(json);
                case "value" -> readPoint(json, labels, sink);
                case "values" -> readPoints(json, labels, sink);
                default -> json.skipValue();
            }
        }
        json.endObject();
    }

    private static void readPoints(JsonReader json, Map<String, String> labels, Sink sink)
            throws IOException {
        json.beginArray();
        while (json.hasNext())
            readPoint(json, labels, sink);
        json.endArray();
    }

    private static void readPoint(JsonReader json, Map<String, String> labels, Sink sink)
            throws IOException {
        json.beginArray();
        long ms = Math.round(json.nextDouble() * 1000);
        sink.take(labels, ms, json.nextString());
        json.endArray();
    }

    static Map<String, String> labels(JsonReader json) throws IOException {
        Map<String, String> labels = new HashMap<>();
        json.beginObject();
        while (json.hasNext())
            labels.put(json.nextName(), json.nextString());
        json.endObject();
        return labels;
    }

    static Key key(String series, Map<String, String> labels) {
        return new Key(series, labels.get("hostname"), labels.get("instname"));
    }
}
