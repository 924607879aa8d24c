/* The roofs of the cache-aware roofline model: floating-point peaks and bandwidths.

   carm REPEATS SECONDS all|widest [LEVEL:BYTES[@NODES] ...]

   Each thread repeats a kernel for SECONDS at least. Floating-point kernels have twelve
   independent chains, more than latency times throughput of current CPUs. Memory
   kernels go over BYTES per thread with full vectors. `widest` measures memory with the
   widest vectors only. With NODES, such as 1,1,0,0, each thread's memory is on another
   NUMA node than its own. Kernels are in assembly, so that the compiler cannot change what
   is executed. */

#include "team.h"

typedef void kernel_function(char *memory, long bytes, long iterations);

struct flop_kernel {
  const char *isa, *precision, *operation;
  kernel_function *run;
  double flops; /* of one iteration */
};

struct memory_kernel {
  const char *isa, *access;
  kernel_function *run;
  int step; /* bytes of one pass through the unrolled loop */
};

enum { LONGEST_VECTOR = 256 }; /* bytes: those of SVE */

#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
/* Two loads for each store, the mixture of the cache-aware roofline model. */
#define MIXED(L, S) L(0) L(1) S(2) L(3) L(4) S(5) L(6) L(7) S(8) L(9) L(10) S(11)
#define UNUSED (void)memory, (void)bytes

#if defined(__x86_64__)

#define REGISTERS \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
      "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc"
/* The values must not be denormal, which some CPUs compute slowly. */
#define CLEAR(i) "xorps %%xmm" #i ",%%xmm" #i "\n"
#define CLEAR_ALL TWELVE(CLEAR) CLEAR(12) CLEAR(13)
#define FLOP_KERNEL(name, X, end) \
  static void name(char *memory, long bytes, long iterations) { \
    UNUSED; \
    __asm__ volatile(CLEAR_ALL "1:\n" TWELVE(X) TWELVE(X) "sub $1,%0\njnz 1b\n" end \
                     : "+r"(iterations)::REGISTERS); \
  }
#define VEX "vzeroupper\n"
#define SSE_LINE(op, i) op " %%xmm12,%%xmm" #i "\n"
#define VEX_LINE(op, reg, i) op " %%" reg "12,%%" reg "13,%%" reg #i "\n"
#define VEX_ADD(op, reg, i) op " %%" reg "12,%%" reg #i ",%%" reg #i "\n"

#define ADDSS(i) SSE_LINE("addss", i)
#define ADDSD(i) SSE_LINE("addsd", i)
#define ADDPS(i) SSE_LINE("addps", i)
#define ADDPD(i) SSE_LINE("addpd", i)
#define VADDPS(i) VEX_ADD("vaddps", "ymm", i)
#define VADDPD(i) VEX_ADD("vaddpd", "ymm", i)
#define ZADDPS(i) VEX_ADD("vaddps", "zmm", i)
#define ZADDPD(i) VEX_ADD("vaddpd", "zmm", i)
#define FMASS(i) VEX_LINE("vfmadd231ss", "xmm", i)
#define FMASD(i) VEX_LINE("vfmadd231sd", "xmm", i)
#define XFMAPS(i) VEX_LINE("vfmadd231ps", "xmm", i)
#define XFMAPD(i) VEX_LINE("vfmadd231pd", "xmm", i)
#define YFMAPS(i) VEX_LINE("vfmadd231ps", "ymm", i)
#define YFMAPD(i) VEX_LINE("vfmadd231pd", "ymm", i)
#define ZFMAPS(i) VEX_LINE("vfmadd231ps", "zmm", i)
#define ZFMAPD(i) VEX_LINE("vfmadd231pd", "zmm", i)

