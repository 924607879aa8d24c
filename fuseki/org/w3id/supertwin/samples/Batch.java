package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.engine.binding.BindingBuilder;
import org.apache.jena.sparql.engine.binding.BindingFactory;

import org.w3id.supertwin.samples.Telemetry.Key;

/** Rows of a query that one request serves: the same metric and range, or last values. */
final class Batch {
    /**
     * What the rows of a batch have in common; {@code series} is null for last values, except those
     * of virtual telemetry.
     */
    record Common(String series, boolean isText, Call.Range range, int coverage,
            List<Threshold> thresholds) {
        boolean hasCoverage() {
            return coverage > 0;
        }

        boolean hasReason() {
            return coverage == 3;
        }
    }

    /** One input row of the function, and the outputs that the function binds in it. */
    record Row(Binding binding, List<Node> outputs, Telemetry telemetry) {
        /** The row with its outputs bound; null if an output already has a different value. */
        Binding bind(Node... values) {
            if (outputs.size() == 2 && isFree() && values[0] != null && values[1] != null)
                return BindingFactory.binding(binding, Var.alloc(outputs.get(0)), values[0],
                        Var.alloc(outputs.get(1)), values[1]);
            BindingBuilder built = Binding.builder(binding);
            for (int i = 0; i < outputs.size(); i++) {
                Node output = outputs.get(i), value = values[i];
                if (value == null)
                    continue;
                Node known = output.isVariable() ? built.get(Var.alloc(output)) : output;
                if (known == null)
                    built.add(Var.alloc(output), value);
                else if (!known.sameValueAs(value))
                    return null;
            }
            return built.build();
        }

        /** Whether both outputs are variables, and different ones. */
        private boolean isFree() {
            Node first = outputs.get(0), second = outputs.get(1);
            return first.isVariable() && second.isVariable() && !first.equals(second);
        }
    }

    final Common common;
    final Map<Key, List<Row>> rows = new LinkedHashMap<>();

    Batch(Common common) {
        this.common = common;
    }

    void add(Row row) {
        rows.computeIfAbsent(row.telemetry().key(), key -> new ArrayList<>()).add(row);
    }

    /** How virtual telemetry is computed; null for all other. */
    Telemetry.Computed computed() {
        return rows.values().iterator().next().get(0).telemetry().computed();
    }

    List<String> selectors() {
        return Selector.of(rows.keySet());
    }

    /** The hosts of its series. */
    Set<String> hosts() {
        return rows.values().stream().flatMap(some -> some.get(0).telemetry().hosts().stream())
                .collect(Collectors.toSet());
    }
}
