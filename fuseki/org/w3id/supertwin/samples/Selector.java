package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.w3id.supertwin.samples.Telemetry.Key;

/** Selectors of series in MetricsQL, in the notation of ontology/selectors.py. */
final class Selector {
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern RE2 = Pattern.compile("[\\\\.+*?()|\\[\\]{}^$]");
    // VictoriaMetrics refuses queries over 16 KiB, and some hold a selector four times.
    private static final int LONGEST = 3500;

    private Selector() {}

    /**
     * Selectors that together find the series of a metric with these keys.
     *
     * <p>A selector of several hosts also finds series whose host and instance are in different keys,
     * so a reader has to compare.
     */
    static List<String> of(String series, Collection<Key> keys) {
        List<String> found = new ArrayList<>();
        List<Key> some = new ArrayList<>();
        int length = 0;
        for (Key key : keys) {
            int size = escaped(pattern(key.host()) + pattern(text(key))).length() + 1;
            if (length + size > LONGEST && !some.isEmpty()) {
                found.add(one(series, some));
                some.clear();
                length = 0;
            }
            some.add(key);
            length += size;
        }
        found.add(one(series, some));
        return found;
    }

    /** The selector of all instances of a metric on some hosts. */
    static String ofHosts(String series, Collection<String> hosts) {
        return series + "{" + label("hostname", new TreeSet<>(hosts)) + "}";
    }

    private static String one(String series, Collection<Key> keys) {
        TreeSet<String> hosts = new TreeSet<>();
        TreeSet<String> instances = new TreeSet<>();
        for (Key key : keys) {
            hosts.add(key.host());
            instances.add(text(key));
        }
        boolean plain = NAME.matcher(series).matches();
        String name = plain ? "" : "__name__=\"" + escaped(series) + "\",";
        return (plain ? series : "") + "{" + name + label("hostname", hosts) + ","
                + label("instname", instances) + "}";
    }

    /** The label of a metric without instances is absent, which an empty one also matches. */
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