FLOP_KERNEL(add_ss, ADDSS, "")
FLOP_KERNEL(add_sd, ADDSD, "")
FLOP_KERNEL(add_ps, ADDPS, "")
FLOP_KERNEL(add_pd, ADDPD, "")
FLOP_KERNEL(vadd_ps, VADDPS, VEX)
FLOP_KERNEL(vadd_pd, VADDPD, VEX)
FLOP_KERNEL(zadd_ps, ZADDPS, VEX)
FLOP_KERNEL(zadd_pd, ZADDPD, VEX)
FLOP_KERNEL(fma_ss, FMASS, VEX)
FLOP_KERNEL(fma_sd, FMASD, VEX)
FLOP_KERNEL(xfma_ps, XFMAPS, VEX)
FLOP_KERNEL(xfma_pd, XFMAPD, VEX)
FLOP_KERNEL(yfma_ps, YFMAPS, VEX)
FLOP_KERNEL(yfma_pd, YFMAPD, VEX)
FLOP_KERNEL(zfma_ps, ZFMAPS, VEX)
FLOP_KERNEL(zfma_pd, ZFMAPD, VEX)

static const struct flop_kernel flop_kernels[] = {
    {"scalar", "single", "add", add_ss, 24},    {"scalar", "double", "add", add_sd, 24},
    {"sse", "single", "add", add_ps, 24 * 4},   {"sse", "double", "add", add_pd, 24 * 2},
    {"avx", "single", "add", vadd_ps, 24 * 8},  {"avx", "double", "add", vadd_pd, 24 * 4},
    {"avx512", "single", "add", zadd_ps, 24 * 16},
    {"avx512", "double", "add", zadd_pd, 24 * 8},
    {"scalar", "single", "fma", fma_ss, 48},    {"scalar", "double", "fma", fma_sd, 48},
    {"sse", "single", "fma", xfma_ps, 48 * 4},  {"sse", "double", "fma", xfma_pd, 48 * 2},
    {"avx", "single", "fma", yfma_ps, 48 * 8},  {"avx", "double", "fma", yfma_pd, 48 * 4},
    {"avx512", "single", "fma", zfma_ps, 48 * 16},
    {"avx512", "double", "fma", zfma_pd, 48 * 8},
};

/* `end` starts from `memory` in each pass. */
#define MEMORY_KERNEL(name, body, step, end) \
  static void name(char *memory, long bytes, long iterations) { \
    char *at; \
    __asm__ volatile(CLEAR_ALL "1:\nmov %2,%1\n2:\n" body "add $" #step \
                     ",%1\ncmp %3,%1\njb 2b\nsub $1,%0\njnz 1b\n" end \
                     : "+r"(iterations), "=&r"(at) \
                     : "r"(memory), "r"(memory + bytes) \
                     : REGISTERS); \
  }
#define LOAD(op, width, reg, i) op " " #i "*" width "(%1),%%" reg #i "\n"
#define STORE(op, width, reg, i) op " %%" reg #i "," #i "*" width "(%1)\n"

#define LOAD_S(i) LOAD("movsd", "8", "xmm", i)
#define LOAD_X(i) LOAD("movapd", "16", "xmm", i)
#define LOAD_Y(i) LOAD("vmovapd", "32", "ymm", i)
#define LOAD_Z(i) LOAD("vmovapd", "64", "zmm", i)
#define STORE_S(i) STORE("movsd", "8", "xmm", i)
#define STORE_X(i) STORE("movapd", "16", "xmm", i)
#define STORE_Y(i) STORE("vmovapd", "32", "ymm", i)
#define STORE_Z(i) STORE("vmovapd", "64", "zmm", i)
#define STREAM_X(i) STORE("movntpd", "16", "xmm", i)
#define STREAM_Y(i) STORE("vmovntpd", "32", "ymm", i)
#define STREAM_Z(i) STORE("vmovntpd", "64", "zmm", i)

