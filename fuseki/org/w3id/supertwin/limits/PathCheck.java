package org.w3id.supertwin.limits;

import org.apache.jena.sparql.path.P_NegPropSet;
import org.apache.jena.sparql.path.P_Path0;
import org.apache.jena.sparql.path.P_Path1;
import org.apache.jena.sparql.path.P_Path2;
import org.apache.jena.sparql.path.PathVisitorByType;

/** Checks each predicate of a path. */
final class PathCheck extends PathVisitorByType {
    @Override
    public void visit0(P_Path0 link) {
        if (link.getNode().isURI())
            Functions.checkPredicate(link.getNode().getURI(), false);
    }

    @Override
    public void visitNegPS(P_NegPropSet path) {
        path.getNodes().forEach(this::visit0);
    }

    @Override
    public void visit1(P_Path1 path) {
        path.getSubPath().visit(this);
    }

    @Override
    public void visit2(P_Path2 path) {
        path.getLeft().visit(this);
        path.getRight().visit(this);
    }
}
