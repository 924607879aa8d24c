/* Bandwidth of main memory by the four kernels of STREAM (McCalpin), in C and OpenMP.

   stream REPEATS ELEMENTS

   Each array has ELEMENTS doubles; STREAM wants an array of at least four times the
   last-level caches. Bytes are counted as STREAM does: those that the kernel names. An
   ordinary store also reads its cache line first (write-allocate), so the memory moves
   more; the variants with streaming stores avoid that. Results are checked as in
   STREAM. */

#include "team.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

static double *a, *b, *c;
static long elements;
static const double scalar = 3.0;

#define ORDINARY(name, left, right) \
  static void name(void) { \
    IN_PARALLEL for (long i = 0; i < elements; i++) left[i] = right; \
  }
ORDINARY(copy, c, a[i])
ORDINARY(scale, b, scalar *c[i])
ORDINARY(add, c, a[i] + b[i])
ORDINARY(triad, a, b[i] + scalar *c[i])

/* A vector of the widest kind that the compiler was told to use. */
#if defined(__AVX512F__)
enum { LANES = 8 };
typedef __m512d vector;
#define STREAM_STORE _mm512_stream_pd
#define LOAD _mm512_load_pd
#define SET _mm512_set1_pd
#define PLUS _mm512_add_pd
#define TIMES _mm512_mul_pd
#elif defined(__AVX__)
enum { LANES = 4 };
typedef __m256d vector;
#define STREAM_STORE _mm256_stream_pd
#define LOAD _mm256_load_pd
#define SET _mm256_set1_pd
#define PLUS _mm256_add_pd
#define TIMES _mm256_mul_pd
#elif defined(__SSE2__)
enum { LANES = 2 };
typedef __m128d vector;
#define STREAM_STORE _mm_stream_pd
#define LOAD _mm_load_pd
#define SET _mm_set1_pd
#define PLUS _mm_add_pd
#define TIMES _mm_mul_pd
#endif

#ifdef STREAM_STORE
#define STREAMING(name, left, right) \
  static void name(void) { \
    const vector s = SET(scalar); \
    (void)s; \
    IN_PARALLEL for (long i = 0; i < elements; i += LANES) \
        STREAM_STORE(left + i, right); \
    _mm_sfence(); \
  }
STREAMING(stream_copy, c, LOAD(a + i))
STREAMING(stream_scale, b, TIMES(s, LOAD(c + i)))
STREAMING(stream_add, c, PLUS(LOAD(a + i), LOAD(b + i)))
STREAMING(stream_triad, a, PLUS(LOAD(b + i), TIMES(s, LOAD(c + i))))
#endif

static const struct stream_kernel {
  const char *name, *stores;
  void (*run)(void);
  int bytes; /* of one element */
} kernels[] = {
    {"copy", "write-allocate", copy, 16},   {"scale", "write-allocate", scale, 16},
    {"add", "write-allocate", add, 24},     {"triad", "write-allocate", triad, 24},
#ifdef STREAM_STORE
    {"copy", "streaming", stream_copy, 16}, {"scale", "streaming", stream_scale, 16},
    {"add", "streaming", stream_add, 24},   {"triad", "streaming", stream_triad, 24},
#endif
};
enum { KERNELS = sizeof kernels / sizeof *kernels, SET_OF_FOUR = 4 };

static void fill(void) {
  IN_PARALLEL for (long i = 0; i < elements; i++) a[i] = 1.0, b[i] = 2.0, c[i] = 0.0;
}

/* Exit with an error unless the arrays have the values of so many rounds. */
static void check(int rounds) {
  double x = 1.0, y = 2.0, z = 0.0, wrong = 0;
  for (int r = 0; r < rounds; r++) z = x, y = scalar * z, z = x + y, x = y + scalar * z;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
  for (long i = 0; i < elements; i++)
    wrong += (a[i] != x) + (b[i] != y) + (c[i] != z);
  if (wrong) {
    fprintf(stderr, "%.0f of %ld elements have wrong values\n", wrong, 3 * elements);
    exit(1);
  }
}

/* Run the four kernels in turn, as STREAM does; the first round is not counted. */
static void measure(const struct stream_kernel *four, int repeats) {
  struct timing timings[SET_OF_FOUR] = {0};
  struct timing all = {0};
  struct cpu_usage before = begin_timing(&all);
  fill();
  for (int r = -1; r < repeats; r++)
    for (int k = 0; k < SET_OF_FOUR; k++) {
      double before = seconds();
      four[k].run();
      if (r >= 0) timings[k].seconds[r] = seconds() - before;
    }
  end_timing(&before, cpu_count, &all);
  check(repeats + 1);
  for (int k = 0; k < SET_OF_FOUR; k++) {
    char labels[LINE];
    timings[k].repeats = repeats;
    timings[k].began = all.began, timings[k].ended = all.ended;
    timings[k].other = all.other, timings[k].stolen = all.stolen;
    snprintf(labels, sizeof labels,
             "\"kernel\": \"%s\", \"stores\": \"%s\", \"bytes\": %ld", four[k].name,
             four[k].stores, (long)(elements * sizeof(double)));
    print_result(labels, "BYTE", (double)elements * four[k].bytes, cpu_count,
                 &timings[k]);
  }
}

int main(int count, char **words) {
  if (count != 3) {
    fputs("usage: stream REPEATS ELEMENTS\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 2, MAX_REPEATS, "REPEATS");
  elements = (long)number(words[2], 1000, 1e12, "ELEMENTS") / 8 * 8;
  place_threads();
  need_memory(3.0 * elements * sizeof(double));
  size_t bytes = elements * sizeof(double);
  a = memory_for(bytes), b = memory_for(bytes), c = memory_for(bytes);
  for (int k = 0; k < KERNELS; k += SET_OF_FOUR) measure(kernels + k, repeats);
  return 0;
}