MEMORY_KERNEL(load_s, TWELVE(LOAD_S), 96, "")
MEMORY_KERNEL(load_x, TWELVE(LOAD_X), 192, "")
MEMORY_KERNEL(load_y, TWELVE(LOAD_Y), 384, VEX)
MEMORY_KERNEL(load_z, TWELVE(LOAD_Z), 768, VEX)
MEMORY_KERNEL(store_s, TWELVE(STORE_S), 96, "")
MEMORY_KERNEL(store_x, TWELVE(STORE_X), 192, "")
MEMORY_KERNEL(store_y, TWELVE(STORE_Y), 384, VEX)
MEMORY_KERNEL(store_z, TWELVE(STORE_Z), 768, VEX)
MEMORY_KERNEL(stream_x, TWELVE(STREAM_X), 192, "sfence\n")
MEMORY_KERNEL(stream_y, TWELVE(STREAM_Y), 384, "sfence\n" VEX)
MEMORY_KERNEL(stream_z, TWELVE(STREAM_Z), 768, "sfence\n" VEX)

MEMORY_KERNEL(mix_s, MIXED(LOAD_S, STORE_S), 96, "")
MEMORY_KERNEL(mix_x, MIXED(LOAD_X, STORE_X), 192, "")
MEMORY_KERNEL(mix_y, MIXED(LOAD_Y, STORE_Y), 384, VEX)
MEMORY_KERNEL(mix_z, MIXED(LOAD_Z, STORE_Z), 768, VEX)

static const struct memory_kernel memory_kernels[] = {
    {"scalar", "load", load_s, 96},         {"scalar", "store", store_s, 96},
    {"scalar", "2-loads-1-store", mix_s, 96},
    {"sse", "load", load_x, 192},           {"sse", "store", store_x, 192},
    {"sse", "2-loads-1-store", mix_x, 192}, {"sse", "streaming-store", stream_x, 192},
    {"avx", "load", load_y, 384},           {"avx", "store", store_y, 384},
    {"avx", "2-loads-1-store", mix_y, 384}, {"avx", "streaming-store", stream_y, 384},
    {"avx512", "load", load_z, 768},        {"avx512", "store", store_z, 768},
    {"avx512", "2-loads-1-store", mix_z, 768},
    {"avx512", "streaming-store", stream_z, 768},
};

static int can_run(const char *isa, int fused) {
  if (fused && !__builtin_cpu_supports("fma")) return 0;
  if (!strcmp(isa, "avx")) return __builtin_cpu_supports("avx");
  if (!strcmp(isa, "avx512")) return __builtin_cpu_supports("avx512f");
  return 1;
}

static int times_as_long(const char *isa) {
  (void)isa;
  return 1;
}

