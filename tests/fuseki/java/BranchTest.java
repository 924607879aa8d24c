package org.w3id.supertwin.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;

/** Trees of sets, and spreading over them, without servers. */
class BranchTest {
    private static BitSet set(int... cpus) {
        BitSet found = new BitSet();
        Arrays.stream(cpus).forEach(found::set);
        return found;
    }

    private static Branch tree(int count, BitSet... sets) {
        return Branch.of(set(IntStream.range(0, count).toArray()), List.of(sets));
    }

    @Test
    void spreadUsesCandidatesOnly() {
        Branch root = tree(8, set(0, 1, 2, 3), set(4, 5, 6, 7));
        assertEquals(List.of(1, 6), root.spread(set(1, 2, 6, 7), 2));
        assertEquals(List.of(1, 2, 3), root.spread(set(1, 2, 3, 7), 3));
        assertEquals(List.of(1, 2, 3, 7), root.spread(set(1, 2, 3, 7), 4));
        assertEquals(List.of(5), root.spread(set(5), 1));
    }

    @Test
    void branchWithoutThreadExtendsTheSetBeforeIt() {
        Branch root = tree(10, set(0, 9), set(1, 2), set(3, 4, 5, 6, 7, 8));
        assertEquals(List.of(1, 4), root.spread(set(9, 1, 2, 4, 5, 6), 2));
    }

    @Test
    void overlappingSetsAreOmitted() {
        Branch root = tree(4, set(0, 1), set(1, 2), set(2, 3));
        assertEquals(List.of(0, 1, 2, 3), root.leaves());
        assertEquals(List.of(set(0, 1), set(2, 3)),
                root.children().stream().map(Branch::cpus).toList());
        assertEquals(List.of(0, 1, 3), root.spread(set(0, 1, 3), 3));
    }

    @Test
    void childrenAreInTheOrderOfTheirLowestThread() {
        Branch root = tree(8, set(1, 5), set(0, 4), set(2, 6), set(3, 7), set(0, 2, 4, 6));
        assertEquals(List.of(0, 4, 2, 6, 1, 5, 3, 7), root.leaves());
    }
}
