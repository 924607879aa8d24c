/* Code that all programs in this folder share: a team of threads, clocks, and results.

   SuperTwin compiles a program from standard input, where `#include "team.h"` would find
   no file: it puts this file in front of the program and removes that line.
   A team has one thread for each CPU that the program may use, and each thread stays on
   its CPU. A result is one line of JSON on standard output. */

#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CPUS = 4096, MAX_REPEATS = 1000, LINE = 4096 };
enum { HUGE_PAGE = 2 << 20 }; /* bytes */
enum { MAX_NODES = 1024, OWN_NODE = -1 };

static int cpus[MAX_CPUS], cpu_count;

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static void find_cpus(void) {
  size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
  cpu_set_t *mask = CPU_ALLOC(MAX_CPUS);
  if (!mask || sched_getaffinity(0, size, mask)) fail("sched_getaffinity");
  for (int cpu = 0; cpu < MAX_CPUS; cpu++)
    if (CPU_ISSET_S(cpu, size, mask)) cpus[cpu_count++] = cpu;
  CPU_FREE(mask);
}

static void stay_on(int cpu) {
  size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
  cpu_set_t *mask = CPU_ALLOC(MAX_CPUS);
  if (!mask) fail("CPU_ALLOC");
  CPU_ZERO_S(size, mask);
  CPU_SET_S(cpu, size, mask);
  if (sched_setaffinity(0, size, mask)) fail("sched_setaffinity");
  CPU_FREE(mask);
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static double seconds(void) { return seconds_of(CLOCK_MONOTONIC); }

/* Place memory that is not touched yet on a NUMA node; by system calls, because libnuma
   may not be installed. */
static inline void place_on(char *memory, size_t size, int node) {
  enum { BITS = 8 * sizeof(unsigned long) };
  unsigned long mask[MAX_NODES / BITS] = {0};
  mask[node / BITS] = 1ul << node % BITS;
  /* The kernel takes one bit less than it is told. */
  if (syscall(SYS_mbind, memory, size, MPOL_BIND, mask, MAX_NODES + 1, 0)) {
    fprintf(stderr, "memory cannot be placed on NUMA node %d: %s\n", node,
            strerror(errno));
    exit(1);
  }
}

/* Exit with an error unless a page that was touched is on a NUMA node. */
static inline void check_node(const char *page, int node) {
  int found = -1;
  if (syscall(SYS_get_mempolicy, &found, NULL, 0, page, MPOL_F_NODE | MPOL_F_ADDR))
    fail("get_mempolicy");
  if (found == node) return;
  fprintf(stderr, "memory for NUMA node %d is on node %d\n", node, found);
  exit(1);
}

/* Memory of one thread, touched by that thread, so that it is on its NUMA node, or on
   another one: `node`, if it is not OWN_NODE. */
static inline char *new_memory(size_t bytes, int huge, int node) {
  size_t size = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  char *memory = aligned_alloc(HUGE_PAGE, size);
  if (!memory) fail("aligned_alloc");
  madvise(memory, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  if (node != OWN_NODE) place_on(memory, size, node);
  memset(memory, 0, size);
  if (node != OWN_NODE) check_node(memory, node), check_node(memory + size - 1, node);
  return memory;
}

/* Memory whose pages are not touched yet: each is on the NUMA node of its first user. */
static inline void *memory_for(size_t bytes) {
  size_t size = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  void *memory = aligned_alloc(HUGE_PAGE, size);
  if (!memory) fail("aligned_alloc");
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

#ifdef _OPENMP
#include <omp.h>
#define IN_PARALLEL _Pragma("omp parallel for schedule(static)")

/* Find the CPUs, and place a thread of OpenMP on each. */
static void place_threads(void) {
  find_cpus();
  omp_set_dynamic(0);
  omp_set_num_threads(cpu_count);
#pragma omp parallel
  stay_on(cpus[omp_get_thread_num()]);
}
#endif

/* A pseudo-random number in [0, 1), the same for the same a and b (splitmix64). */
static inline double random_of(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* A barrier at which threads spin: waking a thread that sleeps takes microseconds. */
struct barrier {
  atomic_int waiting, round;
  int size;
};

static void barrier_wait(struct barrier *barrier) {
  int round = atomic_load(&barrier->round);
  if (atomic_fetch_add(&barrier->waiting, 1) + 1 == barrier->size) {
    atomic_store(&barrier->waiting, 0);
    atomic_fetch_add(&barrier->round, 1);
    return;
  }
  while (atomic_load(&barrier->round) == round)
    ;
}

/* Work that each thread of a team repeats; `prepare` may be NULL. */
struct work {
  void *(*prepare)(const struct work *, int thread);
  void (*run)(const struct work *, void *prepared, long iterations);
  void (*clean)(void *prepared);
  const void *data;
  size_t bytes;
  int huge;
  const int *nodes; /* of each thread's memory; NULL: of the thread */
};

struct timing {
  int repeats;
  long iterations; /* in each repetition, of each thread */
  double seconds[MAX_REPEATS];
  double began, ended; /* Unix time */
  double other, stolen; /* shares of the CPUs' time */
};

struct team {
  const struct work *work;
  struct timing *timing;
  struct barrier barrier;
  double least_seconds, *starts, *ends;
};

struct member {
  struct team *team;
  int number;
};

static double timed(const struct work *work, void *prepared, long iterations) {
  double start = seconds();
  work->run(work, prepared, iterations);
  return seconds() - start;
}

/* Find how many iterations take `least` seconds; the first runs also warm up.
   A run below 0.1 ms is too short to extrapolate from: the next one is ten times as long.
   Otherwise aim 10 % above `least`, and grow at least by half. */
static long calibrated(const struct work *work, void *prepared, double least) {
  long iterations = 1;
  for (;;) {
    double took = timed(work, prepared, iterations);
    if (took >= least) return iterations;
    double factor = took > 1e-4 ? 1.1 * least / took : 10;
    iterations = 1 + (long)(iterations * (factor < 1.5 ? 1.5 : factor));
  }
}

static void *member_main(void *argument) {
  struct member *member = argument;
  struct team *team = member->team;
  const struct work *work = team->work;
  int repeats = team->timing->repeats;
  stay_on(cpus[member->number]);
  void *prepared = work->prepare ? work->prepare(work, member->number) : NULL;
  barrier_wait(&team->barrier);
  if (member->number == 0)
    team->timing->iterations = calibrated(work, prepared, team->least_seconds);
  barrier_wait(&team->barrier);
  timed(work, prepared, team->timing->iterations);
  for (int r = 0; r < repeats; r++) {
    barrier_wait(&team->barrier);
    team->starts[member->number * repeats + r] = seconds();
    work->run(work, prepared, team->timing->iterations);
    team->ends[member->number * repeats + r] = seconds();
  }
  if (work->clean) work->clean(prepared);
  return NULL;
}

/* The seconds that the CPUs of this program were busy, and stolen by a hypervisor. */
static void cpu_seconds(double *busy, double *stolen) {
  FILE *file = fopen("/proc/stat", "r");
  char line[512];
  double tick = 1.0 / sysconf(_SC_CLK_TCK);
  *busy = *stolen = 0;
  while (file && fgets(line, sizeof line, file)) {
    int cpu;
    unsigned long long user, nice, system, idle, wait, irq, soft, steal;
    if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice,
               &system, &idle, &wait, &irq, &soft, &steal) != 9)
      continue;
    for (int i = 0; i < cpu_count; i++)
      if (cpus[i] == cpu) {
        *busy += tick * (user + nice + system + irq + soft);
        *stolen += tick * steal;
      }
  }
  if (file) fclose(file);
}

static double own_seconds(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

static double share(double part, double whole) {
  return part < 0 ? 0 : part > whole ? 1 : part / whole;
}

/* CPU times until a measurement began, and when it began, in seconds. */
struct cpu_usage {
  double busy, stolen, own, start;
};

static struct cpu_usage begin_timing(struct timing *timing) {
  struct cpu_usage before = {.own = own_seconds(), .start = seconds()};
  cpu_seconds(&before.busy, &before.stolen);
  timing->began = seconds_of(CLOCK_REALTIME);
  return before;
}

/* Write which shares of the time of `threads` CPUs others took since `begin_timing`. */
static void end_timing(const struct cpu_usage *before, int threads,
                       struct timing *timing) {
  double busy, stolen;
  timing->ended = seconds_of(CLOCK_REALTIME);
  cpu_seconds(&busy, &stolen);
  double whole = threads * (seconds() - before->start);
  double own = own_seconds() - before->own;
  timing->other = share(busy - before->busy - own, whole);
  timing->stolen = share(stolen - before->stolen, whole);
}

/* Run work on `threads` threads; returns when all have ended. */
static inline void run_team(const struct work *work, int threads, double least,
                            struct timing *timing) {
  struct team team = {work, timing, {0, 0, threads}, least, NULL, NULL};
  struct member members[threads];
  pthread_t ids[threads];
  size_t times = (size_t)threads * timing->repeats;
  team.starts = calloc(2 * times, sizeof *team.starts);
  if (!team.starts) fail("calloc");
  team.ends = team.starts + times;
  struct cpu_usage before = begin_timing(timing);
  for (int t = 0; t < threads; t++) {
    members[t] = (struct member){&team, t};
    if ((errno = pthread_create(&ids[t], NULL, member_main, &members[t])))
      fail("pthread_create");
  }
  for (int t = 0; t < threads; t++) pthread_join(ids[t], NULL);
  end_timing(&before, threads, timing);
  for (int r = 0; r < timing->repeats; r++) {
    double first = team.starts[r], last = team.ends[r];
    for (int t = 1; t < threads; t++) {
      double begun = team.starts[t * timing->repeats + r];
      double ended = team.ends[t * timing->repeats + r];
      first = begun < first ? begun : first;
      last = ended > last ? ended : last;
    }
    timing->seconds[r] = last - first;
  }
  free(team.starts);
}

/* How often to repeat what takes so many seconds: six times are enough for an interval. */
static inline int repeats_of(double once, int wanted) {
  return once > 0.5 && wanted > 6 ? 6 : wanted;
}

/* Print a result; `labels` are JSON members, `work` is that of one repetition. */
static void print_result(const char *labels, const char *unit, double work, int threads,
                         const struct timing *timing) {
  printf("{%s, \"unit\": \"%s\", \"threads\": %d, \"work\": %.17g, \"began\": %.3f, "
         "\"ended\": %.3f, \"other\": %.4f, \"stolen\": %.4f, \"seconds\": [",
         labels, unit, threads, work, timing->began, timing->ended, timing->other,
         timing->stolen);
  for (int r = 0; r < timing->repeats; r++)
    printf("%s%.9g", r ? ", " : "", timing->seconds[r]);
  puts("]}");
  fflush(stdout);
}

static double number(const char *text, double least, double most, const char *name) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value >= least && value <= most)) {
    fprintf(stderr, "%s: '%s' is not a number from %g to %g\n", name, text, least, most);
    exit(2);
  }
  return value;
}

/* Exit with an error if memory for all arrays would not be free. */
static void need_memory(double bytes) {
  FILE *file = fopen("/proc/meminfo", "r");
  char line[256];
  unsigned long long available = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %llu kB", &available) == 1) break;
  if (file) fclose(file);
  if (available && bytes > 1024.0 * available) {
    fprintf(stderr,
            "the arrays need %.0f MB of memory, but only %.0f MB are available: "
            "stop other programs, or use smaller arrays\n",
            bytes / 1e6, 1024.0 * available / 1e6);
    exit(3);
  }
}
