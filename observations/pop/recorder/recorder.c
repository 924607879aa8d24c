/* Records how each thread of a process spends its time: useful, in OpenMP's runtime,
 * or in MPI; if SUPERTWIN_POP_TRACE is set, also when. It is preloaded;
 * see ../recording.py for how, and for what reads its files.
 *
 * It needs no headers of MPI or OpenMP. Arguments of MPI are integers and pointers, so
 * a wrapper can pass on registers and stack slots without knowing their meaning, for
 * any implementation of MPI.
 *
 * A process that uses MPI or OpenMP creates PID.part in the folder of the run, and
 * renames it to PID.json when it has written its times. A process that is killed leaves
 * the first. Nothing here may end or fail the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "slices.h"

enum state { USEFUL, BARRIER, IDLE, LOCK, FORK, MPI_WAIT, MPI_OTHER, STATES };
enum { DEPTH = 64, NAMES = 256, PATH = 4096 };

typedef uint64_t ns;

/* The state of a thread is the top of its stack. Beyond its depth only the number of
 * states is counted. `slice` has the longest times that it was in a state, by the address
 * of the name of what it called; there is none unless they are traced. `cut` is the end
 * of a barrier that the thread has just left, if that is earlier. */
struct thread {
    ns since, total[STATES];
    int depth, used;
    atomic_int taken;
    unsigned char stack[DEPTH];
    const char *name[DEPTH];
    ns began[DEPTH], cut;
    struct kept kept;
    struct slice *slice;
    struct thread *next;
} __attribute__((aligned(64)));

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static _Atomic(struct thread *) threads;
static struct thread *initial;
static _Atomic ns region_end;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH - 64];
static pid_t owner;
static ns first;
static int rank = -1, size, is_started, is_written, has_ompt, has_mpi, is_traced;

static ns now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ns)t.tv_sec * 1000000000 + (ns)t.tv_nsec;
}

/* ---- states ---- */

static enum state top(const struct thread *t) {
    return t->stack[t->depth < DEPTH ? t->depth : DEPTH - 1];
}

/* A worker stays in the barrier at the end of a region until the next region begins.
 * What follows the end of the region is idle time. */
static ns end_of(enum state state, ns from, ns to) {
    ns end = atomic_load_explicit(&region_end, memory_order_relaxed);
    return state == BARRIER && from <= end && end <= to ? end : to;
}

static void add(ns *total, enum state state, ns from, ns to) {
    ns end = end_of(state, from, to);
    if (end > from) total[state] += end - from;
    if (to > end) total[IDLE] += to - end;
}

static void account(struct thread *t) {
    ns at = now();
    add(t->total, top(t), t->since, at);
    t->since = at;
}

static void enter(enum state state, const char *name) {
    struct thread *t = self;
    if (!t) return;
    account(t);
    t->cut = 0;
    if (++t->depth >= DEPTH) return;
    t->stack[t->depth] = (unsigned char)state;
    t->name[t->depth] = name;
    t->began[t->depth] = t->since;
}

/* Keeps when the thread was in what it leaves: from a place in its stack to the top. */
static void trace(struct thread *t, int from, ns end) {
    for (int at = t->depth; at >= from; at--) {
        if (at >= DEPTH || !t->slice)
            t->kept.left_out++;
        else if (end >= t->began[at])
            keep_slice(&t->kept, t->slice,
                       (struct slice){(uintptr_t)t->name[at], t->began[at], end});
    }
}

/* Leaves what was entered last, above all states that were not left. */
static void leave(enum state state) {
    struct thread *t = self;
    if (!t) return;
    ns from = t->since;
    account(t);
    ns end = t->cut ? t->cut : end_of(top(t), from, t->since);
    int at = t->depth;
    while (at > 0 && at < DEPTH && t->stack[at] != state) at--;
    if (at > 0 && is_traced) trace(t, at, end);
    if (at > 0) t->depth = at - 1;
    t->cut = state == BARRIER && end < t->since ? end : 0;
}

static struct thread *take_thread(void) {
    for (struct thread *t = threads; t; t = t->next) {
        int free_ = 0;
        if (atomic_compare_exchange_strong(&t->taken, &free_, 1)) return t;
    }
    struct thread *t = aligned_alloc(64, sizeof *t);
    if (!t) return NULL;
    memset(t, 0, sizeof *t);
    if (is_traced) t->slice = malloc(SLICES * sizeof *t->slice);
    t->taken = 1;
    t->next = threads;
    while (!atomic_compare_exchange_weak(&threads, &t->next, t)) {}
    return t;
}

