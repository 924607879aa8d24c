package org.w3id.supertwin.samples;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.jena.atlas.json.JSON;
import org.apache.jena.atlas.json.JsonObject;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;

import org.w3id.supertwin.samples.Telemetry.Computed;
import org.w3id.supertwin.samples.Telemetry.Key;

/**
 * Compiles virtual telemetry into one expression of MetricsQL.
 *
 * <p>virtual_telemetry/check.py has checked the expression, and wrote it as a tree of JSON objects.
 * Its sets are queried here, each time, so that they are those of the graph now.
 */
final class Virtuals {
    private static final int DEEPEST = 50;
    // The period if there is not one sample: any will do.
    private static final long NO_PERIOD_MS = 60_000;

    /** Finds what a compilation needs; the graph and the series store are behind it. */
    interface Source {
        Telemetry find(Node iri);

        List<Node> members(String query);

        /** The milliseconds between two samples of a series; 0 if it has none. */
        long observedPeriod(Key key);
    }

    /** What the members of a group have in common. */
    private record Common(String series, long periodMs, String unit) {}

    private static final class EmptySet extends RuntimeException {
        private static final long serialVersionUID = 1;

        EmptySet() {
            super(null, null, false, false);
        }
    }

    private final Source source;
    private final Units units;
    private final Set<Node> open = new LinkedHashSet<>();
    private Set<String> hosts;
    private Set<Node> inputs;
    private boolean isPlanned;

    Virtuals(Source source, Units units) {
        this.source = source;
        this.units = units;
    }

    /** The telemetry with an expression; {@code unit} is empty if it has none. */
    Telemetry telemetry(Node iri, String tree, String unit) {
        if (!open.add(iri) || open.size() > DEEPEST)
            throw new SampleError(SampleError.Code.CYCLE, Times.text(iri)
                    + " is computed from itself: " + open.stream().map(Times::text)
                            .collect(Collectors.joining(" from ")) + "; change one of them");
        Set<String> outerHosts = hosts;
        Set<Node> outerInputs = inputs;
        boolean outerPlanned = isPlanned;
        hosts = new TreeSet<>();
        inputs = new LinkedHashSet<>();
        isPlanned = true;
        try {
            Computed computed = compile(JSON.parse(tree));
            return new Telemetry(new Key(iri.toString(), "", null), false, false,
                    isPlanned ? computed.gridMs() : 0, unit, computed);
        } finally {
            open.remove(iri);
            hosts = outerHosts;
            inputs = outerInputs;
            isPlanned = outerPlanned;
        }
    }

    private Computed compile(JsonObject tree) {
        String text = "";
        long grid = NO_PERIOD_MS;
        try {
            Part part = part(tree);
            grid = part.periods().filter(period -> period > 0).min().orElse(NO_PERIOD_MS);
            text = part.text(grid);
        } catch (EmptySet empty) {
            isPlanned = false;
        }
        Part.checkLength(text.getBytes(StandardCharsets.UTF_8).length);
        return new Computed(text, grid, Set.copyOf(hosts), List.copyOf(inputs));
    }

    private Part part(JsonObject tree) {
        if (tree.hasKey("number"))
            return new Parts.Constant(number(tree, "number"));
        if (tree.hasKey("operator"))
            return new Parts.Operation(text(tree, "operator"), part(tree.getObj("left")),
                    part(tree.getObj("right")));
        if (tree.hasKey("scale"))
            return new Parts.Converted(part(tree.getObj("of")),
                    new Units.Change(number(tree, "scale"), number(tree, "shift")));
        if (tree.hasKey("function"))
            return function(text(tree, "function"), tree.getObj("of"));
        return inputs(tree, "last_over_time", false);
    }

    private Part function(String name, JsonObject of) {
        return switch (name) {
            // Unlike rate, it has no value over a gap.
            case "rate" -> inputs(of, "irate", false);
            case "increase" -> inputs(of, "irate", true);
            case "derivative" -> new Parts.Difference(part(of), false);
            case "integral" -> new Parts.Difference(part(of), true);
            default -> new Parts.Aggregate(name, part(of));
        };
    }

    private Part inputs(JsonObject tree, String rollup, boolean toGrid) {
        String unit = text(tree, "unit");
        boolean isOne = tree.hasKey("input");
        List<Node> iris = isOne ? List.of(NodeFactory.createURI(text(tree, "input")))
                : source.members(text(tree, "set"));
        if (iris.isEmpty())
            throw new EmptySet();
        Map<Common, List<Key>> groups = new LinkedHashMap<>();
        for (Node iri : iris) {
            Telemetry found = source.find(iri);
            inputs.add(iri);
            if (found.computed() != null)
                return nested(iri, found, unit);
            check(iri, found, rollup);
            hosts.add(found.key().host());
            groups.computeIfAbsent(new Common(found.key().series(), found.periodMs(), found.unit()),
                    any -> new ArrayList<>()).add(found.key());
        }
        List<Inputs.Group> found = new ArrayList<>();
        groups.forEach((common, keys) -> {
            Units.Change change = units.change(common.unit, unit, iris.get(0));
            long period = common.periodMs > 0 ? common.periodMs : observed(keys.get(0));
            products(keys).forEach((selector, count) -> found.add(
                    new Inputs.Group(selector, rollup, toGrid, count, period, change)));
        });
        return new Inputs(found, isOne);
    }

    /** Virtual telemetry as the input of other virtual telemetry. */
    private Part nested(Node iri, Telemetry telemetry, String unit) {
        Computed computed = telemetry.computed();
        if (computed.isEmpty())
            throw new EmptySet();
        hosts.addAll(computed.hosts());
        isPlanned &= telemetry.periodMs() > 0;
        return new Inputs(List.of(new Inputs.Group(computed.expression(), "last_over_time", false,
                1, computed.gridMs(), units.change(telemetry.unit(), unit, iri))), true);
    }

    private long observed(Key key) {
        isPlanned = false;
        return source.observedPeriod(key);
    }

    private static void check(Node iri, Telemetry found, String rollup) {
        boolean isGrowth = rollup.equals("irate");
        if (found.isText() || found.isCounter() != isGrowth)
            throw SampleError.badCall("<" + iri + "> is " + (found.isText() ? "a text"
                    : isGrowth ? "not a counter" : "a counter")
                    + " now, so the virtual telemetry that computes with it cannot be read:"
                    + " define it again");
    }

    /**
     * The selectors of some series of one metric, with the number of each; a selector that names
     * several hosts and several instances finds all their combinations.
     */
    private static Map<String, Integer> products(List<Key> keys) {
        Map<String, Set<String>> byHost = new TreeMap<>();
        for (Key key : keys)
            byHost.computeIfAbsent(key.host(), any -> new TreeSet<>())
                    .add(key.instance() == null ? "" : key.instance());
        Map<Set<String>, Set<String>> hosts = new LinkedHashMap<>();
        byHost.forEach((host, instances) -> hosts
                .computeIfAbsent(instances, any -> new TreeSet<>()).add(host));
        Map<String, Integer> found = new LinkedHashMap<>();
        hosts.forEach((instances, some) -> found.put(
                Selector.ofProduct(keys.get(0).series(), some, instances),
                some.size() * instances.size()));
        return found;
    }

    private static String text(JsonObject tree, String key) {
        return tree.get(key).getAsString().value();
    }

    private static double number(JsonObject tree, String key) {
        return tree.get(key).getAsNumber().value().doubleValue();
    }
}
