package org.w3id.supertwin.limits;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.Triple;
import org.apache.jena.sparql.algebra.Op;
import org.apache.jena.sparql.algebra.TransformCopy;
import org.apache.jena.sparql.algebra.Transformer;
import org.apache.jena.sparql.algebra.op.OpBGP;
import org.apache.jena.sparql.algebra.op.OpGroup;
import org.apache.jena.sparql.algebra.op.OpPath;
import org.apache.jena.sparql.algebra.op.OpService;
import org.apache.jena.sparql.algebra.op.OpTriple;
import org.apache.jena.sparql.expr.ExprAggregator;
import org.apache.jena.vocabulary.RDF;

/** Checks the patterns and functions of a query, and limits the literals that it makes. */
final class LimitedAlgebra extends TransformCopy {
    private LimitedAlgebra() {}

    /** The same algebra with limits; raises QueryError. */
    static Op of(Op op) {
        return Transformer.transform(new LimitedAlgebra(), new LimitedExpressions(), op);
    }

    @Override
    public Op transform(OpBGP op) {
        check(op.getPattern().getList());
        return op;
    }

    @Override
    public Op transform(OpTriple op) {
        check(List.of(op.getTriple()));
        return op;
    }

    @Override
    public Op transform(OpPath op) {
        // Jena may turn a path into triples, and so into functions.
        op.getTriplePath().getPath().visit(new PathCheck());
        return op;
    }

    @Override
    public Op transform(OpService op, Op inner) {
        throw new QueryError("service-refused", 400, "SERVICE " + op.getService()
                + ": no other endpoint is queried; query it from your own client, or leave the"
                + " clause out");
    }

    @Override
    public Op transform(OpGroup op, Op inner) {
        List<ExprAggregator> aggregators = op.getAggregators().stream()
                .map(one -> new ExprAggregator(one.getVar(),
                        LimitedAggregators.of(one.getAggregator())))
                .toList();
        return OpGroup.create(inner, op.getGroupVars(), aggregators);
    }

    private static void check(List<Triple> pattern) {
        Set<Node> lists = pattern.stream()
                .filter(one -> one.getPredicate().equals(RDF.Nodes.first)).map(Triple::getSubject)
                .collect(Collectors.toSet());
        lists.add(RDF.Nodes.nil);
        for (Triple triple : pattern)
            if (triple.getPredicate().isURI())
                Functions.checkPredicate(triple.getPredicate().getURI(),
                        lists.contains(triple.getSubject()) || lists.contains(triple.getObject()));
    }
}