static void begin_thread(enum state base) {
    struct thread *t = take_thread();
    if (!t) return;
    t->depth = 0;
    t->cut = 0;
    t->stack[0] = (unsigned char)base;
    t->since = now();
    self = t;
}

static void end_thread(void) {
    struct thread *t = self;
    if (!t || t == initial) return;
    account(t);
    self = NULL;
    t->depth = 0;
    t->stack[0] = IDLE;
    t->taken = 0;
}

/* ---- the file of the process ---- */

static int is_library(struct dl_phdr_info *info, size_t length, void *name) {
    (void)length;
    const char *slash = strrchr(info->dlpi_name ? info->dlpi_name : "", '/');
    return slash && !strncmp(slash + 1, name, strlen(name));
}

static int is_loaded(const char *name) {
    return dl_iterate_phdr(is_library, (void *)name);
}

/* Whether a tool for OpenMP that is not ours is linked or named by a variable. */
static int has_other_tool(void) {
    Dl_info found;
    void *start = dlsym(RTLD_DEFAULT, "ompt_start_tool");
    if (start && dladdr(start, &found) && found.dli_fname)
        if (!strstr(found.dli_fname, "libomp") && !strstr(found.dli_fname, "libiomp"))
            return 1;
    return getenv("SUPERTWIN_POP_OTHER_TOOL") != NULL;
}

static const char *openmp(void) {
    if (has_ompt) return "recorded";
    if (is_loaded("libomp") || is_loaded("libiomp"))
        return has_other_tool() ? "other-tool" : "none";
    return is_loaded("libgomp") ? "libgomp" : "none";
}

static void path_of(char *path, const char *suffix) {
    snprintf(path, PATH, "%s/%d.%s", folder, (int)owner, suffix);
}

/* Marks a process whose times are expected. */
static void start(void) {
    char path[PATH];
    if (is_started || !*folder) return;
    is_started = 1;
    path_of(path, "part");
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
}

static void write_thread(FILE *file, struct thread *t, ns at) {
    ns total[STATES], sum = 0;
    memcpy(total, t->total, sizeof total);
    add(total, top(t), t->since, at);
    /* Before it began and after it ended, a thread is idle. */
    for (int s = 0; s < STATES; s++) sum += s == IDLE ? 0 : total[s];
    total[IDLE] = at - first > sum ? at - first - sum : 0;
    for (int s = 0; s < STATES; s++)
        fprintf(file, "%s%" PRIu64, s ? "," : "[", total[s]);
    fputs("]", file);
}

/* The names that slices have, each written once. */
struct names {
    const char *name[NAMES];
    int number;
};

static int number_of(struct names *names, const char *name) {
    int at = 0;
    while (at < names->number && names->name[at] != name) at++;
    if (at == names->number && at < NAMES) names->name[names->number++] = name;
    return at < NAMES ? at : NAMES - 1;
}

static void write_slice(FILE *file, struct names *names, struct slice one, int *number) {
    const char *name = (const char *)(uintptr_t)one.what;
    /* Another thread may be writing it now. */
    if (!name || one.end < one.begin) return;
    fprintf(file, "%s[%d,%" PRIu64 ",%" PRIu64 "]", (*number)++ ? "," : "",
            number_of(names, name), one.begin, one.end);
}

/* Also writes what the thread has not left yet: a worker waits for the next region. */
static void write_slices(FILE *file, struct names *names, struct thread *t, ns at) {
    int number = 0, depth = t->depth < DEPTH ? t->depth : DEPTH - 1;
    ns end = t->cut ? t->cut : end_of(top(t), t->since, at);
    fputs("[", file);
    for (uint64_t i = 0; t->slice && i < t->kept.slices; i++)
        write_slice(file, names, t->slice[i], &number);
    for (int i = depth; i > 0; i--) {
        struct slice one = {(uintptr_t)t->name[i], t->began[i], end};
        write_slice(file, names, one, &number);
    }
    fputs("]", file);
}

static struct thread *next_used(struct thread *t) {
    while (t && (t == initial || !t->used)) t = t->next;
    return t;
}

static void write_trace(FILE *file, ns at) {
    static struct names names;
    uint64_t left_out = initial->kept.left_out;
    fputs(",\"slices\":[", file);
    write_slices(file, &names, initial, at);
    for (struct thread *t = next_used(threads); t; t = next_used(t->next)) {
        fputs(",", file);
        write_slices(file, &names, t, at);
        left_out += t->kept.left_out;
    }
    fputs("],\"names\":[", file);
    for (int i = 0; i < names.number; i++)
        fprintf(file, "%s\"%s\"", i ? "," : "", names.name[i]);
    fprintf(file, "],\"left_out_slices\":%" PRIu64, left_out);
}

