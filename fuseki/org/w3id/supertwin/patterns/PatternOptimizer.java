package org.w3id.supertwin.patterns;

import java.util.Set;

import org.apache.jena.sparql.algebra.Op;
import org.apache.jena.sparql.algebra.optimize.Optimize;
import org.apache.jena.sparql.algebra.optimize.OptimizerStd;
import org.apache.jena.sparql.engine.optimizer.reorder.ReorderLib;
import org.apache.jena.sparql.util.Context;
import org.apache.jena.tdb2.sys.SystemTDB;

/** Jena's optimiser, which here orders patterns by counts, not by their shape as TDB2 does. */
public final class PatternOptimizer extends OptimizerStd {
    private final Context context;

    private PatternOptimizer(Context context) {
        super(context);
        this.context = context;
    }

    public static void register() {
        Optimize.setFactory(PatternOptimizer::new);
        SystemTDB.setDefaultReorderTransform(ReorderLib.identity());
    }

    /** Order patterns before Jena places filters: a filter between patterns would separate them. */
    @Override
    protected Op transformPropertyFunctions(Op op) {
        Op found = super.transformPropertyFunctions(op);
        return new GroupOrder(Counts.of(context)).order(found, Set.of());
    }
}
