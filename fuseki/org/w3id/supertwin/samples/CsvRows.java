package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

import org.apache.jena.atlas.io.IO;
import org.apache.jena.graph.Node;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.out.NodeFmtLib;
import org.apache.jena.riot.out.NodeToLabel;
import org.apache.jena.riot.resultset.ResultSetLang;
import org.apache.jena.riot.rowset.RowSetWriter;
import org.apache.jena.riot.rowset.RowSetWriterFactory;
import org.apache.jena.riot.rowset.RowSetWriterRegistry;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.exec.RowSet;
import org.apache.jena.sparql.util.Context;

/**
 * Writes SPARQL results as CSV, several times as fast as Jena.
 *
 * <p>Jena encodes and flushes each value by itself, which takes half of the time of an answer with
 * raw samples.
 */
final class CsvRows implements RowSetWriter {
    private final RowSetWriter original;

    private CsvRows(RowSetWriter original) {
        this.original = original;
    }

    static void register() {
        Lang csv = ResultSetLang.RS_CSV;
        RowSetWriterFactory original = RowSetWriterRegistry.getFactory(csv);
        RowSetWriterRegistry.register(csv, lang -> new CsvRows(original.create(lang)));
    }

    @Override
    public void write(OutputStream out, RowSet rows, Context context) {
        try {
            new Table(out, rows.getResultVars()).write(rows);
        } catch (IOException error) {
            IO.exception(error);
        }
    }

    @Override
    public void write(Writer out, RowSet rows, Context context) {
        original.write(out, rows, context);
    }

    @Override
    public void write(OutputStream out, boolean answer, Context context) {
        original.write(out, answer, context);
    }

    /** One answer, and the bytes of it that are not yet sent. */
    private static final class Table {
        private static final int PIECE = 1 << 16;
        private static final byte[] EMPTY = {'"', '"'};

        private final OutputStream out;
        private final Var[] columns;
        // The last value of each column, since values often repeat from row to row.
        private final Node[] last;
        private final byte[][] lastBytes;
        private final NodeToLabel blankNodes = NodeToLabel.createScopeByDocument();
        private byte[] piece = new byte[PIECE];
        private int size;

        Table(OutputStream out, List<Var> columns) {
            this.out = out;
            this.columns = columns.toArray(new Var[0]);
            last = new Node[this.columns.length];
            lastBytes = new byte[this.columns.length][];
        }

        void write(RowSet rows) throws IOException {
            for (int i = 0; i < columns.length; i++) {
                separate(i);
                add(bytes(columns[i].getVarName()));
            }
            endRow();
            while (rows.hasNext())
                write(rows.next());
            out.write(piece, 0, size);
            out.flush();
        }

        private void write(Binding row) throws IOException {
            for (int i = 0; i < columns.length; i++) {
                separate(i);
                Node node = row.get(columns[i]);
                if (node == null)
                    continue;
                if (node != last[i]) {
                    last[i] = node;
                    lastBytes[i] = bytes(text(node));
                }
                add(lastBytes[i]);
            }
            endRow();
        }

        private String text(Node node) {
            if (node.isLiteral())
                return node.getLiteralLexicalForm();
            if (node.isURI())
                return node.getURI();
            return node.isBlank() ? blankNodes.get(null, node) : NodeFmtLib.strNT(node);
        }

        private static byte[] bytes(String text) {
            if (text.isEmpty())
                return EMPTY;
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            for (byte one : bytes)
                if (one == '"' || one == ',' || one == '\n' || one == '\r')
                    return ('"' + text.replace("\"", "\"\"") + '"')
                            .getBytes(StandardCharsets.UTF_8);
            return bytes;
        }

        private void separate(int column) throws IOException {
            if (column > 0)
                add((byte) ',');
        }

        private void endRow() throws IOException {
            add((byte) '\r');
            add((byte) '\n');
        }

        private void add(byte one) throws IOException {
            if (size == piece.length)
                send();
            piece[size++] = one;
        }

        private void add(byte[] bytes) throws IOException {
            if (bytes.length > piece.length - size)
                send();
            if (bytes.length > piece.length)
                piece = Arrays.copyOf(piece, bytes.length);
            System.arraycopy(bytes, 0, piece, size, bytes.length);
            size += bytes.length;
        }

        private void send() throws IOException {
            out.write(piece, 0, size);
            size = 0;
        }
    }
}
