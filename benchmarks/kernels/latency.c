/* Latency of loads by size: a chain of pointers through memory in random order.

   latency REPEATS SECONDS small|huge BYTES ...

   Each cache line of the memory is visited once in each round, so prefetchers cannot
   guess the next address. `huge` asks for huge pages, which removes most misses of the
   TLB. Each CPU of the program is measured with all others busy the same way. */

#include "team.h"

enum { LINE_BYTES = 64 };

struct chain {
  char *memory;
  void *at;
};

static uint64_t next_random(uint64_t *state) {
  /* xorshift64* (Vigna 2016) */
  *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
  return *state * 2685821657736338717u;
}

/* Link all lines to one cycle (Sattolo's algorithm). */
static void *prepare(const struct work *work, int thread) {
  struct chain *chain = malloc(sizeof *chain);
  size_t lines = work->bytes / LINE_BYTES;
  uint64_t state = 88172645463325252u + thread;
  size_t *order = malloc(lines * sizeof *order);
  if (!chain || !order) fail("malloc");
  chain->memory = new_memory(work->bytes, work->huge, OWN_NODE);
  for (size_t i = 0; i < lines; i++) order[i] = i;
  for (size_t i = lines - 1; i > 0; i--) {
    size_t j = next_random(&state) % i, kept = order[i];
    order[i] = order[j], order[j] = kept;
  }
  for (size_t i = 0; i < lines; i++)
    *(void **)(chain->memory + i * LINE_BYTES) = chain->memory + order[i] * LINE_BYTES;
  chain->at = chain->memory;
  free(order);
  return chain;
}

static void run(const struct work *work, void *prepared, long iterations) {
  struct chain *chain = prepared;
  void **at = chain->at;
  (void)work;
  for (long i = 0; i < iterations; i++)
    for (int step = 0; step < 64; step++) at = *(void *volatile *)at;
  chain->at = at;
}

static void clean(void *prepared) {
  free(((struct chain *)prepared)->memory);
  free(prepared);
}

int main(int count, char **words) {
  if (count < 5 || (strcmp(words[3], "small") && strcmp(words[3], "huge"))) {
    fputs("usage: latency REPEATS SECONDS small|huge BYTES ...\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double least = number(words[2], 1e-4, 100, "SECONDS");
  find_cpus();
  for (int i = 4; i < count; i++) {
    struct timing timing = {.repeats = repeats};
    size_t bytes = (size_t)number(words[i], 2 * LINE_BYTES, 1e12, "BYTES");
    struct work work = {prepare, run, clean, NULL, bytes, !strcmp(words[3], "huge"),
                        NULL};
    char labels[LINE];
    /* The order of the lines takes an eighth more while it is made. */
    need_memory(1.125 * bytes * cpu_count);
    run_team(&work, cpu_count, least, &timing);
    snprintf(labels, sizeof labels,
             "\"kernel\": \"load-latency\", \"pages\": \"%s\", \"bytes\": %zu", words[3],
             bytes);
    /* Loads of one thread: they are one after the other. */
    print_result(labels, "LOAD", 64.0 * timing.iterations, cpu_count, &timing);
  }
  return 0;
}
