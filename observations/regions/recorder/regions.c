/* Records the regions that a program names: count, time, CPU time, and counted events,
 * for each thread, and when its longest regions began and ended. It is preloaded; see
 * ../recording.py for how, and for what reads its files.
 *
 * A thread that enters a region has a file in the folder of the run, and its figures
 * are in a shared mapping of that file. So they are kept if the process is killed. Space is
 * allocated first: a full disk must not end the process. Nothing here may fail it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slices.h"

enum { EVENTS = 12, DEPTH = 64, REGIONS = 256, NAME = 128, SLOTS = 512, PATH = 4096 };

typedef uint64_t u64;

/* What the kernel returns for a counter. */
struct count {
    u64 value, enabled, running;
};

struct region {
    uint32_t parent, hash;
    u64 count, ns, cpu;
    struct count counts[EVENTS];
    char name[NAME];
};

/* A region that was entered and not left. */
struct open {
    u64 region, tag, ns, cpu;
    struct count counts[EVENTS];
};

/* The file of a thread; recording.py reads it. Region 0 is outside all regions.
 * `omitted` counts regions that there was no space for, `unbalanced` ends without a
 * beginning, `unfinished` regions that ended threads left open. `error` is the errno of
 * an event that was not opened. `slice` has the longest slices by their regions. */
struct block {
    char magic[8];
    uint32_t open_at, open_size, region_at, region_size;
    int32_t pid, rank, user_only, error[EVENTS];
    uint32_t depth, regions;
    u64 omitted, unbalanced, unfinished;
    struct kept kept;
    struct open open[DEPTH];
    struct region region[REGIONS];
    struct slice slice[SLICES];
};

/* `slot` is a hash table of regions: the number of a region, or 0. */
struct thread {
    struct block *block;
    int fd[EVENTS];
    uint16_t slot[SLOTS];
    uint32_t skipped;
    atomic_int taken;
    struct thread *next;
};

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static __thread int is_inside __attribute__((tls_model("initial-exec")));
static _Atomic(struct thread *) threads;
static atomic_int numbers;
static pthread_key_t at_exit_of_thread;
static char folder[PATH - 64];
static int event_count, is_active;
static struct perf_event_attr events[EVENTS];

static u64 read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* ---- events ---- */

static int open_event(struct perf_event_attr *event) {
    return (int)syscall(SYS_perf_event_open, event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Without privileges, only user mode can be counted. */
static void open_events(struct thread *t) {
    struct block *b = t->block;
    for (int i = 0; i < event_count; i++) {
        struct perf_event_attr event = events[i];
        t->fd[i] = open_event(&event);
        if (t->fd[i] < 0 && (errno == EACCES || errno == EPERM)) {
            event.exclude_kernel = event.exclude_hv = 1;
            t->fd[i] = open_event(&event);
            if (t->fd[i] >= 0) b->user_only = 1;
        }
        b->error[i] = t->fd[i] < 0 ? errno : 0;
    }
}

static void close_events(struct thread *t) {
    for (int i = 0; i < event_count; i++)
        if (t->fd[i] >= 0) close(t->fd[i]);
}

static void read_events(const struct thread *t, struct count *counts) {
    for (int i = 0; i < event_count; i++)
        if (t->fd[i] < 0 || read(t->fd[i], &counts[i], sizeof counts[i]) < 0)
            memset(&counts[i], 0, sizeof counts[i]);
}

static void read_settings(const char *text) {
    for (; text && *text && event_count < EVENTS; text += *text == ' ') {
        struct perf_event_attr *event = &events[event_count++];
        char *end;
        event->size = sizeof *event;
        event->type = (uint32_t)strtoull(text, &end, 0);
        event->config = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
        event->config1 = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
        event->read_format =
            PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        text = end + strcspn(end, " ");
    }
}

/* ---- threads ---- */

static int read_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value >= '0' && *value <= '9') return atoi(value);
    }
    return -1;
}

