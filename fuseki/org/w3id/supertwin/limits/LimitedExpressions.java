package org.w3id.supertwin.limits;

import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.expr.E_Call;
import org.apache.jena.sparql.expr.E_Function;
import org.apache.jena.sparql.expr.E_Multiply;
import org.apache.jena.sparql.expr.E_Regex;
import org.apache.jena.sparql.expr.E_StrConcat;
import org.apache.jena.sparql.expr.E_StrReplace;
import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprFunction2;
import org.apache.jena.sparql.expr.ExprFunctionN;
import org.apache.jena.sparql.expr.ExprList;
import org.apache.jena.sparql.expr.ExprTransformCopy;

/** Checks the functions of expressions, and limits those that can have a result of any size. */
final class LimitedExpressions extends ExprTransformCopy {
    private static final String POWER = ARQConstants.mathPrefix + "pow";

    @Override
    public Expr transform(ExprFunction2 function, Expr left, Expr right) {
        Expr copy = super.transform(function, left, right);
        return copy instanceof E_Multiply product
                ? new LimitedFunction(product, LimitedFunction.Growth.PRODUCT) : copy;
    }

    @Override
    public Expr transform(ExprFunctionN function, ExprList arguments) {
        if (function instanceof E_Call)
            throw Functions.refused("CALL may call any function: write the name of the function");
        if (function instanceof E_Function)
            Functions.checkExpression(function.getFunctionIRI());
        ExprFunctionN copy = (ExprFunctionN) super.transform(function, arguments);
        if (copy instanceof E_Regex)
            return new AbortableRegex(new ExprList(copy.getArgs()));
        if (copy instanceof E_StrConcat)
            return new LimitedFunction(copy, LimitedFunction.Growth.CONCAT);
        if (copy instanceof E_StrReplace)
            return new LimitedFunction(copy, LimitedFunction.Growth.REPLACE);
        if (POWER.equals(copy.getFunctionIRI()) && copy.numArgs() == 2)
            return new LimitedFunction(copy, LimitedFunction.Growth.POWER);
        return copy;
    }
}