static void write_times(FILE *file, ns at) {
    fprintf(file, "{\"rank\":%d,\"size\":%d,\"openmp\":\"%s\",", rank, size, openmp());
    fprintf(file, "\"ns\":%" PRIu64 ",\"threads\":[", at - first);
    write_thread(file, initial, at);
    for (struct thread *t = next_used(threads); t; t = next_used(t->next)) {
        fputs(",", file);
        write_thread(file, t, at);
    }
    fputs("]", file);
    if (is_traced) write_trace(file, at);
    fputs("}\n", file);
}

static void finish(void) {
    ns at = now();
    char part[PATH], whole[PATH];
    if (getpid() != owner || !initial || pthread_mutex_trylock(&writing)) return;
    if (!is_written && is_started) {
        path_of(part, "part");
        path_of(whole, "json");
        FILE *file = fopen(part, "w");
        if (file) {
            write_times(file, at);
            int is_whole = !ferror(file);
            if (!fclose(file) && is_whole) rename(part, whole);
        }
    }
    is_written = 1;
    pthread_mutex_unlock(&writing);
}

__attribute__((constructor)) static void load(void) {
    const char *place = getenv("SUPERTWIN_POP_FOLDER");
    if (!place || strlen(place) >= sizeof folder) return;
    strcpy(folder, place);
    is_traced = getenv("SUPERTWIN_POP_TRACE") != NULL;
    owner = getpid();
    first = now();
    begin_thread(USEFUL);
    initial = self;
}

__attribute__((destructor)) static void unload(void) {
    /* OpenMP that could not be recorded is worth a file: it says why. */
    if (initial && !is_started && getpid() == owner && strcmp(openmp(), "none")) start();
    finish();
}

/* ---- OpenMP, by OMPT: the names and numbers are those of OpenMP 5.0 ---- */

typedef union { uint64_t value; void *ptr; } ompt_data;
typedef void (*ompt_callback)(void);
typedef ompt_callback (*ompt_lookup)(const char *name);
typedef int (*ompt_set_callback)(int event, ompt_callback callback);

struct ompt_tool {
    int (*initialize)(ompt_lookup lookup, int device, ompt_data *data);
    void (*finalize)(ompt_data *data);
    ompt_data data;
};

enum { THREAD_BEGIN = 1, THREAD_END, PARALLEL_BEGIN, PARALLEL_END };
enum { TASK_SCHEDULE = 6, IMPLICIT_TASK, SYNC_REGION_WAIT = 16 };
enum { MUTEX_ACQUIRE = 26, MUTEX_ACQUIRED };
enum { SCOPE_BEGIN = 1, SCOPE_END };
enum { INITIAL_TASK = 1, WORKER = 2, TASK_SWITCH = 7 };
enum { TEST_LOCK = 2, TEST_NEST_LOCK = 4 };
enum { TASK_WAIT = 5, TASK_GROUP = 6 };

static void thread_begin(int type, ompt_data *data) {
    (void)data;
    if (!self) begin_thread(type == WORKER ? IDLE : USEFUL);
}

static void thread_end(ompt_data *data) {
    (void)data;
    end_thread();
}

static void parallel_begin(ompt_data *task, const void *frame, ompt_data *parallel,
                           unsigned wanted, int flags, const void *code) {
    (void)task, (void)frame, (void)parallel, (void)wanted, (void)flags, (void)code;
    enter(FORK, "OpenMP parallel region");
}

static void parallel_end(ompt_data *parallel, ompt_data *task, int flags,
                         const void *code) {
    (void)parallel, (void)task, (void)flags, (void)code;
    leave(FORK);
    if (self) atomic_store_explicit(&region_end, self->since, memory_order_relaxed);
}

static void implicit_task(int scope, ompt_data *parallel, ompt_data *task,
                          unsigned number, unsigned index, int flags) {
    (void)parallel, (void)task, (void)number, (void)index;
    if (flags & INITIAL_TASK || !self) return;
    self->used = 1;
    if (scope == SCOPE_BEGIN) enter(USEFUL, "OpenMP thread");
    if (scope == SCOPE_END) leave(USEFUL);
}

static void sync_region_wait(int kind, int scope, ompt_data *parallel, ompt_data *task,
                             const void *code) {
    (void)parallel, (void)task, (void)code;
    int is_wait = kind == TASK_WAIT || kind == TASK_GROUP;
    if (scope == SCOPE_BEGIN)
        enter(BARRIER, is_wait ? "OpenMP wait for tasks" : "OpenMP barrier");
    if (scope == SCOPE_END) leave(BARRIER);
}

