package org.w3id.supertwin.limits;

import org.apache.jena.fuseki.server.Operation;
import org.apache.jena.fuseki.server.OperationRegistry;
import org.apache.jena.sparql.algebra.optimize.Optimize;
import org.apache.jena.sparql.algebra.optimize.Rewrite;
import org.apache.jena.sparql.algebra.optimize.RewriteFactory;
import org.apache.jena.sys.JenaSubsystemLifecycle;

/** Registers the limits with Jena and Fuseki. */
public final class Limits implements JenaSubsystemLifecycle {
    /** Start after {@code PatternOptimizer} is registered: the limits wrap it. */
    private static final int AFTER_PATTERNS = 510;

    @Override
    public int level() {
        return AFTER_PATTERNS;
    }

    @Override
    public void start() {
        // Jena optimises every query, and the WHERE of every update.
        RewriteFactory original = Optimize.getFactory();
        Optimize.setFactory(context -> {
            Rewrite optimiser = original.create(context);
            return op -> optimiser.rewrite(LimitedAlgebra.of(op));
        });
        OperationRegistry.get().register(Operation.Update, new LimitedUpdates());
        HeapWatch.start();
    }

    @Override
    public void stop() {}
}
