package org.w3id.supertwin.placement;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.jena.datatypes.xsd.XSDDatatype;
import org.apache.jena.fuseki.servlets.ServletOps;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.QueryIterator;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.engine.binding.BindingBuilder;
import org.apache.jena.sparql.engine.iterator.QueryIterPlainWrapper;
import org.apache.jena.sparql.pfunction.PropFuncArg;
import org.apache.jena.sparql.pfunction.PropFuncArgType;
import org.apache.jena.sparql.pfunction.PropertyFunctionEval;
import org.apache.jena.sparql.pfunction.PropertyFunctionRegistry;
import org.apache.jena.sparql.util.Symbol;

/**
 * The functions {@code (?host ?among) st:treeOrder (?rank ?thread ?numa)} and
 * {@code (?host ?count ?among) st:distrib (?rank ?thread ?numa)}.
 *
 * <p>Their rows have allowed threads only. {@code ?among} is a list of CPUs to choose from, and
 * {@code ?numa} the NUMA domain that is nearest to the thread; both may be left out.
 * {@code st:distrib} has no rows if there are fewer threads than {@code ?count}.
 */
public final class PlacementFunction extends PropertyFunctionEval {
    private static final String NAMESPACE = "https://w3id.org/supertwin/ns#";
    private static final Symbol TREES = Symbol.create(NAMESPACE + "trees");
    private static final Pattern RANGE = Pattern.compile("(\\d{1,6})(?:-(\\d{1,6}))?");

    private final boolean spreads;

    private PlacementFunction(boolean spreads) {
        super(PropFuncArgType.PF_ARG_EITHER, PropFuncArgType.PF_ARG_EITHER);
        this.spreads = spreads;
    }

    /** Make both functions known to Jena. */
    public static void register() {
        PropertyFunctionRegistry functions = PropertyFunctionRegistry.get();
        functions.put(NAMESPACE + "distrib", iri -> new PlacementFunction(true));
        functions.put(NAMESPACE + "treeOrder", iri -> new PlacementFunction(false));
    }

    @Override
    public QueryIterator execEvaluated(Binding row, PropFuncArg subject, Node predicate,
            PropFuncArg object, ExecutionContext context) {
        if (!isSize(subject, spreads ? 2 : 1) || !isSize(object, 2))
            throw bad("write it as " + usage());
        List<Node> given = subject.getArgList();
        HostTree tree = tree(given.get(0), context);
        BitSet among = among(tree, given);
        List<Integer> cpus = spreads ? spread(tree, among, count(given.get(1)))
                : tree.order().stream().filter(among::get).toList();
        return QueryIterPlainWrapper.create(rows(row, tree, cpus, object).iterator(), context);
    }

    /** Whether an argument is a list of this size, or one longer. */
    private static boolean isSize(PropFuncArg list, int size) {
        return list.isList() && (list.getArgListSize() == size || list.getArgListSize() == size + 1);
    }

    private String usage() {
        return spreads ? "(?host ?count) st:distrib (?rank ?thread), or (?host ?count \"0-3,8\")"
                : "(?host) st:treeOrder (?rank ?thread), or (?host \"0-3,8\")";
    }

    /** The tree of a host, read once in each query. */
    private HostTree tree(Node host, ExecutionContext context) {
        if (!host.isLiteral())
            throw bad("?host has no name as its value here: put the pattern that binds it, such as"
                    + " ?node st:hostname ?host, before the function");
        Map<Node, HostTree> known = context.getContext().get(TREES);
        if (known == null)
            context.getContext().set(TREES, known = new HashMap<>());
        return known.computeIfAbsent(host, name -> HostTree.read(context.getDataset(), name));
    }

    private BitSet among(HostTree tree, List<Node> given) {
        BitSet among = (BitSet) tree.allowed().clone();
        Node last = given.get(given.size() - 1);
        if (given.size() == (spreads ? 3 : 2) && !last.isVariable())
            among.and(cpus(last));
        return among;
    }

    private static List<Integer> spread(HostTree tree, BitSet among, int count) {
        boolean hasRoom = 0 < count && count <= among.cardinality();
        return hasRoom ? tree.root().spread(among, count) : List.of();
    }

    private int count(Node node) {
        if (node.isLiteral() && node.getLiteralDatatype().isValid(node.getLiteralLexicalForm())
                && node.getLiteralValue() instanceof Number number
                && number.longValue() == number.doubleValue())
            return (int) Math.max(0, Math.min(number.longValue(), Integer.MAX_VALUE));
        throw bad("the count of threads is not a whole number");
    }

    private BitSet cpus(Node node) {
        BitSet cpus = new BitSet();
        for (String part : node.isLiteral() ? node.getLiteralLexicalForm().split(",", -1)
                : new String[] {""}) {
            Matcher range = RANGE.matcher(part);
            if (!range.matches())
                throw bad("the last argument is not a list of CPUs such as \"0-3,8\"");
            int first = Integer.parseInt(range.group(1));
            int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
            cpus.set(first, Math.max(first, last) + 1);
        }
        return cpus;
    }

    private static List<Binding> rows(Binding row, HostTree tree, List<Integer> cpus,
            PropFuncArg object) {
        List<Binding> found = new ArrayList<>();
        Node wanted = object.getArg(1);
        for (int rank = 0; rank < cpus.size(); rank++) {
            Node thread = tree.threads().get(cpus.get(rank));
            // Most calls are for one thread, so do not build the other rows.
            if (!wanted.isVariable() && !wanted.equals(thread))
                continue;
            Node number = NodeFactory.createLiteralDT(String.valueOf(rank), XSDDatatype.XSDinteger);
            BindingBuilder built = Binding.builder(row);
            if (fits(built, object.getArg(0), number) && fits(built, wanted, thread)
                    && (object.getArgListSize() == 2
                            || fits(built, object.getArg(2), tree.memory().get(cpus.get(rank)))))
                found.add(built.build());
        }
        return found;
    }

    /** Bind an output to a value, if there is one; false if it has another value already. */
    private static boolean fits(BindingBuilder built, Node output, Node value) {
        if (value == null)
            return output.isVariable();
        Node known = output.isVariable() ? built.get(Var.alloc(output)) : output;
        if (known == null)
            built.add(Var.alloc(output), value);
        return known == null || known.sameValueAs(value);
    }

    private RuntimeException bad(String message) {
        ServletOps.errorBadRequest((spreads ? "st:distrib: " : "st:treeOrder: ") + message);
        return new IllegalStateException(message);
    }
}
