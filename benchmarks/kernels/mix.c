/* A loop with a given mix of operations and memory traffic, to compare a program with.

   mix REPEATS SECONDS BYTES STRIDE OPERATIONS

   The threads share BYTES of memory, each with its own part. A pass reads each line of 64
   bytes of it once, every STRIDE-th line first, then the lines after these, and so on.
   For each block of 16 lines, multiply-adds of vectors are calculated that are about
   OPERATIONS operations on doubles. */

#include "team.h"

/* The widest vector that the compiler may use. */
#ifdef __AVX512F__
enum { VECTOR = 64 };
#elif defined __AVX__
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif
enum { LINE_BYTES = 64, BLOCK = 16, SUMS = 8, PER_LINE = LINE_BYTES / VECTOR };
enum { PER_SUMS = SUMS / PER_LINE, VECTOR_OPERATIONS = 2 * VECTOR / sizeof(double) };
enum { MOST_OPERATIONS = 1 << 24, MOST_STRIDE = 1 << 20 };

typedef double vector __attribute__((vector_size(VECTOR)));
typedef int64_t integers __attribute__((vector_size(VECTOR)));

struct mix {
  long lines, stride; /* lines of each thread */
  long additions;     /* multiply-adds of a block */
};

static void *prepare(const struct work *work, int thread) {
  (void)thread;
  double *memory = (double *)new_memory(work->bytes, work->huge, OWN_NODE);
  for (size_t i = 0; i < work->bytes / sizeof(double); i++) memory[i] = 1.0;
  return memory;
}

/* The sums stay between 0 and 2, whatever the number of operations. */
static inline __attribute__((always_inline)) void
add_block(const vector *line, long stride, long additions, vector *sums, integers *read) {
  long k = 0;
  for (int i = 0; i < BLOCK; i++)
    for (int j = 0; j < PER_LINE; j++)
      *read ^= (integers)line[i * stride * PER_LINE + j];
  for (; k + SUMS <= additions; k += SUMS) {
    const vector *some = line + k / PER_LINE % BLOCK * stride * PER_LINE;
#pragma GCC unroll 8
    for (int j = 0; j < SUMS; j++)
      sums[j] = sums[j] * 0.5 + some[j / PER_LINE * stride * PER_LINE + j % PER_LINE];
  }
#pragma GCC unroll 8
  for (int j = 0; j < SUMS; j++)
    if (k + j < additions) sums[j] = sums[j] * 0.5 + line[j % PER_LINE];
}

static void check(const vector *sums, const integers *read, const struct mix *mix) {
  for (int i = 0; i < (int)(VECTOR / sizeof(double)); i++) {
    int wrong = (*read)[i] != 0;
    for (int j = 0; j < SUMS && j < mix->additions; j++)
      wrong |= !(sums[j][i] >= 1 && sums[j][i] <= 2);
    if (!wrong) continue;
    fputs("the sums of the loop are wrong\n", stderr);
    exit(1);
  }
}

static void run(const struct work *work, void *prepared, long iterations) {
  const struct mix *mix = work->data;
  const vector *lines = prepared;
  long stride = mix->stride, additions = mix->additions, count = mix->lines;
  vector sums[SUMS] = {0};
  integers read = {0};
  for (long pass = 0; pass < iterations; pass++)
    for (long first = 0; first < stride; first++)
      for (long at = first; at < count; at += BLOCK * stride)
        add_block(lines + at * PER_LINE, stride, additions, sums, &read);
  check(sums, &read, mix);
}

int main(int count, char **words) {
  if (count != 6) {
    fputs("usage: mix REPEATS SECONDS BYTES STRIDE OPERATIONS\n", stderr);
    return 2;
  }
  struct timing timing = {.repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS")};
  double least = number(words[2], 1e-4, 100, "SECONDS");
  double bytes = number(words[3], LINE_BYTES, 1e15, "BYTES");
  struct mix mix = {.stride = (long)number(words[4], 1, MOST_STRIDE, "STRIDE")};
  double wanted = number(words[5], 0, MOST_OPERATIONS, "OPERATIONS");
  mix.additions = (long)(wanted / VECTOR_OPERATIONS + 0.5);
  find_cpus();
  long block = BLOCK * mix.stride;
  long blocks = (long)(bytes / cpu_count / LINE_BYTES / block);
  if (blocks < 1) {
    fprintf(stderr, "BYTES: %d threads with a STRIDE of %ld lines need at least %ld\n",
            cpu_count, mix.stride, block * LINE_BYTES * cpu_count);
    return 2;
  }
  mix.lines = block * blocks;
  struct work work = {prepare, run, free, &mix, mix.lines * LINE_BYTES, 1, NULL};
  need_memory((double)work.bytes * cpu_count);
  run_team(&work, cpu_count, least, &timing);
  double lines = (double)mix.lines * timing.iterations * cpu_count;
  double of_block = (double)mix.additions * VECTOR_OPERATIONS;
  char kind[LINE / 2], labels[LINE];
  snprintf(kind, sizeof kind, "%.4g FLOP/B, %.4g MB, stride %ld B",
           of_block / (BLOCK * LINE_BYTES), work.bytes * cpu_count / 1e6, mix.stride * LINE_BYTES);
  const char *units[] = {"FLOP", "BYTE"}, *what[] = {"operations", "bytes moved"};
  double works[] = {lines / BLOCK * of_block, lines * LINE_BYTES};
  for (int i = mix.additions ? 0 : 1; i < 2; i++) {
    snprintf(labels, sizeof labels,
             "\"kernel\": \"mix\", \"precision\": \"double\", \"kind\": \"%s, %s\", "
             "\"bytes\": %zu",
             kind, what[i], work.bytes * cpu_count);
    print_result(labels, units[i], works[i], cpu_count, &timing);
  }
  return 0;
}
