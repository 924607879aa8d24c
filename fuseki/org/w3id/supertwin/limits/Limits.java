package org.w3id.supertwin.limits;

import org.apache.jena.sys.JenaSubsystemLifecycle;

/** Starts what limits queries. */
public final class Limits implements JenaSubsystemLifecycle {
    private static final int AFTER_FUSEKI = 500;

    @Override
    public int level() {
        return AFTER_FUSEKI;
    }

    @Override
    public void start() {
        HeapWatch.start();
    }

    @Override
    public void stop() {}
}