/* Threads execute tasks while they wait. */
static void task_schedule(ompt_data *prior, int status, ompt_data *next) {
    (void)prior, (void)next;
    if (status == TASK_SWITCH)
        enter(USEFUL, "OpenMP task");
    else
        leave(USEFUL);
}

static void mutex_acquire(int kind, unsigned hint, unsigned impl, uint64_t id,
                          const void *code) {
    (void)hint, (void)impl, (void)id, (void)code;
    /* A test that fails has no second event. */
    if (kind != TEST_LOCK && kind != TEST_NEST_LOCK) enter(LOCK, "OpenMP lock");
}

static void mutex_acquired(int kind, uint64_t id, const void *code) {
    (void)id, (void)code;
    if (kind != TEST_LOCK && kind != TEST_NEST_LOCK) leave(LOCK);
}

static int ompt_initialize(ompt_lookup lookup, int device, ompt_data *data) {
    (void)device, (void)data;
    ompt_set_callback set = (ompt_set_callback)lookup("ompt_set_callback");
    if (!set) return 0;
    set(THREAD_BEGIN, (ompt_callback)thread_begin);
    set(THREAD_END, (ompt_callback)thread_end);
    set(PARALLEL_BEGIN, (ompt_callback)parallel_begin);
    set(PARALLEL_END, (ompt_callback)parallel_end);
    set(IMPLICIT_TASK, (ompt_callback)implicit_task);
    set(SYNC_REGION_WAIT, (ompt_callback)sync_region_wait);
    set(TASK_SCHEDULE, (ompt_callback)task_schedule);
    set(MUTEX_ACQUIRE, (ompt_callback)mutex_acquire);
    set(MUTEX_ACQUIRED, (ompt_callback)mutex_acquired);
    has_ompt = 1;
    start();
    return 1;
}

static void ompt_finalize(ompt_data *data) {
    (void)data;
    finish();
}

/* Not named ompt_start_tool: that would take precedence over a tool of the program. */
struct ompt_tool *supertwin_pop_start_tool(unsigned version, const char *runtime) {
    (void)version, (void)runtime;
    static struct ompt_tool tool = {ompt_initialize, ompt_finalize, {0}};
    return initial && getpid() == owner ? &tool : NULL;
}

/* ---- MPI ---- */

typedef long (*mpi_call)(long, long, long, long, long, long, long, long, long, long,
                         long, long, long, long);

struct symbol {
    const char *name;
    void *address;
};

/* A library that was loaded by dlopen is not in the global scope. */
static int find_in(struct dl_phdr_info *info, size_t length, void *data) {
    (void)length;
    struct symbol *symbol = data;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libmpi")) return 0;
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return 0;
    symbol->address = dlsym(library, symbol->name);
    dlclose(library);
    return symbol->address != NULL;
}

static void *find(const char *name) {
    struct symbol symbol = {name, dlsym(RTLD_NEXT, name)};
    if (!symbol.address) dl_iterate_phdr(find_in, &symbol);
    return symbol.address;
}

static void ask_rank(void) {
    /* A handle is a pointer in Open MPI, to what the program may have copied; it is a
     * number in MPICH and what derives from it. */
    void *open_mpi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    if (!open_mpi) open_mpi = find("ompi_mpi_comm_world");
    long world = open_mpi ? (long)open_mpi : 0x44000000;
    int (*rank_of)(long, int *), (*size_of)(long, int *);
    *(void **)&rank_of = find("PMPI_Comm_rank");
    *(void **)&size_of = find("PMPI_Comm_size");
    if (rank_of) rank_of(world, &rank);
    if (size_of) size_of(world, &size);
}

/* The times of a rank begin when MPI has started. */
static void start_mpi(void) {
    if (!initial || has_mpi) return;
    has_mpi = 1;
    ask_rank();
    start();
    first = now();
    for (struct thread *t = threads; t; t = t->next) {
        memset(t->total, 0, sizeof t->total);
        t->since = first;
    }
}

