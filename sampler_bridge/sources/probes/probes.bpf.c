/* Counts calls and times them, for each probe. The cookie of an attachment holds the
 * number of its probe (8 bits), what calls are counted by (8), how their argument is
 * read (16), and how often the number was used before (32).
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
typedef __s64 s64;
typedef __u32 u32;

#define WINDOW_NS 100000000ull
#define PROBE(cookie) ((u32)(cookie) & 0xff)
#define BY(cookie) ((u32)(cookie) >> 8 & 0xff)
#define FORM(cookie) ((u32)(cookie) >> 16)
#define WITHOUT_FORM(cookie) ((cookie) & 0xffffffff0000ffffull)

struct call {
    u64 thread;
    u64 cookie; /* so that no call of an earlier probe is taken for one */
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

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, KEYS);
    __type(key, struct key);
    __type(value, struct keyed);
} keyed SEC(".maps");

/* How many keys each probe has. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, PROBES);
    __type(key, u32);
    __type(value, u64);
} keys SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, FORMS);
    __type(key, u32);
    __type(value, struct form);
} forms SEC(".maps");

/* Where the registers of a function's caller hold its stack pointer (bytes); set by the
 * program that attaches, so that this object is the same for all machines. */
const volatile u32 stack_at = 0;

/* ---- by thread and control group ------------------------------------------------- */

static int key_of(u64 cookie, struct key *key)
{
    key->probe = WITHOUT_FORM(cookie);
    if (BY(cookie) == BY_THREAD)
        key->of = (u32)bpf_get_current_pid_tgid();
    else if (BY(cookie) == BY_CGROUP)
        key->of = bpf_get_current_cgroup_id();
    else
        return 0;
    return 1;
}

static struct keyed *new_key(u64 cookie, const struct key *key)
{
    struct keyed none = {0};
    u32 probe = PROBE(cookie);
    u64 *used = bpf_map_lookup_elem(&keys, &probe);
    if (!used || *used >= PROBE_KEYS)
        return 0;
    /* Another CPU may have made it meanwhile. */
    if (!bpf_map_update_elem(&keyed, key, &none, BPF_NOEXIST))
        __sync_fetch_and_add(used, 1);
    return bpf_map_lookup_elem(&keyed, key);
}

static void count_key(u64 cookie, struct counts *counts)
{
    struct key key;
    struct keyed *found;
    if (!key_of(cookie, &key))
        return;
    found = bpf_map_lookup_elem(&keyed, &key);
    if (!found)
        found = new_key(cookie, &key);
    if (found)
        __sync_fetch_and_add(&found->calls, 1);
    else
        counts->unkeyed++;
}

static void time_key(u64 cookie, u64 nanoseconds)
{
    struct key key;
    struct keyed *found;
    if (!key_of(cookie, &key))
        return;
    found = bpf_map_lookup_elem(&keyed, &key);
    if (!found)
        return;
    __sync_fetch_and_add(&found->timed, 1);
    __sync_fetch_and_add(&found->nanoseconds, nanoseconds);
}

/* ---- arguments ------------------------------------------------------------------- */

/* What lies in the context of the program: a register or a field of an event. */
static u64 in_context(const void *context, u32 at)
{
    u64 value = 0;
    bpf_probe_read_kernel(&value, sizeof value, context + (at & 0xffff));
    return value;
}

static int read_argument(const struct form *form, const void *context, u64 *value)
{
    u64 address;
    *value = form->displacement;
    if (form->where == CONSTANT)
        return 0;
    *value = in_context(context, form->base);
    if (form->where == CONTEXT)
        return 0;
    address = *value + form->displacement;
    if (form->scale)
        address += in_context(context, form->index) * form->scale;
    return bpf_probe_read_user(value, (form->size < 0 ? -form->size : form->size) & 15,
                               (void *)address);
}

static u32 argument_bucket(const struct form *form, u64 value)
{
    u32 unused = 64 - 8 * (form->size < 0 ? -form->size : form->size), bucket = 1;
    value <<= unused & 63;
    value = form->size < 0 ? (u64)((s64)value >> (unused & 63)) : value >> (unused & 63);
    if (!value || (form->size < 0 && (s64)value < 0))
        return 0;
    value--; /* a bound belongs to its own bucket */
    for (int step = 32; step; step /= 2) {
        if (value >> step) {
            value >>= step;
            bucket += step;
        }
    }
    return bucket + (value ? 1 : 0);
}

static void count_argument(u64 cookie, const void *context, struct counts *counts)
{
    u32 number = FORM(cookie), bucket;
    struct form *form;
    u64 value = 0;
    if (!number)
        return;
    form = bpf_map_lookup_elem(&forms, &number);
    if (!form)
        return;
    if (read_argument(form, context, &value)) {
        counts->unread++;
        return;
    }
    bucket = argument_bucket(form, value);
    counts->arguments[bucket < ARGUMENT_BUCKETS ? bucket : ARGUMENT_BUCKETS - 1]++;
}

/* ---- calls ----------------------------------------------------------------------- */

static struct counts *count(u64 cookie, const void *context)
{
    u32 probe = PROBE(cookie);
    struct counts *counts = bpf_map_lookup_elem(&counted, &probe);
    if (!counts)
        return 0;
    counts->calls++;
    count_key(cookie, counts);
    count_argument(cookie, context, counts);
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

static int enter(u64 cookie, u64 stack, const void *context)
{
    struct call call = {bpf_get_current_pid_tgid(), WITHOUT_FORM(cookie)};
    struct start first = {bpf_ktime_get_ns(), 1, stack, bpf_get_current_task()}, *known;
    struct counts *counts = count(cookie, context);
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
    if (is_over(counts, PROBE(cookie), first.time) ||
        bpf_map_update_elem(&started, &call, &first, BPF_ANY))
        counts->shed++;
    return 0;
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
    u32 probe = PROBE(cookie);
    struct call call = {bpf_get_current_pid_tgid(), WITHOUT_FORM(cookie)};
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
    time_key(cookie, now);
    bucket = bucket_of(now);
    if (bucket < BUCKETS)
        counts->buckets[bucket]++;
    return 0;
}

#define PROGRAMS(section, suffix, stack)                                               \
    SEC(section) int count_##suffix(void *context)                                     \
    {                                                                                  \
        count(bpf_get_attach_cookie(context), context);                                         \
        return 0;                                                                      \
    }                                                                                  \
    SEC(section) int enter_##suffix(void *context)                                     \
    {                                                                                  \
        return enter(bpf_get_attach_cookie(context), stack, context);                           \
    }                                                                                  \
    SEC(section) int leave_##suffix(void *context)                                     \
    {                                                                                  \
        return leave(bpf_get_attach_cookie(context));                                  \
    }

PROGRAMS("uprobe", user, in_context(context, stack_at))
PROGRAMS("tracepoint", event, 0)

/* Of the sources of this object, for a test that they belong together. */
const char digest[] SEC("sources") = DIGEST;
char LICENSE[] SEC("license") = "GPL";
