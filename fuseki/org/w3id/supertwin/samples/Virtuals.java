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
    // Including those of virtual telemetry that is an input.
    private static final int DEEPEST = 300;
    private static final int MOST_OBSERVED = 10;
    // VictoriaMetrics computes 100,000 values in a window, and always those of five minutes before.
    private static final long FINEST_MS = 10;
    // The period if there is not one sample: any will do.
    private static final long NO_PERIOD_MS = 60_000;

    /** Finds what a compilation needs; the graph and the series store are behind it. */
    interface Source {
        Telemetry find(Node iri);

        List<Node> members(String query);

        /** The milliseconds between two samples of a series; 0 if it has none. */
        long observedPeriod(Key key);
    }

    /** What is computed from the samples of an input. */
    private enum Use {
        // Unlike rate, irate has no value over a gap.
        VALUE("last_over_time"), COUNT("last_over_time"), RATE("irate"), INCREASE("irate");

        private final String rollup;

        Use(String rollup) {
            this.rollup = rollup;
        }

        void check(Node iri, Telemetry found) {
            boolean isGrowth = this == RATE || this == INCREASE;
            boolean fits = this == COUNT || found.isCounter() == isGrowth;
            if (found.isText() || !fits)
                throw SampleError.badCall("<" + iri + "> is " + (found.isText() ? "a text"
                        : isGrowth ? "not a counter" : "a counter") + " now: define the virtual"
                        + " telemetry that computes with it again");
        }
    }

    /** What the members of a group have in common. */
    private record Common(String series, long periodMs, String unit) {}

    private record Member(Node iri, Telemetry telemetry) {
        Common common() {
            return new Common(telemetry.key().series(), telemetry.periodMs(), telemetry.unit());
        }
    }

    /** What a compilation finds on its way through a tree. */
    private static final class Found {
        private final Set<String> hosts = new TreeSet<>();
        private final Set<Node> inputs = new LinkedHashSet<>();
        private boolean isPlanned = true;
    }

    private static final class EmptySet extends RuntimeException {
        private static final long serialVersionUID = 1;

        EmptySet() {
            super(null, null, false, false);
        }
    }

    private final Source source;
    private final Units units;
    private final Set<Node> open = new LinkedHashSet<>();
    private Found found = new Found();

    Virtuals(Source source, Units units) {
        this.source = source;
        this.units = units;
    }

    /** The telemetry with an expression; {@code unit} is empty if it has none. */
    Telemetry telemetry(Node iri, String tree, String unit) {
        enter(iri);
        Found outer = found;
        found = new Found();
        try {
            Computed computed = compile(Tree.parse(tree));
            return new Telemetry(new Key(iri.toString(), "", null), false, false,
                    found.isPlanned ? computed.gridMs() : 0, unit, computed);
        } catch (SampleError error) {
            throw open.size() == 1 && iri.isURI() ? error.of(iri) : error;
        } finally {
            open.remove(iri);
            found = outer;
        }
    }

    private void enter(Node iri) {
        if (open.size() == DEEPEST)
            throw tooDeep();
        if (!open.add(iri))
            throw new SampleError(SampleError.Code.CYCLE, Times.text(iri)
                    + " is computed from itself: " + open.stream().filter(Node::isURI)
                            .map(Times::text).collect(Collectors.joining(" from "))
                    + "; change one of them");
    }

    private static SampleError tooDeep() {
        return new SampleError(SampleError.Code.TOO_MANY, "an expression has more than " + DEEPEST
                + " parts in each other, with those of the virtual telemetry in it; define it with"
                + " fewer");
    }

    private Computed compile(Tree tree) {
        Part part = null;
        String text = "";
        long grid = NO_PERIOD_MS, slowest = NO_PERIOD_MS;
        try {
            part = part(tree);
            if (part.depth() > DEEPEST)
                throw tooDeep();
            grid = Math.max(FINEST_MS,
                    part.periods().filter(period -> period > 0).min().orElse(NO_PERIOD_MS));
            slowest = part.periods().max().orElse(grid);
            text = part.text(grid);
        } catch (EmptySet empty) {
            found.isPlanned = false;
        }
        Part.checkLength(text.getBytes(StandardCharsets.UTF_8).length);
        return new Computed(part, text, grid, slowest, Set.copyOf(found.hosts),
                List.copyOf(found.inputs));
    }

    private Part part(Tree tree) {
        if (tree.has("number"))
            return new Parts.Constant(tree.number("number"));
        if (tree.has("operator"))
            return new Parts.Operation(tree.operator(), part(tree.child("left")),
                    part(tree.child("right")));
        if (tree.has("scale"))
            return new Parts.Converted(part(tree.child("of")), tree.number("scale"));
        if (tree.has("function"))
            return function(tree.text("function"), tree.child("of"));
        return inputs(tree, Use.VALUE);
    }

    private Part function(String name, Tree of) {
        return switch (name) {
            case "rate" -> inputs(of, Use.RATE);
            case "increase" -> inputs(of, Use.INCREASE);
            case "derivative" -> new Parts.Difference(part(of), false);
            case "integral" -> new Parts.Difference(part(of), true);
            case "count" -> new Parts.Aggregate(name,
                    of.has("set") ? inputs(of, Use.COUNT) : part(of));
            case "sum", "avg", "min", "max" -> new Parts.Aggregate(name, part(of));
            default -> throw Tree.wrong("\"function\" is not one of those of expressions");
        };
    }

    private Part inputs(Tree tree, Use use) {
        String unit = use == Use.COUNT ? "" : tree.text("unit");
        if (!tree.has("input"))
            return new Inputs(groups(members(tree.text("set"), use), unit, use), false);
        Member one = member(NodeFactory.createURI(tree.text("input")), use);
        return one.telemetry.computed() != null ? nested(one, unit)
                : new Inputs(groups(List.of(one), unit, use), true);
    }

    private List<Member> members(String query, Use use) {
        List<Member> members = new ArrayList<>();
        for (Node iri : source.members(query)) {
            Member one = member(iri, use);
            if (one.telemetry.computed() != null)
                throw SampleError.badCall("<" + iri + "> is a member of a set: sets are of stored"
                        + " series only; name virtual telemetry by its IRI");
            members.add(one);
        }
        if (members.isEmpty())
            throw new EmptySet();
        return members;
    }

    private Member member(Node iri, Use use) {
        found.inputs.add(iri);
        Telemetry telemetry = source.find(iri);
        use.check(iri, telemetry);
        if (telemetry.computed() == null)
            found.hosts.add(telemetry.key().host());
        return new Member(iri, telemetry);
    }

    /** Virtual telemetry as an input of other: the same as its expression in brackets. */
    private Part nested(Member one, String unit) {
        Computed computed = one.telemetry.computed();
        if (computed.isEmpty())
            throw new EmptySet();
        found.hosts.addAll(computed.hosts());
        found.isPlanned &= one.telemetry.periodMs() > 0;
        return new Parts.Converted(computed.part(),
                units.scale(one.telemetry.unit(), unit, one.iri));
    }

    private List<Inputs.Group> groups(List<Member> members, String unit, Use use) {
        Map<Common, List<Member>> all = members.stream().collect(Collectors
                .groupingBy(Member::common, LinkedHashMap::new, Collectors.toList()));
        List<Inputs.Group> groups = new ArrayList<>();
        all.forEach((common, some) -> {
            double scale = use == Use.COUNT ? 1 : units.scale(common.unit, unit, some.get(0).iri);
            long period = common.periodMs > 0 ? common.periodMs : observed(some);
            List<Key> keys = some.stream().map(one -> one.telemetry.key()).toList();
            products(keys).forEach((selector, count) -> groups.add(new Inputs.Group(selector,
                    use.rollup, use == Use.INCREASE, count, period, scale)));
        });
        return groups;
    }

    /** The period of series of one metric that no plan samples: that of the first with samples. */
    private long observed(List<Member> members) {
        found.isPlanned = false;
        return members.stream().limit(MOST_OBSERVED)
                .mapToLong(one -> source.observedPeriod(one.telemetry.key()))
                .filter(period -> period > 0).findFirst().orElse(0);
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
}
