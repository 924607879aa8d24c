package org.w3id.supertwin.samples;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Writer;

import org.apache.jena.atlas.io.IO;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.resultset.ResultSetLang;
import org.apache.jena.riot.rowset.RowSetWriter;
import org.apache.jena.riot.rowset.RowSetWriterFactory;
import org.apache.jena.riot.rowset.RowSetWriterRegistry;
import org.apache.jena.sparql.exec.RowSet;
import org.apache.jena.sparql.util.Context;

/** Writes CSV in large pieces: Jena flushes every value, and Jetty would send each separately. */
final class UnflushedRows implements RowSetWriter {
    private static final int PIECE = 1 << 16;

    private final RowSetWriter writer;

    private UnflushedRows(RowSetWriter writer) {
        this.writer = writer;
    }

    static void register() {
        Lang csv = ResultSetLang.RS_CSV;
        RowSetWriterFactory original = RowSetWriterRegistry.getFactory(csv);
        RowSetWriterRegistry.register(csv, lang -> new UnflushedRows(original.create(lang)));
    }

    @Override
    public void write(OutputStream out, RowSet rows, Context context) {
        Unflushed pieces = new Unflushed(out);
        writer.write(pieces, rows, context);
        pieces.end();
    }

    @Override
    public void write(Writer out, RowSet rows, Context context) {
        writer.write(out, rows, context);
    }

    @Override
    public void write(OutputStream out, boolean answer, Context context) {
        writer.write(out, answer, context);
    }

    /** A buffer that is written when it is full, and at the end. */
    private static final class Unflushed extends BufferedOutputStream {
        Unflushed(OutputStream out) {
            super(out, PIECE);
        }

        @Override
        public synchronized void flush() {}

        void end() {
            try {
                super.flush();
            } catch (IOException error) {
                IO.exception(error);
            }
        }
    }
}
