package org.w3id.supertwin.placement;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A set of threads in hwloc's tree and its subsets, ordered by their lowest thread. */
record Branch(BitSet cpus, List<Branch> children) {
    private static final Comparator<BitSet> LARGEST_FIRST = Comparator
            .comparingInt((BitSet set) -> -set.cardinality()).thenComparingInt(Branch::lowest);

    /** Nest sets of threads and single threads; sets that overlap others are left out. */
    static Branch of(BitSet cpus, Collection<BitSet> sets) {
        Set<BitSet> nested = new HashSet<>(sets);
        cpus.stream().forEach(cpu -> nested.add(single(cpu)));
        nested.remove(cpus);
        Branch root = new Branch(cpus, new ArrayList<>());
        Map<Integer, Branch> smallest = new HashMap<>();
        cpus.stream().forEach(cpu -> smallest.put(cpu, root));
        nested.stream().filter(set -> !set.isEmpty()).sorted(LARGEST_FIRST)
                .forEach(set -> add(set, smallest));
        root.sort();
        return root;
    }

    private static BitSet single(int cpu) {
        BitSet set = new BitSet();
        set.set(cpu);
        return set;
    }

    private static void add(BitSet set, Map<Integer, Branch> smallest) {
        Branch parent = smallest.get(lowest(set));
        if (set.stream().anyMatch(cpu -> smallest.get(cpu) != parent))
            return;
        Branch branch = new Branch(set, new ArrayList<>());
        parent.children.add(branch);
        set.stream().forEach(cpu -> smallest.put(cpu, branch));
    }

    private void sort() {
        children.sort(Comparator.comparingInt(child -> lowest(child.cpus)));
        children.forEach(Branch::sort);
    }

    private static int lowest(BitSet set) {
        return set.nextSetBit(0);
    }

    /** The threads, depth first. */
    List<Integer> leaves() {
        if (children.isEmpty())
            return cpus.stream().boxed().toList();
        return children.stream().flatMap(child -> child.leaves().stream()).toList();
    }

    /**
     * Some of the candidates, as far apart as hwloc_distrib() in hwloc's helper.h places them.
     *
     * <p>Each branch gets threads in proportion to its candidates. A set that gets one thread gives
     * its lowest candidate, as with {@code hwloc-distrib --single}.
     *
     * @param count at most the number of candidates
     */
    List<Integer> spread(BitSet candidates, int count) {
        return distribute(List.of(pruned(candidates)), count).stream().map(Branch::lowest)
                .toList();
    }

    private Branch pruned(BitSet candidates) {
        BitSet kept = (BitSet) cpus.clone();
        kept.and(candidates);
        return new Branch(kept, children.stream().filter(child -> child.cpus.intersects(candidates))
                .map(child -> child.pruned(candidates)).toList());
    }

    private static List<BitSet> distribute(List<Branch> roots, int count) {
        List<BitSet> found = new ArrayList<>();
        long weight = roots.stream().mapToLong(root -> root.cpus.cardinality()).sum();
        long given = 0;
        for (Branch root : roots) {
            long before = given;
            given += root.cpus.cardinality();
            int share = (int) (roundedUp(given * count, weight)
                    - roundedUp(before * count, weight));
            if (share == 0)
                // This branch gets no thread; it extends the set of the branch before it.
                found.get(found.size() - 1).or(root.cpus);
            else if (share == 1)
                found.add((BitSet) root.cpus.clone());
            else
                found.addAll(distribute(root.children, share));
        }
        return found;
    }

    private static long roundedUp(long value, long by) {
        return (value + by - 1) / by;
    }
}
