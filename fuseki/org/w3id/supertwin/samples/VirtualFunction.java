package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.QueryIterator;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.engine.binding.BindingFactory;
import org.apache.jena.sparql.engine.iterator.QueryIterPlainWrapper;
import org.apache.jena.sparql.pfunction.PropFuncArg;
import org.apache.jena.sparql.pfunction.PropFuncArgType;
import org.apache.jena.sparql.pfunction.PropertyFunctionEval;
import org.apache.jena.sparql.pfunction.PropertyFunctionRegistry;
import org.apache.jena.vocabulary.RDF;

import org.w3id.supertwin.samples.Telemetry.Computed;

/**
 * The functions {@code ?virtual st:derivedFrom ?telemetry} and {@code ?virtual st:metricsQl ?text}.
 *
 * <p>Virtual telemetry that cannot be computed any more, as the graph has changed, has no text, and
 * the inputs that it names: one wrong definition must not break a list of all.
 *
 * <p>Instead of virtual telemetry, the subject may be the tree of an expression. That is how
 * virtual_telemetry/definitions.py tries an expression before it writes it.
 */
final class VirtualFunction extends PropertyFunctionEval {
    private static final String NAMESPACE = "https://w3id.org/supertwin/ns#";

    private final String name;
    private final SeriesStore store;
    private final Function<Computed, List<Node>> values;
    private final BiFunction<Catalogue, Node, Collection<Node>> whenBroken;

    private VirtualFunction(String name, SeriesStore store, Function<Computed, List<Node>> values,
            BiFunction<Catalogue, Node, Collection<Node>> whenBroken) {
        // Either, so that the error of a list has a code.
        super(PropFuncArgType.PF_ARG_EITHER, PropFuncArgType.PF_ARG_EITHER);
        this.name = name;
        this.store = store;
        this.values = values;
        this.whenBroken = whenBroken;
    }

    /** Make both functions known to Jena. */
    static void register(SeriesStore store) {
        register("derivedFrom", store, Computed::inputs, Catalogue::named);
        register("metricsQl", store, VirtualFunction::averaged, (catalogue, iri) -> List.of());
    }

    private static void register(String name, SeriesStore store,
            Function<Computed, List<Node>> values,
            BiFunction<Catalogue, Node, Collection<Node>> whenBroken) {
        PropertyFunctionRegistry.get().put(NAMESPACE + name,
                iri -> new VirtualFunction("st:" + name, store, values, whenBroken));
    }

    /** The average in each step of a query, or the values if they are not as frequent. */
    private static List<Node> averaged(Computed computed) {
        if (computed.isEmpty())
            return List.of();
        return List.of(NodeFactory.createLiteralString("avg_over_time((" + computed.expression()
                + ")[:" + computed.gridMs() + "ms])"));
    }

    @Override
    public QueryIterator execEvaluated(Binding row, PropFuncArg subject, Node predicate,
            PropFuncArg object, ExecutionContext context) {
        if (subject.isList() || object.isList())
            throw Requests.of(context.getContext()).fail(SampleError.badCall(
                    name + " takes no lists: write ?virtual " + name + " ?value"));
        return rows(row, subject.getArg(), object.getArg(), context);
    }

    private QueryIterator rows(Binding row, Node subject, Node object, ExecutionContext context) {
        Requests requests = Requests.of(context.getContext());
        try {
            InputSource.refuseIn(context, name);
            List<Binding> found = new ArrayList<>();
            for (Node virtual : subject.isVariable() ? all(context) : List.of(subject))
                for (Node value : values(virtual, context, requests))
                    add(found, row, subject, virtual, object, value);
            return QueryIterPlainWrapper.create(found.iterator(), context);
        } catch (SampleError error) {
            throw requests.fail(error);
        }
    }

    private static void add(List<Binding> found, Binding row, Node subject, Node virtual,
            Node object, Node value) {
        if (!object.isVariable() && !object.sameValueAs(value))
            return;
        Binding made = row;
        if (subject.isVariable())
            made = BindingFactory.binding(made, Var.alloc(subject), virtual);
        if (object.isVariable())
            made = BindingFactory.binding(made, Var.alloc(object), value);
        found.add(made);
    }

    private static List<Node> all(ExecutionContext context) {
        List<Node> found = new ArrayList<>();
        context.getDataset().find(Node.ANY, Node.ANY, RDF.type.asNode(), Terms.VIRTUAL_TELEMETRY)
                .forEachRemaining(quad -> found.add(quad.getSubject()));
        return found.stream().distinct().toList();
    }

    private Collection<Node> values(Node virtual, ExecutionContext context, Requests requests) {
        InputSource source = new InputSource(context, store, requests);
        long now = Times.now(context.getContext());
        source.periodsIn(new Call.Range(0, now, 0, 0));
        Catalogue catalogue = new Catalogue(context, source);
        if (!virtual.isLiteral())
            return catalogue.isVirtual(virtual) ? stored(virtual, catalogue) : List.of();
        requests.compile();
        return values.apply(catalogue.compiled(virtual).computed());
    }

    private Collection<Node> stored(Node virtual, Catalogue catalogue) {
        try {
            return values.apply(catalogue.find(virtual).computed());
        } catch (SampleError error) {
            return whenBroken.apply(catalogue, virtual);
        }
    }
}
