/* Counts calls and times them, for each probe; the lower half of an attachment's cookie
 * is the number of its probe, the upper half how often that number was used before.
 *
 * All probes share these programs, so that no program is made from text. `enter` and
 * `leave` may be a function and its return, two USDT probes or two tracepoints: both
 * run in the same thread.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "probes.h"

typedef __u64 u64;
typedef __u32 u32;

#define WINDOW_NS 100000000ull

struct call {
    u64 thread;
    u64 cookie; /* in full, so that no call of an earlier probe is taken for one */
};
struct start {
    u64 time;
    u64 depth; /* of a function that calls itself: only the outermost call is timed */
    u64 stack, task;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, PROBES);
    __type(key, u32);
    __type(value, struct counts);
} counted SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, PROBES);
    __type(key, u32);
    __type(value, u64);
} limits SEC(".maps");

/* A thread may end in a call. Such starts stay, until newer ones need their room. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, STARTED);
    __type(key, struct call);
    __type(value, struct start);
} started SEC(".maps");

/* Where the registers of a function's caller hold its stack pointer (bytes); set by the
 * program that attaches, so that this object is the same for all machines. */
const volatile u32 stack_at = 0;

static struct counts *count(u32 probe)
{
    struct counts *counts = bpf_map_lookup_elem(&counted, &probe);
    if (counts)
        counts->calls++;
    return counts;
}

/* Whether this CPU has timed as many calls of the probe in this window as it may. */
static int is_over(struct counts *counts, u32 probe, u64 now)
{
    u64 *limit = bpf_map_lookup_elem(&limits, &probe);
    if (!limit || !*limit)
        return 0;
    if (counts->window != now / WINDOW_NS) {
        counts->window = now / WINDOW_NS;
        counts->in_window = 0;
    }
    return counts->in_window++ >= *limit;
}

/* Whether a call was made within another. If not, the other ended without its return:
 * by longjmp, an exception, or with its thread, whose number another has now. Stacks
 * grow down. Events have no stack: one never contains another. */
static int is_within(const struct start *inner, const struct start *outer)
{
    return inner->task == outer->task && inner->stack < outer->stack;
}

static int enter(u64 cookie, u64 stack)
{
    u32 probe = cookie;
    struct call call = {bpf_get_current_pid_tgid(), cookie};
    struct start first = {bpf_ktime_get_ns(), 1, stack, bpf_get_current_task()}, *known;
    struct counts *counts = count(probe);
    if (!counts)
        return 0;
    known = bpf_map_lookup_elem(&started, &call);
    if (known && is_within(&first, known)) {
        known->depth++;
        return 0;
    }
    if (known) {
        counts->missed++;
        bpf_map_delete_elem(&started, &call);
    }
    if (is_over(counts, probe, first.time) ||
        bpf_map_update_elem(&started, &call, &first, BPF_ANY))
        counts->shed++;
    return 0;
}

static u64 stack_of(void *registers)
{
    u64 stack = 0;
    bpf_probe_read_kernel(&stack, sizeof stack, registers + stack_at);
    return stack;
}

static u32 bucket_of(u64 nanoseconds)
{
    u32 bucket = 0;
    u64 most = FIRST_BUCKET_NS;
    for (int n = 0; n < BUCKETS - 1; n++) {
        if (nanoseconds <= most)
            break;
        most <<= 1;
        bucket++;
    }
    return bucket;
}

static int leave(u64 cookie)
{
    u32 probe = cookie;
    struct call call = {bpf_get_current_pid_tgid(), cookie};
    u64 now = bpf_ktime_get_ns();
    struct start *start = bpf_map_lookup_elem(&started, &call);
    struct counts *counts = bpf_map_lookup_elem(&counted, &probe);
    u32 bucket;
    if (!counts)
        return 0;
    if (!start) {
        counts->missed++;
        return 0;
    }
    if (--start->depth)
        return 0;
    now -= start->time;
    bpf_map_delete_elem(&started, &call);
    counts->timed++;
    counts->nanoseconds += now;
    bucket = bucket_of(now);
    if (bucket < BUCKETS)
        counts->buckets[bucket]++;
    return 0;
}

#define PROGRAMS(section, suffix, stack)                                               \
    SEC(section) int count_##suffix(void *context)                                     \
    {                                                                                  \
        count(bpf_get_attach_cookie(context));                                         \
        return 0;                                                                      \
    }                                                                                  \
    SEC(section) int enter_##suffix(void *context)                                     \
    {                                                                                  \
        return enter(bpf_get_attach_cookie(context), stack);                           \
    }                                                                                  \
    SEC(section) int leave_##suffix(void *context)                                     \
    {                                                                                  \
        return leave(bpf_get_attach_cookie(context));                                  \
    }

PROGRAMS("uprobe", user, stack_of(context))
PROGRAMS("tracepoint", event, 0)

/* Of the sources of this object, for a test that they belong together. */
const char digest[] SEC("sources") = DIGEST;
char LICENSE[] SEC("license") = "GPL";
