package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.w3id.supertwin.samples.Telemetry.Key;

/** Selectors of series in MetricsQL, in the notation of ontology/selectors.py. */
final class Selector {
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern RE2 = Pattern.compile("[\\\\.+*?()|\\[\\]{}^$]");
    // VictoriaMetrics refuses queries over 16 KiB, and some hold a selector four times.
    private static final int LONGEST = 3500;

    private final TreeSet<String> names = new TreeSet<>();
    private final TreeSet<String> hosts = new TreeSet<>();
    private final TreeSet<String> instances = new TreeSet<>();
    private int length;

    private Selector() {}

    /**
     * Selectors that together find the series with these keys.
     *
     * <p>A selector can also find other series: those whose name, host and instance each occur in
     * some key, but not in the same one. The reader of the answer must leave them out.
     */
    static List<String> of(Collection<Key> keys) {
        List<String> found = new ArrayList<>();
        Selector some = new Selector();
        for (Key key : keys) {
            if (some.length + some.added(key) > LONGEST && some.length > 0) {
                found.add(some.text());
                some = new Selector();
            }
            some.length += some.added(key);
            some.names.add(key.series());
            some.hosts.add(key.host());
            some.instances.add(text(key));
        }
        found.add(some.text());
        return found;
    }

    /** How much longer a key makes the selector. */
    private int added(Key key) {
        return added(names, key.series()) + added(hosts, key.host())
                + added(instances, text(key));
    }

    private static int added(Set<String> values, String value) {
        return values.contains(value) ? 0 : escaped(pattern(value)).length() + 1;
    }

    private String text() {
        boolean plain = names.size() == 1 && NAME.matcher(names.first()).matches();
        return (plain ? names.first() + "{" : "{" + label("__name__", names) + ",")
                + label("hostname", hosts) + "," + label("instname", instances) + "}";
    }

    /** The selector of all instances of a metric on some hosts. */
    static String ofHosts(String series, Collection<String> hosts) {
        return series + "{" + label("hostname", new TreeSet<>(hosts)) + "}";
    }

    /** The selector of a metric for each of some hosts with each of some instances. */
    static String ofProduct(String series, Set<String> hosts, Set<String> instances) {
        Selector one = new Selector();
        one.names.add(series);
        one.hosts.addAll(hosts);
        one.instances.addAll(instances);
        return one.text();
    }

    /** The value of the label {@code instname}; an empty value also matches an absent label. */
    private static String text(Key key) {
        return key.instance() == null ? "" : key.instance();
    }

    private static String label(String name, TreeSet<String> values) {
        if (values.size() == 1)
            return name + "=\"" + escaped(values.first()) + "\"";
        List<String> patterns = values.stream().map(Selector::pattern).toList();
        return name + "=~\"" + escaped(String.join("|", patterns)) + "\"";
    }

    private static String pattern(String value) {
        return RE2.matcher(value).replaceAll("\\\\$0");
    }

    static String escaped(String value) {
        return value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    }
}
