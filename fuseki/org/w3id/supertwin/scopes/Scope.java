package org.w3id.supertwin.scopes;

import java.util.Set;
import java.util.stream.Collectors;

import org.apache.jena.atlas.json.JSON;
import org.apache.jena.atlas.json.JsonObject;
import org.apache.jena.fuseki.servlets.ServletOps;

/**
 * What the caller of a query may see. A kind that is null limits nothing.
 *
 * @param base the start of the IRIs of instances
 * @param metrics names of metrics as in PCP, or prefixes that end with {@code .*}
 */
record Scope(String base, Set<String> hosts, Set<String> jobs, Set<String> users,
        Set<String> metrics) {
    private static final String WILDCARD = ".*";

    /** Read what the API sends: a JSON object with the base, and a list for each limited kind. */
    static Scope read(String text) {
        try {
            JsonObject sent = JSON.parse(text);
            return new Scope(sent.getString("base"), names(sent, "hosts"), names(sent, "jobs"),
                    names(sent, "users"), names(sent, "metrics"));
        } catch (RuntimeException wrong) {
            ServletOps.errorBadRequest("the parameter scope is not one of the API's");
            throw wrong;
        }
    }

    private static Set<String> names(JsonObject sent, String kind) {
        return !sent.hasKey(kind) ? null
                : sent.getArray(kind).map(one -> one.getAsString().value())
                        .collect(Collectors.toSet());
    }

    /** Whether only what belongs to some jobs or users is visible. */
    boolean isOwned() {
        return jobs != null || users != null;
    }

    boolean allowsMetric(String name) {
        return metrics == null || metrics.stream().anyMatch(one -> one.endsWith(WILDCARD)
                ? name.startsWith(one.substring(0, one.length() - 1))
                : name.equals(one));
    }
}