static int new_file(void) {
    char path[PATH];
    int fd;
    /* A program that the process executed earlier may have files. */
    do {
        int number = atomic_fetch_add(&numbers, 1);
        snprintf(path, PATH, "%s/%d.%d", folder, (int)getpid(), number);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

static struct block *new_block(void) {
    int fd = new_file();
    if (fd < 0) return NULL;
    void *found = MAP_FAILED;
    if (!posix_fallocate(fd, 0, sizeof(struct block)))
        found = mmap(NULL, sizeof(struct block), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                     0);
    close(fd);
    if (found == MAP_FAILED) return NULL;
    struct block *b = found;
    b->open_at = offsetof(struct block, open);
    b->open_size = sizeof(struct open);
    b->region_at = offsetof(struct block, region);
    b->region_size = sizeof(struct region);
    b->pid = (int32_t)getpid();
    b->rank = read_rank();
    b->regions = 1;
    memcpy(b->magic, "regions2", sizeof b->magic);
    return b;
}

/* Takes over the file of a thread that has ended, if there is one. */
static struct thread *take_thread(void) {
    for (struct thread *t = threads; t; t = t->next) {
        int free_ = 0;
        if (atomic_compare_exchange_strong(&t->taken, &free_, 1)) return t;
    }
    struct thread *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->block = new_block();
    t->taken = 1;
    t->next = threads;
    while (!atomic_compare_exchange_weak(&threads, &t->next, t)) {}
    return t;
}

static struct thread *begin_thread(void) {
    int error = errno;
    struct thread *t = take_thread();
    if (t && t->block) open_events(t);
    if (t) pthread_setspecific(at_exit_of_thread, t);
    errno = error;
    return self = t;
}

static void end_thread(void *data) {
    struct thread *t = data;
    if (t->block) {
        close_events(t);
        t->block->unfinished += t->block->depth;
        t->block->depth = 0;
    }
    t->skipped = 0;
    self = NULL;
    t->taken = 0;
}

/* A child shares the files of its parent and must not write into them. */
static void begin_child(void) {
    for (struct thread *t = threads; t; t = t->next)
        if (t->block && t->taken) close_events(t);
    threads = NULL;
    self = NULL;
    numbers = 0;
    pthread_setspecific(at_exit_of_thread, NULL);
}

/* ---- regions ---- */

static uint32_t hash_of(const char *name, size_t length, uint32_t parent) {
    uint32_t hash = 2166136261u ^ (parent * 2654435761u);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* Returns the number of a region; 0 if there is no space for it. */
static uint32_t find_region(struct thread *t, const char *name, size_t length,
                            uint32_t parent) {
    struct block *b = t->block;
    uint32_t hash = hash_of(name, length, parent);
    for (uint32_t i = hash;; i++) {
        uint16_t *slot = &t->slot[i % SLOTS];
        struct region *r = &b->region[*slot];
        if (!*slot) {
            if (b->regions == REGIONS) return 0;
            r = &b->region[b->regions];
            r->parent = parent;
            r->hash = hash;
            memcpy(r->name, name, length);
            *slot = (uint16_t)b->regions;
            return b->regions++;
        }
        if (r->hash == hash && r->parent == parent && !memcmp(r->name, name, length) &&
            !r->name[length])
            return *slot;
    }
}

static size_t length_of(const char *name) {
    return name ? strnlen(name, NAME - 1) : 0;
}

/* Returns the region, or 0 if it is not recorded. `tag` is what ends it, if it is not
 * its name. */
static u64 begin_region(const char *name, size_t length, u64 tag) {
    if (!is_active) return 0;
    struct thread *t = self ? self : begin_thread();
    if (!t || !t->block) return 0;
    struct block *b = t->block;
    uint32_t parent = b->depth ? (uint32_t)b->open[b->depth - 1].region : 0;
    uint32_t region = 0;
    if (b->depth < DEPTH && !t->skipped) region = find_region(t, name, length, parent);
    if (!region) {
        b->omitted++;
        t->skipped++;
        return 0;
    }
    struct open *o = &b->open[b->depth];
    o->region = region;
    o->tag = tag;
    read_events(t, o->counts);
    o->cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    o->ns = read_clock(CLOCK_MONOTONIC);
    atomic_signal_fence(memory_order_release);
    b->depth++;
    return region;
}

static void add(struct region *r, const struct open *o, u64 ns, u64 cpu,
                const struct count *counts) {
    r->ns += ns - o->ns;
    r->cpu += cpu - o->cpu;
    for (int i = 0; i < event_count; i++) {
        r->counts[i].value += counts[i].value - o->counts[i].value;
        r->counts[i].enabled += counts[i].enabled - o->counts[i].enabled;
        r->counts[i].running += counts[i].running - o->counts[i].running;
    }
    r->count++;
}

typedef int (*is_meant)(const struct block *b, const struct open *o, const void *what);

/* Ends the last region that is meant. Regions may overlap: others stay open. */
static void end_region(is_meant meant, const void *what) {
    struct thread *t = self;
    if (!is_active || (t && !t->block)) return;
    if (!t && !(t = begin_thread())) return;
    struct block *b = t->block;
    if (!b) return;
    u64 ns = read_clock(CLOCK_MONOTONIC), cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    struct count counts[EVENTS];
    read_events(t, counts);
    if (t->skipped) { /* the innermost regions are those that were omitted */
        t->skipped--;
        return;
    }
    for (uint32_t at = b->depth; at-- > 0;) {
        struct open *o = &b->open[at];
        if (!meant(b, o, what)) continue;
        add(&b->region[o->region], o, ns, cpu, counts);
        keep_slice(&b->kept, b->slice, (struct slice){o->region, o->ns, ns});
        memmove(o, o + 1, (b->depth - at - 1) * sizeof *o);
        b->depth--;
        return;
    }
    b->unbalanced++;
}

static int has_name(const struct block *b, const struct open *o, const void *name) {
    const char *own = b->region[o->region].name;
    return !o->tag && !strncmp(own, name, NAME - 1);
}

static int has_tag(const struct block *b, const struct open *o, const void *tag) {
    (void)b;
    return o->tag == *(const u64 *)tag;
}

static void begin_name(const char *name) { begin_region(name, length_of(name), 0); }
static void end_name(const char *name) { end_region(has_name, name ? name : ""); }

__attribute__((constructor)) static void load(void) {
    const char *place = getenv("SUPERTWIN_REGIONS_FOLDER");
    if (!place || strlen(place) >= sizeof folder) return;
    strcpy(folder, place);
    read_settings(getenv("SUPERTWIN_REGIONS_EVENTS"));
    if (pthread_key_create(&at_exit_of_thread, end_thread)) return;
    pthread_atfork(NULL, NULL, begin_child);
    is_active = 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
/* Calls the real function, which may call others of these. */
#define PASS_ON(name, ...)                                                             \
    do {                                                                               \
        static _Atomic(void *) real;                                                   \
        if (!real) real = (void *)NEXT(name);                                          \
        is_inside++;                                                                   \
        if (real) ((__typeof__(&name))(void *)real)(__VA_ARGS__);                      \
        is_inside--;                                                                   \
    } while (0)

/* ---- likwid's Marker API, for C and Fortran ---- */

/* likwid measures too if likwid-perfctr -m started the program, and only then. */
static int has_perfctr(void) {
    static int found = -1;
    if (found < 0) found = getenv("LIKWID_FILEPATH") != NULL;
    return found;
}

#define LIKWID(name, ...)                                                              \
    if (has_perfctr()) PASS_ON(name, ##__VA_ARGS__)

void likwid_markerInit(void) { LIKWID(likwid_markerInit); }
void likwid_markerThreadInit(void) { LIKWID(likwid_markerThreadInit); }
void likwid_markerNextGroup(void) { LIKWID(likwid_markerNextGroup); }
void likwid_markerClose(void) { LIKWID(likwid_markerClose); }

int likwid_markerRegisterRegion(const char *name) {
    LIKWID(likwid_markerRegisterRegion, name);
    return 0;
}

int likwid_markerStartRegion(const char *name) {
    LIKWID(likwid_markerStartRegion, name);
    begin_name(name);
    return 0;
}

int likwid_markerStopRegion(const char *name) {
    end_name(name);
    LIKWID(likwid_markerStopRegion, name);
    return 0;
}

/* The region of this name that was entered first, in whatever region. */
static struct region *named(const char *name) {
    struct block *b = self ? self->block : NULL;
    for (uint32_t i = 1; b && i < b->regions; i++)
        if (!strncmp(b->region[i].name, name, NAME - 1)) return &b->region[i];
    return NULL;
}

int likwid_markerResetRegion(const char *name) {
    LIKWID(likwid_markerResetRegion, name);
    struct region *r = named(name);
    if (r) {
        r->count = r->ns = r->cpu = 0;
        memset(r->counts, 0, sizeof r->counts);
    }
    return 0;
}

void likwid_markerGetRegion(const char *name, int *events_, double *values, double *time,
                            int *count) {
    if (has_perfctr()) {
        PASS_ON(likwid_markerGetRegion, name, events_, values, time, count);
        return;
    }
    const struct region *r = named(name);
    if (events_) *events_ = 0; /* they are in the record of the run */
    if (time) *time = r ? (double)r->ns * 1e-9 : 0;
    if (count) *count = r ? (int)r->count : 0;
}

/* Fortran's strings have a length and may end in spaces. */
#define FORTRAN(lower, name)                                                           \
    void lower(const char *text, int length) {                                         \
        char own[NAME] = {0};                                                          \
        while (length > 0 && text[length - 1] == ' ') length--;                        \
        memcpy(own, text, (size_t)(length < NAME ? length : NAME - 1));                \
        name(own);                                                                     \
    }
FORTRAN(likwid_markerregisterregion_, likwid_markerRegisterRegion)
FORTRAN(likwid_markerstartregion_, likwid_markerStartRegion)
FORTRAN(likwid_markerstopregion_, likwid_markerStopRegion)
FORTRAN(likwid_markerresetregion_, likwid_markerResetRegion)
void likwid_markerinit_(void) { likwid_markerInit(); }
void likwid_markerthreadinit_(void) { likwid_markerThreadInit(); }
void likwid_markernextgroup_(void) { likwid_markerNextGroup(); }
void likwid_markerclose_(void) { likwid_markerClose(); }

/* ---- Kokkos Tools: Kokkos finds these by its environment ---- */

/* Ends by number; distinct from the tags of Caliper and regions that are pushed. */
enum { KERNEL = 1, PUSHED = 2, TAGS = 16 };

static void begin_kernel(const char *name, u64 *id) {
    static _Thread_local u64 kernels;
    *id = ++kernels;
    begin_region(name, length_of(name), *id * TAGS + KERNEL);
}

static void end_kernel(u64 id) {
    u64 tag = id * TAGS + KERNEL;
    end_region(has_tag, &tag);
}

#define KERNELS(kind)                                                                  \
    void kokkosp_begin_parallel_##kind(const char *name, uint32_t device, u64 *id) {   \
        (void)device;                                                                  \
        begin_kernel(name, id);                                                        \
    }                                                                                  \
    void kokkosp_end_parallel_##kind(u64 id) { end_kernel(id); }
KERNELS(for)
KERNELS(reduce)
KERNELS(scan)

void kokkosp_push_profile_region(const char *name) {
    begin_region(name, length_of(name), PUSHED);
}

void kokkosp_pop_profile_region(void) {
    u64 tag = PUSHED;
    end_region(has_tag, &tag);
}

void kokkosp_init_library(int number, u64 version, uint32_t devices, void *about) {
    (void)number, (void)version, (void)devices, (void)about;
}

void kokkosp_finalize_library(void) {}

/* ---- Caliper's C API ---- */

/* They return nothing in current versions, and an error code in old ones. */
#define CALIPER(name, record, ...)                                                     \
    if (!is_inside) record;                                                            \
    PASS_ON(name, __VA_ARGS__);                                                        \
    return 0

int cali_begin_region(const char *name) {
    CALIPER(cali_begin_region, begin_name(name), name);
}

int cali_end_region(const char *name) {
    CALIPER(cali_end_region, end_name(name), name);
}

int cali_begin_phase(const char *name) {
    CALIPER(cali_begin_phase, begin_name(name), name);
}

int cali_end_phase(const char *name) { CALIPER(cali_end_phase, end_name(name), name); }

int cali_begin_comm_region(const char *name) {
    CALIPER(cali_begin_comm_region, begin_name(name), name);
}

int cali_end_comm_region(const char *name) {
    CALIPER(cali_end_comm_region, end_name(name), name);
}

/* An attribute is ended by its name, whatever its value. */
static u64 tag_of(const char *attribute) {
    return hash_of(attribute, strlen(attribute), 0) * (u64)TAGS + 3;
}

static void begin_value(const char *attribute, const char *value) {
    char name[NAME];
    snprintf(name, NAME, "%s=%s", attribute, value);
    begin_region(name, strlen(name), tag_of(attribute));
}

static void end_value(const char *attribute) {
    u64 tag = tag_of(attribute);
    end_region(has_tag, &tag);
}

int cali_begin_byname(const char *attribute) {
    CALIPER(cali_begin_byname,
            begin_region(attribute, length_of(attribute), tag_of(attribute)), attribute);
}

int cali_begin_string_byname(const char *attribute, const char *value) {
    CALIPER(cali_begin_string_byname, begin_value(attribute, value), attribute, value);
}

int cali_begin_int_byname(const char *attribute, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    CALIPER(cali_begin_int_byname, begin_value(attribute, text), attribute, value);
}

int cali_end_byname(const char *attribute) {
    CALIPER(cali_end_byname, end_value(attribute), attribute);
}

/* CALI_MARK_FUNCTION_BEGIN and CALI_MARK_LOOP_BEGIN use numbers of attributes. */
static u64 tag_of_id(u64 id) { return id * TAGS + 4; }

static int is_nested(u64 id) {
    static const char *const names[] = {"cali_function_attr_id", "cali_loop_attr_id",
                                        "cali_region_attr_id", "cali_phase_attr_id",
                                        "cali_annotation_attr_id"};
    static const u64 *known[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!known[i]) known[i] = dlsym(RTLD_DEFAULT, names[i]);
        if (known[i] && *known[i] == id) return 1;
    }
    return 0;
}

static void begin_id(u64 id, const char *value) {
    if (is_nested(id)) begin_region(value, length_of(value), tag_of_id(id));
}

static void end_id(u64 id) {
    u64 tag = tag_of_id(id);
    if (is_nested(id)) end_region(has_tag, &tag);
}

int cali_begin_string(u64 id, const char *value) {
    CALIPER(cali_begin_string, begin_id(id, value), id, value);
}

int cali_end(u64 id) { CALIPER(cali_end, end_id(id), id); }
