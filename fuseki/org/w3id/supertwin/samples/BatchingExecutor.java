package org.w3id.supertwin.samples;

import java.util.ArrayList;
import java.util.List;

import org.apache.jena.graph.Node;
import org.apache.jena.sparql.algebra.Op;
import org.apache.jena.sparql.algebra.op.OpConditional;
import org.apache.jena.sparql.algebra.op.OpFilter;
import org.apache.jena.sparql.algebra.op.OpGraph;
import org.apache.jena.sparql.algebra.op.OpJoin;
import org.apache.jena.sparql.algebra.op.OpUnion;
import org.apache.jena.sparql.core.Quad;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.QueryIterator;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.engine.iterator.QueryIterConcat;
import org.apache.jena.sparql.engine.iterator.QueryIterPlainWrapper;
import org.apache.jena.sparql.engine.main.QC;
import org.apache.jena.sparql.util.Context;
import org.apache.jena.tdb2.solver.OpExecutorTDB2;

/**
 * Gives functions all rows at once, and the thresholds of the FILTER around them.
 *
 * <p>Jena by itself evaluates OPTIONAL and UNION row by row. In the union of all graphs it does the
 * same with a function after VALUES or BIND. The series store would then get a request per row.
 */
final class BatchingExecutor extends OpExecutorTDB2 {
    private BatchingExecutor(ExecutionContext context) {
        super(context);
    }

    /** Use it for the queries of a context. */
    static void use(Context context) {
        QC.setFactory(context, BatchingExecutor::new);
    }

    @Override
    protected QueryIterator execute(OpFilter filter, QueryIterator input) {
        return super.execute(Threshold.passedOn(filter), input);
    }

    @Override
    protected QueryIterator execute(OpGraph graph, QueryIterator input) {
        Node name = graph.getNode();
        boolean isWhole = Quad.isDefaultGraph(name) || Quad.isUnionGraph(name);
        if (!isWhole || !RowWise.callsFunction(graph.getSubOp()))
            return super.execute(graph, input);
        return QC.execute(graph.getSubOp(), input, ExecutionContext
                .copyChangeActiveGraph(execCxt, execCxt.getDataset().getGraph(name)));
    }

    @Override
    protected QueryIterator execute(OpJoin join, QueryIterator input) {
        if (!RowWise.needsRows(join.getRight()))
            return super.execute(join, input);
        return exec(join.getRight(), exec(join.getLeft(), input));
    }

    @Override
    protected QueryIterator execute(OpConditional optional, QueryIterator input) {
        if (!RowWise.callsFunction(optional.getRight()))
            return super.execute(optional, input);
        List<Binding> rows = collected(exec(optional.getLeft(), input));
        NumberedRows numbered = new NumberedRows(rows, Requests.of(execCxt.getContext()));
        return numbered.withoutLoss(exec(optional.getRight(), iterator(numbered)), execCxt);
    }

    @Override
    protected QueryIterator execute(OpUnion union, QueryIterator input) {
        if (!RowWise.callsFunction(union))
            return super.execute(union, input);
        List<Binding> rows = collected(input);
        QueryIterConcat all = new QueryIterConcat(execCxt);
        for (Op branch : flattenUnion(union))
            all.add(exec(branch, iterator(rows)));
        return all;
    }

    private QueryIterator iterator(Iterable<Binding> rows) {
        return QueryIterPlainWrapper.create(rows.iterator(), execCxt);
    }

    private List<Binding> collected(QueryIterator rows) {
        Requests requests = Requests.of(execCxt.getContext());
        List<Binding> found = new ArrayList<>();
        while (rows.hasNext()) {
            requests.checkRows(found.size());
            found.add(rows.next());
        }
        rows.close();
        return found;
    }
}
