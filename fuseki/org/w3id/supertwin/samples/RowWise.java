package org.w3id.supertwin.samples;

import java.util.List;
import java.util.Set;

import org.apache.jena.sparql.algebra.Op;
import org.apache.jena.sparql.algebra.op.Op1;
import org.apache.jena.sparql.algebra.op.Op2;
import org.apache.jena.sparql.algebra.op.OpAssign;
import org.apache.jena.sparql.algebra.op.OpBGP;
import org.apache.jena.sparql.algebra.op.OpConditional;
import org.apache.jena.sparql.algebra.op.OpExtend;
import org.apache.jena.sparql.algebra.op.OpFilter;
import org.apache.jena.sparql.algebra.op.OpGraph;
import org.apache.jena.sparql.algebra.op.OpJoin;
import org.apache.jena.sparql.algebra.op.OpN;
import org.apache.jena.sparql.algebra.op.OpPath;
import org.apache.jena.sparql.algebra.op.OpPropFunc;
import org.apache.jena.sparql.algebra.op.OpQuadBlock;
import org.apache.jena.sparql.algebra.op.OpQuadPattern;
import org.apache.jena.sparql.algebra.op.OpSequence;
import org.apache.jena.sparql.algebra.op.OpTable;
import org.apache.jena.sparql.algebra.op.OpUnion;

/** Finds row-wise patterns: the rows that they give do not depend on getting all rows at once. */
final class RowWise {
    private static final Set<Class<? extends Op>> KINDS = Set.of(OpAssign.class, OpBGP.class,
            OpConditional.class, OpExtend.class, OpFilter.class, OpGraph.class, OpPath.class,
            OpPropFunc.class, OpQuadBlock.class, OpQuadPattern.class, OpSequence.class, OpTable.class,
            OpUnion.class);

    private RowWise() {}

    /** Whether a pattern is row-wise and calls a function of samples. */
    static boolean callsFunction(Op pattern) {
        return calls(pattern) && isRowWise(pattern);
    }

    /** Whether a row-wise pattern calls a function whose subject another pattern has to bind. */
    static boolean needsRows(Op pattern) {
        return isRowWise(pattern) && lacksSubject(pattern);
    }

    private static boolean calls(Op op) {
        return isCall(op) || parts(op).stream().anyMatch(RowWise::calls);
    }

    private static boolean lacksSubject(Op op) {
        return isCall(op) && OpJoin.isJoinIdentify(((OpPropFunc) op).getSubOp())
                || parts(op).stream().anyMatch(RowWise::lacksSubject);
    }

    private static boolean isCall(Op op) {
        return op instanceof OpPropFunc call && Function.of(call.getProperty()).isPresent();
    }

    private static boolean isRowWise(Op op) {
        return KINDS.contains(op.getClass()) && parts(op).stream().allMatch(RowWise::isRowWise);
    }

    private static List<Op> parts(Op op) {
        if (op instanceof Op1 one)
            return List.of(one.getSubOp());
        if (op instanceof Op2 two)
            return List.of(two.getLeft(), two.getRight());
        return op instanceof OpN more ? more.getElements() : List.of();
    }
}
