package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.Node_Ext;
import org.apache.jena.shared.PrefixMapping;
import org.apache.jena.sparql.algebra.Op;
import org.apache.jena.sparql.algebra.op.OpFilter;
import org.apache.jena.sparql.algebra.op.OpGraph;
import org.apache.jena.sparql.algebra.op.OpPropFunc;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprFunction2;
import org.apache.jena.sparql.pfunction.PropFuncArg;

/**
 * A comparison of a variable with a number in a FILTER, which the series store can evaluate.
 *
 * <p>The filter also stays in the query; the store only sends fewer values.
 */
record Threshold(Var value, String operator, double limit) {
    /** A threshold as a hidden argument of a function, which no query can write. */
    private static final class Argument extends Node_Ext<Threshold> {
        Argument(Threshold threshold) {
            super(threshold);
        }

        @Override
        public String toString() {
            return get().toString();
        }

        @Override
        public String toString(PrefixMapping prefixes) {
            return toString();
        }
    }

    /** The same filter, with its thresholds added to the arguments of the function in it. */
    static OpFilter passedOn(OpFilter filter) {
        List<Argument> thresholds = filter.getExprs().getList().stream()
                .flatMap(one -> of(one).stream()).map(Argument::new).toList();
        return thresholds.isEmpty() ? filter
                : OpFilter.filterDirect(filter.getExprs(), passedOn(filter.getSubOp(), thresholds));
    }

    private static Op passedOn(Op op, List<Argument> thresholds) {
        if (op instanceof OpGraph graph)
            return new OpGraph(graph.getNode(), passedOn(graph.getSubOp(), thresholds));
        if (!(op instanceof OpPropFunc call) || !call.getObjectArgs().isList()
                || Function.of(call.getProperty()).filter(Function::isWindow).isEmpty())
            return op;
        List<Node> list = new ArrayList<>(call.getObjectArgs().getArgList());
        list.addAll(thresholds);
        return new OpPropFunc(call.getProperty(), call.getSubjectArgs(), new PropFuncArg(list),
                call.getSubOp());
    }

    /** Take the thresholds out of an argument list. */
    static List<Threshold> removeFrom(List<Node> list) {
        List<Threshold> found = new ArrayList<>();
        while (!list.isEmpty() && list.get(list.size() - 1) instanceof Argument last) {
            found.add(last.get());
            list.remove(list.size() - 1);
        }
        return found;
    }

    private static Optional<Threshold> of(Expr expression) {
        if (!(expression instanceof ExprFunction2 compared) || compared.getOpName() == null)
            return Optional.empty();
        String operator = compared.getOpName(), flipped = flipped(operator);
        if (flipped.isEmpty())
            return Optional.empty();
        Expr left = compared.getArg1(), right = compared.getArg2();
        return left.isVariable() ? of(left, operator, right) : of(right, flipped, left);
    }

    private static String flipped(String operator) {
        return switch (operator) {
            case "<" -> ">";
            case "<=" -> ">=";
            case ">" -> "<";
            case ">=" -> "<=";
            default -> "";
        };
    }

    private static Optional<Threshold> of(Expr variable, String operator, Expr number) {
        boolean fits = variable.isVariable() && number.isConstant()
                && number.getConstant().isNumber()
                && Double.isFinite(number.getConstant().getDouble());
        return fits ? Optional.of(new Threshold(variable.asVar(), operator,
                number.getConstant().getDouble())) : Optional.empty();
    }

    /** The MetricsQL that selects the points of an expression for which the comparison is true. */
    String of(String expression) {
        return "(" + expression + ") " + operator + " " + limit;
    }
}
