package org.w3id.supertwin.limits;

import java.util.List;
import java.util.regex.Pattern;

import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprEvalException;
import org.apache.jena.sparql.expr.ExprFunctionN;
import org.apache.jena.sparql.expr.ExprList;
import org.apache.jena.sparql.expr.NodeValue;
import org.apache.jena.sparql.expr.RegexEngine;
import org.apache.jena.sparql.expr.nodevalue.NodeValueOps;

/** A REGEX that ends when its query is cancelled; Java's matcher alone would continue. */
final class AbortableRegex extends ExprFunctionN {
    private static final String NAME = "REGEX";

    // The pattern of the last row, compiled: nearly always, all rows have the same.
    private List<String> source;
    private Pattern pattern;

    AbortableRegex(ExprList arguments) {
        super(NAME, arguments);
    }

    @Override
    public NodeValue eval(List<NodeValue> values) {
        String text = NodeValueOps.checkAndGetStringLiteral(NAME, values.get(0))
                .getLiteralLexicalForm();
        Pattern compiled = compiled(values.subList(1, values.size()).stream()
                .map(AbortableRegex::string).toList());
        return NodeValue.booleanReturn(
                AbortableText.find(compiled.matcher(new AbortableText(text))));
    }

    @Override
    public Expr copy(ExprList arguments) {
        return new AbortableRegex(arguments);
    }

    private Pattern compiled(List<String> wanted) {
        if (!wanted.equals(source)) {
            String flags = wanted.size() > 1 ? wanted.get(1) : null;
            pattern = RegexEngine.makePattern(NAME, wanted.get(0), flags);
            source = wanted;
        }
        return pattern;
    }

    private static String string(NodeValue value) {
        if (!value.isString())
            throw new ExprEvalException(NAME + ": " + value + " is not a string");
        return value.getString();
    }
}
