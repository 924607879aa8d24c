package org.w3id.supertwin.patterns;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.algebra.Op;
import org.apache.jena.sparql.algebra.OpVars;
import org.apache.jena.sparql.algebra.op.Op1;
import org.apache.jena.sparql.algebra.op.Op2;
import org.apache.jena.sparql.algebra.op.OpAssign;
import org.apache.jena.sparql.algebra.op.OpBGP;
import org.apache.jena.sparql.algebra.op.OpExtend;
import org.apache.jena.sparql.algebra.op.OpFilter;
import org.apache.jena.sparql.algebra.op.OpGraph;
import org.apache.jena.sparql.algebra.op.OpJoin;
import org.apache.jena.sparql.algebra.op.OpLeftJoin;
import org.apache.jena.sparql.algebra.op.OpPath;
import org.apache.jena.sparql.algebra.op.OpPropFunc;
import org.apache.jena.sparql.algebra.op.OpSequence;
import org.apache.jena.sparql.algebra.op.OpService;
import org.apache.jena.sparql.algebra.op.OpTable;
import org.apache.jena.sparql.algebra.op.OpUnion;
import org.apache.jena.sparql.core.BasicPattern;
import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprFunctionOp;
import org.apache.jena.sparql.expr.ExprList;
import org.apache.jena.sparql.expr.ExprTransformCopy;
import org.apache.jena.sparql.expr.ExprTransformer;

/**
 * Orders the units (triples, paths and property functions) of each group, outer groups first.
 *
 * <p>The next unit is always the one that gives the fewest rows when it is joined with those before
 * it. So a path starts at a bound end if it has one, and a function follows the patterns that bind
 * its subject.
 */
final class GroupOrder {
    private final Counts counts;

    GroupOrder(Counts counts) {
        this.counts = counts;
    }

    /** @param bound variables that have a value before the operation is evaluated */
    Op order(Op op, Set<Node> bound) {
        List<Unit> units = new ArrayList<>();
        if (collect(op, units))
            return units.isEmpty() ? op : compose(ordered(withNeeds(units), bound));
        if (op instanceof OpFilter filter)
            return filtered(filter, bound);
        if (op instanceof OpLeftJoin join) {
            Set<Node> more = with(bound, join.getLeft());
            return OpLeftJoin.create(order(join.getLeft(), bound), order(join.getRight(), more),
                    join.getExprs() == null ? null : ordered(join.getExprs(), more));
        }
        if (op instanceof OpJoin join)
            return join.copy(order(join.getLeft(), bound),
                    order(join.getRight(), with(bound, join.getLeft())));
        return otherwise(op, bound);
    }

    private Op otherwise(Op op, Set<Node> bound) {
        if (op instanceof OpUnion union)
            return union.copy(order(union.getLeft(), bound), order(union.getRight(), bound));
        if (op instanceof OpService)
            return op;
        if (op instanceof OpGraph || op instanceof OpExtend || op instanceof OpAssign)
            return ((Op1) op).copy(order(((Op1) op).getSubOp(), bound));
        // The rest has a scope of its own, in which nothing is bound at first.
        if (op instanceof Op1 one && one.getSubOp() != null)
            return one.copy(order(one.getSubOp(), Set.of()));
        if (op instanceof Op2 two)
            return two.copy(order(two.getLeft(), bound), order(two.getRight(), Set.of()));
        return op;
    }

    /** Order the pattern, then the groups in EXISTS of the filter: the pattern binds variables. */
    private Op filtered(OpFilter filter, Set<Node> bound) {
        Op pattern = order(filter.getSubOp(), bound);
        return OpFilter.filterBy(ordered(filter.getExprs(), with(bound, pattern)), pattern);
    }

    private ExprList ordered(ExprList expressions, Set<Node> bound) {
        return ExprTransformer.transform(new ExprTransformCopy() {
            @Override
            public Expr transform(ExprFunctionOp exists, ExprList none, Op pattern) {
                return exists.copy(none, order(pattern, bound));
            }
        }, expressions);
    }

    private static Set<Node> with(Set<Node> bound, Op before) {
        Set<Node> all = new HashSet<>(bound);
        all.addAll(OpVars.fixedVars(before));
        return all;
    }

    /** Add the units of a group to a list; false if the operation has anything but units. */
    private static boolean collect(Op op, List<Unit> units) {
        if (op instanceof OpBGP triples) {
            triples.getPattern().forEach(triple -> units.add(new Unit.OfTriple(triple)));
            return true;
        }
        if (op instanceof OpPath path)
            return units.add(new Unit.OfPath(path.getTriplePath()));
        if (op instanceof OpPropFunc function)
            return (function.getSubOp() == null || collect(function.getSubOp(), units))
                    && units.add(new Unit.OfFunction(function, Set.of()));
        if (op instanceof OpSequence sequence)
            return sequence.getElements().stream().allMatch(part -> collect(part, units));
        if (op instanceof OpJoin join)
            return collect(join.getLeft(), units) && collect(join.getRight(), units);
        return op instanceof OpTable table && table.isJoinIdentity();
    }

    private static List<Unit> withNeeds(List<Unit> units) {
        return units.stream().map(unit -> unit instanceof Unit.OfFunction one
                ? Unit.OfFunction.among(units, one.function()) : unit).toList();
    }

    /** The cheapest order: try each unit as the first, and add the best next one each time. */
    private List<Unit> ordered(List<Unit> units, Set<Node> bound) {
        return units.stream().map(first -> from(first, units, bound))
                .min(Comparator.comparingDouble(Order::cost)
                        // On a tie, not by position: the order of the query must not matter.
                        .thenComparing(order -> order.units.toString()))
                .orElseThrow().units;
    }

    /** @param cost the sum of the numbers of rows after each unit */
    private record Order(List<Unit> units, double cost) {}

    private Order from(Unit first, List<Unit> units, Set<Node> already) {
        List<Unit> left = new ArrayList<>(units);
        List<Unit> result = new ArrayList<>();
        Set<Node> bound = new HashSet<>(already);
        double rows = 1;
        double cost = 0;
        for (Unit next = first; next != null; next = cheapest(left, bound)) {
            rows *= next.rows(bound, counts);
            cost += rows;
            left.remove(next);
            result.add(next);
            bound.addAll(next.variables());
        }
        return new Order(result, cost);
    }

    private Unit cheapest(List<Unit> units, Set<Node> bound) {
        return units.stream().min(Comparator
                .comparingDouble((Unit unit) -> unit.rows(bound, counts))
                .thenComparing(Unit::toString)).orElse(null);
    }

    private static Op compose(List<Unit> units) {
        Op whole = null;
        BasicPattern triples = new BasicPattern();
        for (Unit unit : units) {
            if (unit instanceof Unit.OfTriple one) {
                triples.add(one.triple());
                continue;
            }
            whole = flushed(whole, triples);
            triples = new BasicPattern();
            if (unit instanceof Unit.OfPath path)
                whole = OpSequence.create(whole, new OpPath(path.path()));
            if (unit instanceof Unit.OfFunction one)
                whole = one.function().copy(whole == null ? OpTable.unit() : whole);
        }
        return flushed(whole, triples);
    }

    private static Op flushed(Op before, BasicPattern triples) {
        return triples.isEmpty() ? before : OpSequence.create(before, new OpBGP(triples));
    }
}
