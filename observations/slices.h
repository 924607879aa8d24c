/* Keeps the longest slices of a thread in a table of fixed size. It is inserted into the
 * recorders that include it: recorder_sources.py. */
#include <stdatomic.h>
#include <stdint.h>

enum { SLICES = 8192 };

/* What a thread did from `begin` to `end`, in ns of the monotonic clock. */
struct slice {
    uint64_t what, begin, end;
};

/* How many slices a table has. Those shorter than `least` are only counted, as
 * `left_out`. */
struct kept {
    uint64_t slices, left_out, least;
};

/* How many slices last at least so long. */
static uint64_t count_slices(const struct kept *k, const struct slice *slice,
                             uint64_t ns) {
    uint64_t found = 0;
    for (uint64_t i = 0; i < k->slices; i++)
        found += slice[i].end - slice[i].begin >= ns;
    return found;
}

/* Removes the shorter half of the slices; of those as short, the first ones stay. */
static void drop_short(struct kept *k, struct slice *slice) {
    uint64_t low = k->least, high = UINT64_MAX, kept = 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (count_slices(k, slice, middle) > SLICES / 2)
            low = middle;
        else
            high = middle;
    }
    k->least = high;
    uint64_t as_short = SLICES / 2 - count_slices(k, slice, high);
    for (uint64_t i = 0; i < k->slices; i++) {
        uint64_t ns = slice[i].end - slice[i].begin;
        if (ns >= high || (ns == low && as_short && as_short--))
            slice[kept++] = slice[i];
    }
    k->left_out += k->slices - kept;
    k->slices = kept;
}

static void keep_slice(struct kept *k, struct slice *slice, struct slice one) {
    if (k->slices == SLICES) drop_short(k, slice);
    if (one.end - one.begin < k->least) {
        k->left_out++;
        return;
    }
    slice[k->slices] = one;
    atomic_signal_fence(memory_order_release);
    k->slices++;
}
