package org.w3id.supertwin.samples;

import java.util.Iterator;

import org.apache.jena.sparql.engine.binding.Binding;

/** The result rows of a batch, and the connection from which they are read. */
interface Rows extends Iterator<Binding>, AutoCloseable {
    @Override
    void close();

    /** Rows that are in memory. */
    static Rows of(Iterator<Binding> rows) {
        return new Rows() {
            @Override
            public boolean hasNext() {
                return rows.hasNext();
            }

            @Override
            public Binding next() {
                return rows.next();
            }

            @Override
            public void close() {}
        };
    }
}
