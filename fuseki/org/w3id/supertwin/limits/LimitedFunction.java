package org.w3id.supertwin.limits;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprFunction;
import org.apache.jena.sparql.expr.ExprFunction2;
import org.apache.jena.sparql.expr.ExprFunctionN;
import org.apache.jena.sparql.expr.ExprList;
import org.apache.jena.sparql.expr.NodeValue;
import org.apache.jena.sparql.expr.RegexEngine;
import org.apache.jena.sparql.function.library.Math_pow;

/**
 * A function that is not evaluated if its result would be too long.
 *
 * <p>Doubling a text thirty times fills the memory within one row. HeapWatch comes too late for
 * that, because a query is aborted between two rows.
 */
final class LimitedFunction extends ExprFunctionN {
    /** Characters of a text. */
    static final int MOST_TEXT = 1 << 20;
    private static final int MOST_DIGITS = 10_000;
    private static final double DIGITS_OF_A_BIT = Math.log10(2);

    /** How the greatest size of the result follows from the arguments. */
    enum Growth {
        CONCAT, REPLACE, PRODUCT, POWER
    }

    private final ExprFunction function;
    private final Growth growth;

    LimitedFunction(ExprFunction function, Growth growth) {
        super(function.getFunctionSymbol().getSymbol(), new ExprList(function.getArgs()));
        this.function = function;
        this.growth = growth;
    }

    @Override
    public NodeValue eval(List<NodeValue> values) {
        RunningQuery.checkCancelled();
        boolean fits = switch (growth) {
            case CONCAT -> values.stream().mapToLong(one -> text(one).length()).sum() <= MOST_TEXT;
            case REPLACE -> replaced(values) <= MOST_TEXT;
            case PRODUCT -> digits(values.get(0)) + digits(values.get(1)) <= MOST_DIGITS;
            case POWER -> power(values.get(0), values.get(1)) <= MOST_DIGITS;
        };
        if (!fits)
            throw RunningQuery.failed(tooLong());
        return evaluated(values);
    }

    private NodeValue evaluated(List<NodeValue> values) {
        if (growth == Growth.POWER)
            return new Math_pow().exec(values.get(0), values.get(1));
        return function instanceof ExprFunction2 two ? two.eval(values.get(0), values.get(1))
                : ((ExprFunctionN) function).eval(values);
    }

    @Override
    public Expr copy(ExprList arguments) {
        Expr copy = function instanceof ExprFunction2 two
                ? two.copy(arguments.get(0), arguments.get(1))
                : ((ExprFunctionN) function).copy(arguments);
        return new LimitedFunction((ExprFunction) copy, growth);
    }

    static QueryError tooLong() {
        return new QueryError("literal-too-long", 413, "the query makes a text of over " + MOST_TEXT
                + " characters, or a number of over " + MOST_DIGITS + " digits; make shorter ones");
    }

    private static String text(NodeValue value) {
        Node node = value.asNode();
        return node.isLiteral() ? node.getLiteralLexicalForm() : "";
    }

    /**
     * A bound on the length of what REPLACE returns; each $ in the replacement may be a group.
     *
     * <p>This searches for all matches itself. The search can be cancelled, Jena's REPLACE cannot.
     */
    private static double replaced(List<NodeValue> values) {
        String text = text(values.get(0));
        String by = text(values.get(2));
        long groups = by.chars().filter(one -> one == '$').count();
        String flags = values.size() > 3 ? text(values.get(3)) : null;
        Pattern pattern = RegexEngine.makePattern("REPLACE", text(values.get(1)), flags);
        Matcher match = pattern.matcher(new AbortableText(text));
        double size = text.length();
        while (AbortableText.find(match) && size <= MOST_TEXT)
            size += by.length() + groups * longestGroup(match);
        return size;
    }

    private static double longestGroup(Matcher match) {
        int longest = 0;
        for (int group = 0; group <= match.groupCount(); group++)
            longest = Math.max(longest, match.end(group) - match.start(group));
        return longest;
    }

    private static double power(NodeValue base, NodeValue exponent) {
        return base.isInteger() && exponent.isInteger()
                ? digits(base) * exponent.getInteger().doubleValue() : 0;
    }

    private static double digits(NodeValue number) {
        int bits = number.isInteger() ? number.getInteger().bitLength()
                : number.isDecimal() ? number.getDecimal().unscaledValue().bitLength() : 0;
        return bits * DIGITS_OF_A_BIT;
    }
}
