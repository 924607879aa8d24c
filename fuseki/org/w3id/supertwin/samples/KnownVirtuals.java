package org.w3id.supertwin.samples;

import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.jena.graph.Node;

/** Compiled virtual telemetry, kept until the graph has another version. */
final class KnownVirtuals {
    private static final int MOST = 1000;
    private static final Map<Node, Known> ALL = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Node, Known> eldest) {
            return size() > MOST;
        }
    };

    private record Known(String version, Telemetry telemetry) {}

    private KnownVirtuals() {}

    /** What was compiled from this version of the graph; null if nothing was. */
    static synchronized Telemetry get(Node iri, String version) {
        Known known = ALL.get(iri);
        return known != null && known.version.equals(version) ? known.telemetry : null;
    }

    static synchronized void keep(Node iri, String version, Telemetry telemetry) {
        ALL.put(iri, new Known(version, telemetry));
    }
}
