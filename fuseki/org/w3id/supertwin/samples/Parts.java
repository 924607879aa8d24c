package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The parts of an expression that compute with others. */
final class Parts {
    private static final String LABEL = "supertwin_group";

    private Parts() {}

    /** The MetricsQL for the values of an expression in another unit. */
    static String scaled(String text, double scale) {
        return scale == 1 ? text : "(" + text + " * " + Part.number(scale) + ")";
    }

    record Constant(double value) implements Part {
        @Override
        public List<Part> operands() {
            return List.of();
        }

        @Override
        public List<Vector> vectors(long gridMs) {
            return List.of(new Vector(Part.number(value), 1));
        }
    }

    record Operation(String operator, Part left, Part right) implements Part {
        @Override
        public List<Part> operands() {
            return List.of(left, right);
        }

        @Override
        public List<Vector> vectors(long gridMs) {
            return List.of(new Vector("(" + left.text(gridMs) + " " + operator + " "
                    + right.text(gridMs) + ")", 1));
        }
    }

    /** Values in another unit. */
    record Converted(Part of, double scale) implements Part {
        @Override
        public List<Part> operands() {
            return List.of(of);
        }

        @Override
        public List<Vector> vectors(long gridMs) {
            return of.vectors(gridMs).stream().map(one -> one.map(text -> scaled(text, scale))).toList();
        }
    }

    /** The derivative or the integral between each time of the grid and the one before. */
    record Difference(Part of, boolean isIntegral) implements Part {
        @Override
        public List<Part> operands() {
            return List.of(of);
        }

        @Override
        public List<Vector> vectors(long gridMs) {
            String seconds = Part.seconds(gridMs);
            String how = isIntegral ? " + %s) / 2 * " + seconds : " - %s) / " + seconds;
            return of.vectors(gridMs).stream().map(one -> one.map(text -> "((" + text
                    + String.format(how, "(" + text + " offset " + gridMs + "ms)") + ")"))
                    .toList();
        }
    }

    /** One series from a set; it has a value where all members have one. */
    record Aggregate(String function, Part of) implements Part {
        @Override
        public List<Part> operands() {
            return List.of(of);
        }

        @Override
        public List<Vector> vectors(long gridMs) {
            List<Vector> members = of.vectors(gridMs);
            return List.of(new Vector(switch (function) {
                case "sum" -> sum(members);
                case "avg" -> members.size() == 1 ? complete("avg", members.get(0))
                        : "(" + sum(members) + " / " + count(members) + ")";
                case "count" -> members.size() == 1 ? "count(" + members.get(0).text() + ")"
                        : "sum(" + union(members, "count") + ")";
                default -> extreme(members);
            }, 1));
        }

        private static String sum(List<Vector> members) {
            return members.stream().map(one -> complete("sum", one))
                    .collect(Collectors.joining(" + ", "(", ")"));
        }

        private String extreme(List<Vector> members) {
            if (members.size() == 1)
                return complete(function, members.get(0));
            return complete(function,
                    new Vector(union(members, function), members.size()));
        }

        /** The aggregate of a vector where all its series have a value. */
        private static String complete(String function, Vector vector) {
            String value = function + "(" + vector.text() + ")";
            return vector.count() == 1 ? value
                    : "(" + value + " if (count(" + vector.text() + ") == " + vector.count() + "))";
        }

        /** The aggregates of several vectors as one. */
        private static String union(List<Vector> members, String function) {
            List<String> found = new ArrayList<>();
            for (Vector one : members) {
                String value = function.equals("count") ? "count(" + one.text() + ")"
                        : complete(function, one);
                found.add("label_set(" + value + ",\"" + LABEL + "\",\"" + found.size() + "\")");
            }
            return "union(" + String.join(",", found) + ")";
        }

        private static int count(List<Vector> members) {
            return members.stream().mapToInt(Vector::count).sum();
        }
    }
}
