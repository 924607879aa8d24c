package org.w3id.supertwin.limits;

import org.apache.jena.sparql.expr.E_Call;
import org.apache.jena.sparql.expr.E_Function;
import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprFunctionN;
import org.apache.jena.sparql.expr.ExprList;
import org.apache.jena.sparql.expr.ExprTransformCopy;

/** Checks the functions of expressions. */
final class LimitedExpressions extends ExprTransformCopy {
    @Override
    public Expr transform(ExprFunctionN function, ExprList arguments) {
        if (function instanceof E_Call)
            throw Functions.refused("CALL may call any function: write the name of the function");
        if (function instanceof E_Function)
            Functions.checkExpression(function.getFunctionIRI());
        return super.transform(function, arguments);
    }
}
