package org.w3id.supertwin.samples;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Why points are missing in each window, according to the account of each host.
 *
 * <p>The account counts all points that were expected from a host, and the missing ones by reason.
 * The bridge stores it as series: see docs/reference/sampling.md.
 */
final class Account {
    private static final String MISSING = "supertwin_bridge_points_missing";
    private static final String EXPECTED = "supertwin_bridge_points_expected";
    private static final String NO_ACCOUNT = "no account", UNKNOWN = "not in the account";

    private record Window(String host, int step) {}

    private final Map<Window, Map<String, Long>> reasons = new HashMap<>();
    private final Set<Window> kept = new HashSet<>();

    /** The MetricsQL for the accounts of a batch's hosts: missing points, and expected ones. */
    static String query(Batch batch) {
        long window = batch.common.range().windowMs();
        return "union((" + increase(MISSING, batch, window) + ") > 0,"
                + increase(EXPECTED, batch, window) + ")";
    }

    private static String increase(String series, Batch batch, long window) {
        return Function.INCREASE.expression(Selector.ofHosts(series, batch.hosts()), window, 0);
    }

    void add(Map<String, String> labels, int step, double points) {
        Window window = new Window(labels.get("hostname"), step);
        String reason = labels.get("instname");
        kept.add(window);
        if (reason != null)
            reasons.computeIfAbsent(window, any -> new TreeMap<>()).put(reason,
                    Math.round(points));
    }

    /** The reasons in a window for some hosts; with several, each after the name of its host. */
    String why(Set<String> hosts, int step) {
        if (hosts.size() == 1)
            return why(hosts.iterator().next(), step);
        return new TreeSet<>(hosts).stream().map(host -> host + ": " + why(host, step))
                .collect(Collectors.joining("; "));
    }

    /** The reasons in a window, each with the number of points that the host lacks for it. */
    private String why(String host, int step) {
        Window window = new Window(host, step);
        if (!kept.contains(window))
            return NO_ACCOUNT;
        Map<String, Long> found = reasons.get(window);
        if (found == null)
            return UNKNOWN;
        return String.join(", ", found.entrySet().stream()
                .map(one -> one.getKey() + " " + one.getValue()).toList());
    }
}
