package org.w3id.supertwin.samples;

import java.util.BitSet;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.engine.ExecutionContext;
import org.apache.jena.sparql.engine.QueryIterator;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.engine.binding.BindingBuilder;
import org.apache.jena.sparql.engine.binding.BindingFactory;
import org.apache.jena.sparql.engine.iterator.QueryIter1;

/** The rows before an OPTIONAL; a hidden variable numbers them, to find those without a match. */
final class NumberedRows implements Iterable<Binding> {
    private final List<Binding> rows;
    private final Var number;

    NumberedRows(List<Binding> rows, Requests requests) {
        this.rows = rows;
        // An OPTIONAL may contain another, which needs another variable.
        number = Var.alloc(ARQConstants.allocVarMarker + "row" + requests.nextNumber());
    }

    @Override
    public Iterator<Binding> iterator() {
        return IntStream.range(0, rows.size())
                .mapToObj(i -> BindingFactory.binding(rows.get(i), number, Numbers.whole(i)))
                .iterator();
    }

    /** The matches, then the rows without a match. */
    QueryIterator withoutLoss(QueryIterator matches, ExecutionContext context) {
        return new Matches(matches, context);
    }

    private Binding withoutNumber(Binding row) {
        BindingBuilder plain = Binding.builder();
        row.forEach((variable, value) -> {
            if (!variable.equals(number))
                plain.add(variable, value);
        });
        return plain.build();
    }

    private final class Matches extends QueryIter1 {
        private final BitSet matched = new BitSet();
        private int place;

        Matches(QueryIterator matches, ExecutionContext context) {
            super(matches, context);
        }

        @Override
        protected boolean hasNextBinding() {
            if (getInput().hasNext())
                return true;
            place = matched.nextClearBit(place);
            return place < rows.size();
        }

        @Override
        protected Binding moveToNextBinding() {
            if (!getInput().hasNext())
                return rows.get(place++);
            Binding match = getInput().next();
            matched.set(((Number) match.get(number).getLiteralValue()).intValue());
            return withoutNumber(match);
        }

        @Override
        protected void requestSubCancel() {}

        @Override
        protected void closeSubIterator() {}
    }
}