#define PARAMETERS                                                                     \
    long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,    \
        long k, long l, long m, long n
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l, m, n
#define WRAP(symbol, before, after)                                                    \
    long symbol(PARAMETERS) {                                                          \
        static _Atomic(mpi_call) real;                                                 \
        if (!real) *(void **)&real = find(#symbol);                                    \
        if (!real) return 1;                                                           \
        before;                                                                        \
        long result = real(PASSED);                                                    \
        after;                                                                         \
        return result;                                                                 \
    }
/* Of C, and of Fortran (mpif.h and the module mpi). */
#define WRAP_BOTH(C, fortran, before, after)                                           \
    WRAP(MPI_##C, before, after) WRAP(mpi_##fortran##_, before, after)
#define CALL(C, fortran)                                                               \
    WRAP_BOTH(C, fortran, enter(MPI_OTHER, "MPI_" #C), leave(MPI_OTHER))
#define WAIT(C, fortran)                                                               \
    WRAP_BOTH(C, fortran, enter(MPI_WAIT, "MPI_" #C), leave(MPI_WAIT))

WRAP_BOTH(Init, init, , start_mpi())
WRAP_BOTH(Init_thread, init_thread, , start_mpi())
/* The times of a rank end here: it does not wait for others any more. */
WRAP_BOTH(Finalize, finalize, finish(), )

/* These only wait for another rank. */
WAIT(Barrier, barrier)
WAIT(Wait, wait)
WAIT(Waitall, waitall)
WAIT(Waitany, waitany)
WAIT(Waitsome, waitsome)
WAIT(Probe, probe)
WAIT(Mprobe, mprobe)
WAIT(Win_wait, win_wait)

/* These transfer data, and may wait as well. */
CALL(Send, send)
CALL(Bsend, bsend)
CALL(Ssend, ssend)
CALL(Rsend, rsend)
CALL(Recv, recv)
CALL(Mrecv, mrecv)
CALL(Isend, isend)
CALL(Ibsend, ibsend)
CALL(Issend, issend)
CALL(Irsend, irsend)
CALL(Irecv, irecv)
CALL(Imrecv, imrecv)
CALL(Sendrecv, sendrecv)
CALL(Sendrecv_replace, sendrecv_replace)
CALL(Start, start)
CALL(Startall, startall)
CALL(Test, test)
CALL(Testall, testall)
CALL(Testany, testany)
CALL(Testsome, testsome)
CALL(Iprobe, iprobe)
CALL(Improbe, improbe)
CALL(Bcast, bcast)
CALL(Reduce, reduce)
CALL(Allreduce, allreduce)
CALL(Reduce_scatter, reduce_scatter)
CALL(Reduce_scatter_block, reduce_scatter_block)
CALL(Scan, scan)
CALL(Exscan, exscan)
CALL(Gather, gather)
CALL(Gatherv, gatherv)
CALL(Scatter, scatter)
CALL(Scatterv, scatterv)
CALL(Allgather, allgather)
CALL(Allgatherv, allgatherv)
CALL(Alltoall, alltoall)
CALL(Alltoallv, alltoallv)
CALL(Alltoallw, alltoallw)
CALL(Ibarrier, ibarrier)
CALL(Ibcast, ibcast)
CALL(Ireduce, ireduce)
CALL(Iallreduce, iallreduce)
CALL(Iallgather, iallgather)
CALL(Iallgatherv, iallgatherv)
CALL(Ialltoall, ialltoall)
CALL(Ialltoallv, ialltoallv)
CALL(Igather, igather)
CALL(Iscatter, iscatter)
CALL(Neighbor_allgather, neighbor_allgather)
CALL(Neighbor_allgatherv, neighbor_allgatherv)
CALL(Neighbor_alltoall, neighbor_alltoall)
CALL(Neighbor_alltoallv, neighbor_alltoallv)
CALL(Neighbor_alltoallw, neighbor_alltoallw)
CALL(Put, put)
CALL(Get, get)
CALL(Accumulate, accumulate)
CALL(Get_accumulate, get_accumulate)
CALL(Fetch_and_op, fetch_and_op)
CALL(Compare_and_swap, compare_and_swap)
CALL(Win_create, win_create)
CALL(Win_allocate, win_allocate)
CALL(Win_free, win_free)
CALL(Win_fence, win_fence)
CALL(Win_start, win_start)
CALL(Win_post, win_post)
CALL(Win_complete, win_complete)
CALL(Win_lock, win_lock)
CALL(Win_unlock, win_unlock)
CALL(Win_lock_all, win_lock_all)
CALL(Win_unlock_all, win_unlock_all)
CALL(Win_flush, win_flush)
CALL(Win_flush_all, win_flush_all)
CALL(Comm_dup, comm_dup)
CALL(Comm_create, comm_create)
CALL(Comm_split, comm_split)
CALL(Comm_free, comm_free)
CALL(Cart_create, cart_create)
CALL(Dist_graph_create_adjacent, dist_graph_create_adjacent)
CALL(File_open, file_open)
CALL(File_close, file_close)
CALL(File_read_all, file_read_all)
CALL(File_read_at_all, file_read_at_all)
CALL(File_write_all, file_write_all)
CALL(File_write_at_all, file_write_at_all)
