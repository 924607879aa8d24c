package org.w3id.supertwin.limits;

import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.expr.Expr;
import org.apache.jena.sparql.expr.ExprList;
import org.apache.jena.sparql.expr.NodeValue;
import org.apache.jena.sparql.expr.aggregate.Accumulator;
import org.apache.jena.sparql.expr.aggregate.AccumulatorExpr;
import org.apache.jena.sparql.expr.aggregate.AggCustom;
import org.apache.jena.sparql.expr.aggregate.AggFoldList;
import org.apache.jena.sparql.expr.aggregate.AggFoldMap;
import org.apache.jena.sparql.expr.aggregate.AggGroupConcat;
import org.apache.jena.sparql.expr.aggregate.AggGroupConcatDistinct;
import org.apache.jena.sparql.expr.aggregate.Aggregator;
import org.apache.jena.sparql.function.FunctionEnv;

/** Limits the size of the literals that aggregates make. */
final class LimitedAggregators {
    private LimitedAggregators() {}

    /** The same aggregate with a limit; raises QueryError. */
    static Aggregator of(Aggregator one) {
        if (one instanceof AggCustom custom)
            Functions.checkAggregate(custom.getIRI());
        if (one instanceof AggFoldList || one instanceof AggFoldMap)
            throw Functions.refused("FOLD makes one literal of all rows: leave it out");
        if (one instanceof AggGroupConcat concat)
            return new Concat(concat.getExprList().get(0), concat.getSeparator());
        if (one instanceof AggGroupConcatDistinct concat)
            return new DistinctConcat(concat.getExprList().get(0), concat.getSeparator());
        return one;
    }

    private static final class Concat extends AggGroupConcat {
        Concat(Expr expression, String separator) {
            super(expression, separator);
        }

        @Override
        public Aggregator copy(ExprList expressions) {
            return new Concat(expressions.get(0), getSeparator());
        }

        @Override
        public Accumulator createAccumulator() {
            return new Texts(getExpr(), getSeparator(), false);
        }
    }

    private static final class DistinctConcat extends AggGroupConcatDistinct {
        DistinctConcat(Expr expression, String separator) {
            super(expression, separator);
        }

        @Override
        public Aggregator copy(ExprList expressions) {
            return new DistinctConcat(expressions.get(0), getSeparator());
        }

        @Override
        public Accumulator createAccumulator() {
            return new Texts(getExpr(), getSeparator(), true);
        }
    }

    /** The text of one group. */
    private static final class Texts extends AccumulatorExpr {
        private final StringBuilder text = new StringBuilder();
        private final String separator;
        private String before = "";

        Texts(Expr expression, String separator, boolean isDistinct) {
            super(expression, isDistinct);
            this.separator = separator == null ? " " : separator;
        }

        @Override
        protected void accumulate(NodeValue value, Binding row, FunctionEnv environment) {
            text.append(before).append(value.asString());
            before = separator;
            if (text.length() > LimitedFunction.MOST_TEXT)
                throw RunningQuery.failed(LimitedFunction.tooLong());
        }

        @Override
        protected void accumulateError(Binding row, FunctionEnv environment) {}

        @Override
        protected NodeValue getAccValue() {
            return NodeValue.makeString(text.toString());
        }
    }
}
