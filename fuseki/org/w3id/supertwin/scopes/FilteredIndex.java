package org.w3id.supertwin.scopes;

import java.util.Collection;
import java.util.Iterator;
import java.util.function.Predicate;

import org.apache.jena.atlas.iterator.Iter;
import org.apache.jena.atlas.lib.tuple.Tuple;
import org.apache.jena.atlas.lib.tuple.TupleMap;
import org.apache.jena.tdb2.store.NodeId;
import org.apache.jena.tdb2.store.tupletable.TupleIndex;

/** An index that leaves out tuples; it gives no access to the whole one, and cannot be written. */
final class FilteredIndex implements TupleIndex {
    private final TupleIndex whole;
    private final Predicate<Tuple<NodeId>> visible;

    FilteredIndex(TupleIndex whole, Predicate<Tuple<NodeId>> visible) {
        this.whole = whole;
        this.visible = visible;
    }

    @Override
    public Iterator<Tuple<NodeId>> find(Tuple<NodeId> pattern) {
        Iterator<Tuple<NodeId>> found = whole.find(pattern);
        return found == null ? null : Iter.filter(found, visible);
    }

    @Override
    public Iterator<Tuple<NodeId>> all() {
        return Iter.filter(whole.all(), visible);
    }

    @Override
    public long size() {
        return Iter.count(all());
    }

    @Override
    public boolean isEmpty() {
        return !all().hasNext();
    }

    @Override
    public TupleIndex wrapped() {
        return null;
    }

    @Override
    public String getName() {
        return whole.getName();
    }

    @Override
    public String getMappingStr() {
        return whole.getMappingStr();
    }

    @Override
    public TupleMap getMapping() {
        return whole.getMapping();
    }

    @Override
    public int weight(Tuple<NodeId> pattern) {
        return whole.weight(pattern);
    }

    @Override
    public int getTupleLength() {
        return whole.getTupleLength();
    }

    @Override
    public void add(Tuple<NodeId> tuple) {
        throw readOnly();
    }

    @Override
    public void delete(Tuple<NodeId> tuple) {
        throw readOnly();
    }

    @Override
    public void addAll(Collection<Tuple<NodeId>> tuples) {
        throw readOnly();
    }

    @Override
    public void deleteAll(Collection<Tuple<NodeId>> tuples) {
        throw readOnly();
    }

    @Override
    public void clear() {
        throw readOnly();
    }

    @Override
    public void sync() {}

    @Override
    public void close() {}

    private static UnsupportedOperationException readOnly() {
        return new UnsupportedOperationException("a dataset of a scope cannot be written");
    }
}
