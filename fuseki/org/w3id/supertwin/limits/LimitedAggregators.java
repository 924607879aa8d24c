package org.w3id.supertwin.limits;

import org.apache.jena.sparql.expr.aggregate.AggCustom;
import org.apache.jena.sparql.expr.aggregate.AggFoldList;
import org.apache.jena.sparql.expr.aggregate.AggFoldMap;
import org.apache.jena.sparql.expr.aggregate.Aggregator;

/** The aggregates that a query may call. */
final class LimitedAggregators {
    private LimitedAggregators() {}

    /** Raise an error unless a query may call this one. */
    static void check(Aggregator one) {
        if (one instanceof AggCustom custom)
            Functions.checkAggregate(custom.getIRI());
        if (one instanceof AggFoldList || one instanceof AggFoldMap)
            throw Functions.refused("FOLD makes one literal of all rows: leave it out");
    }
}