/* One hundred dependent additions of registers, each of one cycle. */
#define ADD_2 "add %1,%0\nadd %1,%0\n"
#define ADD_10 ADD_2 ADD_2 ADD_2 ADD_2 ADD_2
static void add_chain(char *memory, long bytes, long iterations) {
  UNUSED;
  unsigned long sum = 0, one = 1;
  __asm__ volatile("1:\n" ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10
                       ADD_10 "sub $1,%2\njnz 1b\n"
                   : "+r"(sum), "+r"(one), "+r"(iterations)::"cc");
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

#define REGISTERS \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v30", \
      "v31", "memory", "cc"
#define CLEAR(i) "movi v" #i ".2d,#0\n"
#define CLEAR_ALL TWELVE(CLEAR) CLEAR(30) CLEAR(31)
#define FLOP_KERNEL(name, X) \
  static void name(char *memory, long bytes, long iterations) { \
    UNUSED; \
    __asm__ volatile(CLEAR_ALL "1:\n" TWELVE(X) TWELVE(X) "subs %0,%0,#1\nb.ne 1b\n" \
                     : "+r"(iterations)::REGISTERS); \
  }
#define ADDSS(i) "fadd s" #i ",s" #i ",s31\n"
#define ADDSD(i) "fadd d" #i ",d" #i ",d31\n"
#define NADDPS(i) "fadd v" #i ".4s,v" #i ".4s,v31.4s\n"
#define NADDPD(i) "fadd v" #i ".2d,v" #i ".2d,v31.2d\n"
#define FMASS(i) "fmadd s" #i ",s30,s31,s" #i "\n"
#define FMASD(i) "fmadd d" #i ",d30,d31,d" #i "\n"
#define NFMAPS(i) "fmla v" #i ".4s,v30.4s,v31.4s\n"
#define NFMAPD(i) "fmla v" #i ".2d,v30.2d,v31.2d\n"
FLOP_KERNEL(add_ss, ADDSS)
FLOP_KERNEL(add_sd, ADDSD)
FLOP_KERNEL(nadd_ps, NADDPS)
FLOP_KERNEL(nadd_pd, NADDPD)
FLOP_KERNEL(fma_ss, FMASS)
FLOP_KERNEL(fma_sd, FMASD)
FLOP_KERNEL(nfma_ps, NFMAPS)
FLOP_KERNEL(nfma_pd, NFMAPD)

/* The compiler need not know SVE: these kernels run only where the CPU has it. */
#define SVE ".arch armv8-a+sve\n"
#define VADDPS(i) "fadd z" #i ".s,z" #i ".s,z31.s\n"
#define VADDPD(i) "fadd z" #i ".d,z" #i ".d,z31.d\n"
#define VFMAPS(i) "fmla z" #i ".s,p0/m,z30.s,z31.s\n"
#define VFMAPD(i) "fmla z" #i ".d,p0/m,z30.d,z31.d\n"
#define SVE_FLOP_KERNEL(name, X) \
  static void name(char *memory, long bytes, long iterations) { \
    UNUSED; \
    __asm__ volatile(SVE CLEAR_ALL "ptrue p0.b\n1:\n" TWELVE(X) TWELVE(X) \
                     "subs %0,%0,#1\nb.ne 1b\n" : "+r"(iterations)::REGISTERS, "p0"); \
  }
SVE_FLOP_KERNEL(vadd_ps, VADDPS)
SVE_FLOP_KERNEL(vadd_pd, VADDPD)
SVE_FLOP_KERNEL(vfma_ps, VFMAPS)
SVE_FLOP_KERNEL(vfma_pd, VFMAPD)

static const struct flop_kernel flop_kernels[] = {
    {"scalar", "single", "add", add_ss, 24},   {"scalar", "double", "add", add_sd, 24},
    {"neon", "single", "add", nadd_ps, 24 * 4}, {"neon", "double", "add", nadd_pd, 24 * 2},
    {"sve", "single", "add", vadd_ps, 24 * 4}, {"sve", "double", "add", vadd_pd, 24 * 2},
    {"scalar", "single", "fma", fma_ss, 48},   {"scalar", "double", "fma", fma_sd, 48},
    {"neon", "single", "fma", nfma_ps, 48 * 4}, {"neon", "double", "fma", nfma_pd, 48 * 2},
    {"sve", "single", "fma", vfma_ps, 48 * 4}, {"sve", "double", "fma", vfma_pd, 48 * 2},
};

#define MEMORY_KERNEL(name, body, step) \
  static void name(char *memory, long bytes, long iterations) { \
    char *at; \
    __asm__ volatile(CLEAR_ALL "1:\nmov %1,%2\n2:\n" body "add %1,%1,#" #step \
                     "\ncmp %1,%3\nb.lo 2b\nsubs %0,%0,#1\nb.ne 1b\n" \
                     : "+r"(iterations), "=&r"(at) \
                     : "r"(memory), "r"(memory + bytes) \
                     : REGISTERS); \
  }
#define LOAD_S(i) "ldr d" #i ",[%1,#" #i "*8]\n"
#define LOAD_N(i) "ldr q" #i ",[%1,#" #i "*16]\n"
#define STORE_S(i) "str d" #i ",[%1,#" #i "*8]\n"
#define STORE_N(i) "str q" #i ",[%1,#" #i "*16]\n"
MEMORY_KERNEL(load_s, TWELVE(LOAD_S), 96)
MEMORY_KERNEL(load_n, TWELVE(LOAD_N), 192)
MEMORY_KERNEL(store_s, TWELVE(STORE_S), 96)
MEMORY_KERNEL(store_n, TWELVE(STORE_N), 192)
MEMORY_KERNEL(mix_s, MIXED(LOAD_S, STORE_S), 96)
MEMORY_KERNEL(mix_n, MIXED(LOAD_N, STORE_N), 192)

#define SVE_MEMORY_KERNEL(name, body) \
  static void name(char *memory, long bytes, long iterations) { \
    char *at; \
    __asm__ volatile(SVE CLEAR_ALL "1:\nmov %1,%2\n2:\n" body \
                     "addvl %1,%1,#12\ncmp %1,%3\nb.lo 2b\nsubs %0,%0,#1\nb.ne 1b\n" \
                     : "+r"(iterations), "=&r"(at) \
                     : "r"(memory), "r"(memory + bytes) \
                     : REGISTERS); \
  }
#define LOAD_V(i) "ldr z" #i ",[%1,#" #i ",mul vl]\n"
#define STORE_V(i) "str z" #i ",[%1,#" #i ",mul vl]\n"
SVE_MEMORY_KERNEL(load_v, TWELVE(LOAD_V))
SVE_MEMORY_KERNEL(store_v, TWELVE(STORE_V))
SVE_MEMORY_KERNEL(mix_v, MIXED(LOAD_V, STORE_V))

static const struct memory_kernel memory_kernels[] = {
    {"scalar", "load", load_s, 96}, {"scalar", "store", store_s, 96},
    {"scalar", "2-loads-1-store", mix_s, 96},
    {"neon", "load", load_n, 192},  {"neon", "store", store_n, 192},
    {"neon", "2-loads-1-store", mix_n, 192},
    {"sve", "load", load_v, 192},   {"sve", "store", store_v, 192},
    {"sve", "2-loads-1-store", mix_v, 192},
};

static int can_run(const char *isa, int fused) {
  (void)fused;
  return strcmp(isa, "sve") || getauxval(AT_HWCAP) & HWCAP_SVE;
}

/* How many times as long as in the tables the vectors of an instruction set are. */
static int times_as_long(const char *isa) {
  unsigned long bytes = 16;
  if (!strcmp(isa, "sve")) __asm__ volatile(SVE "cntb %0\n" : "=r"(bytes));
  return (int)(bytes / 16);
}

#define ADD_2 "add %0,%0,%1\nadd %0,%0,%1\n"
#define ADD_10 ADD_2 ADD_2 ADD_2 ADD_2 ADD_2
static void add_chain(char *memory, long bytes, long iterations) {
  UNUSED;
  unsigned long sum = 0, one = 1;
  __asm__ volatile("1:\n" ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10
                       ADD_10 "subs %2,%2,#1\nb.ne 1b\n"
                   : "+r"(sum), "+r"(one), "+r"(iterations)::"cc");
}

#else
#error "no kernels for this architecture: x86-64 and AArch64 have some"
#endif

enum { FLOP_KERNELS = sizeof flop_kernels / sizeof *flop_kernels };
enum { MEMORY_KERNELS = sizeof memory_kernels / sizeof *memory_kernels };

static void *prepare(const struct work *work, int thread) {
  int node = work->nodes ? work->nodes[thread] : OWN_NODE;
  return work->bytes ? new_memory(work->bytes, work->huge, node) : NULL;
}

static void run(const struct work *work, void *memory, long iterations) {
  (*(kernel_function *const *)work->data)(memory, (long)work->bytes, iterations);
}

static void measure(kernel_function *kernel, size_t bytes, double work_of_iteration,
                    const char *labels, const char *unit, int repeats, double least,
                    const int *nodes) {
  struct timing timing = {.repeats = repeats};
  struct work work = {prepare, run, free, &kernel, bytes, 1, nodes};
  run_team(&work, cpu_count, least, &timing);
  /* A clock is that of one CPU, the slowest of them; all other work adds up. */
  double all = work_of_iteration * timing.iterations;
  if (strcmp(unit, "CYCLE")) all *= cpu_count;
  print_result(labels, unit, all, cpu_count, &timing);
}

static void measure_flops(int repeats, double least) {
  char labels[LINE];
  for (int i = 0; i < FLOP_KERNELS; i++) {
    const struct flop_kernel *kernel = &flop_kernels[i];
    if (!can_run(kernel->isa, !strcmp(kernel->operation, "fma"))) continue;
    snprintf(labels, sizeof labels,
             "\"kernel\": \"%s\", \"isa\": \"%s\", \"precision\": \"%s\"",
             kernel->operation, kernel->isa, kernel->precision);
    double flops = kernel->flops * times_as_long(kernel->isa);
    measure(kernel->run, 0, flops, labels, "FLOP", repeats, least, NULL);
  }
}

struct level {
  char name[41];
  double bytes; /* of each thread */
  const int *nodes; /* of each thread's memory, or NULL */
};

/* Read the NUMA node of each thread's memory, given as 1,1,0,0. */
static const int *nodes_of(char *text) {
  static int nodes[MAX_CPUS];
  int known = 0;
  for (char *one = strtok(text, ","); one && known < cpu_count; one = strtok(NULL, ","))
    nodes[known++] = (int)number(one, 0, MAX_NODES - 1, "NUMA node");
  if (known == cpu_count) return nodes;
  fprintf(stderr, "%d NUMA nodes are given for %d threads\n", known, cpu_count);
  exit(2);
}

/* Read a level, given as LEVEL:BYTES or LEVEL:BYTES@NODES. */
static struct level level_of(const char *text) {
  struct level level = {.name = ""};
  const char *colon = strchr(text, ':');
  if (!colon || colon - text >= (long)sizeof level.name) {
    fprintf(stderr, "'%.60s': write LEVEL:BYTES, such as L1:16384\n", text);
    exit(2);
  }
  memcpy(level.name, text, colon - text);
  char *bytes = strdup(colon + 1), *at = bytes ? strchr(bytes, '@') : NULL;
  if (!bytes) fail("strdup");
  if (at) *at = 0, level.nodes = nodes_of(at + 1);
  level.bytes = number(bytes, 12 * LONGEST_VECTOR, 1e12, "bytes of a level");
  free(bytes);
  return level;
}

static void measure_level(const struct level *level, int repeats, double least, int all) {
  char labels[LINE];
  need_memory(level->bytes * cpu_count);
  const char *widest = "";
  for (int i = 0; i < MEMORY_KERNELS; i++)
    if (can_run(memory_kernels[i].isa, 0)) widest = memory_kernels[i].isa;
  for (int i = 0; i < MEMORY_KERNELS; i++) {
    const struct memory_kernel *kernel = &memory_kernels[i];
    if (!can_run(kernel->isa, 0) || (!all && strcmp(kernel->isa, widest))) continue;
    /* Streaming stores pass by the caches. */
    if (!strcmp(kernel->access, "streaming-store") && strcmp(level->name, "DRAM")) continue;
    size_t step = (size_t)kernel->step * times_as_long(kernel->isa);
    size_t bytes = (size_t)level->bytes / step * step;
    snprintf(labels, sizeof labels,
             "\"kernel\": \"%s\", \"isa\": \"%s\", \"level\": \"%s\", \"bytes\": %zu",
             kernel->access, kernel->isa, level->name, bytes);
    measure(kernel->run, bytes, bytes, labels, "BYTE", repeats, least, level->nodes);
  }
}

int main(int count, char **words) {
  if (count < 4 || (strcmp(words[3], "all") && strcmp(words[3], "widest"))) {
    fputs("usage: carm REPEATS SECONDS all|widest [LEVEL:BYTES[@NODES] ...]\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double least = number(words[2], 1e-4, 100, "SECONDS");
  find_cpus();
  measure(add_chain, 0, 100, "\"kernel\": \"clock\", \"isa\": \"scalar\"", "CYCLE",
          repeats, least, NULL);
  measure_flops(repeats, least);
  for (int i = 4; i < count; i++) {
    struct level level = level_of(words[i]);
    measure_level(&level, repeats, least, !strcmp(words[3], "all"));
  }
  return 0;
}
