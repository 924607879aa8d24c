/* Speed of FFTW's complex transforms of one dimension, in double precision, by size.

   fft REPEATS SECONDS SIZES PATTERNS

   SIZES and PATTERNS are lists separated by commas. The program loads the first library
   that matches a pattern, and the threads library next to it. A transform may use one
   thread for each CPU of the process. Transforms are out of place. FFTW plans each
   direction by timing candidates (FFTW_MEASURE), for up to a second. A repetition takes
   about SECONDS, and has at least one transform. A transform of n numbers counts as
   5 n log2 n operations, whatever FFTW does. */

#include "team.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <math.h>

enum { FORWARD = -1, BACKWARD = 1, FFTW_MEASURE = 0, VERSION = 64 };
enum { SAMPLES = 3 }; /* values compared: each is a sum over all n numbers */
static const double planning = 1; /* seconds */
/* Relative: several hundred roundings. `check_close` lets it grow with log2 n. */
static const double tolerance = 1e-13;

typedef double complex_number[2];
typedef struct fftw_plan_s *fftw_plan;

/* Functions of FFTW 3, which has kept them since 2003. */
static struct {
  fftw_plan (*plan)(int, complex_number *, complex_number *, int, unsigned);
  void (*execute)(const fftw_plan), (*destroy)(fftw_plan), (*limit)(double);
  int (*init_threads)(void);
  void (*use_threads)(int);
  const char *version;
} fftw;

struct transform {
  long size;
  complex_number *in, *out;
  fftw_plan forward, backward;
};

static void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (found) return found;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

static void *opened(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library) return library;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

/* "/usr/lib/libfftw3.so.3" has its threads in "/usr/lib/libfftw3_threads.so.3". */
static void load(const char *path) {
  const char *name = "libfftw3", *end = strstr(path, name);
  char threads[PATH_MAX];
  if (!end) end = path + strlen(path), name = "";
  snprintf(threads, sizeof threads, "%.*s_threads%s",
           (int)(end - path + strlen(name)), path, end + strlen(name));
  void *library = opened(path);
  fftw.plan = symbol(library, "fftw_plan_dft_1d");
  fftw.execute = symbol(library, "fftw_execute");
  fftw.destroy = symbol(library, "fftw_destroy_plan");
  fftw.limit = symbol(library, "fftw_set_timelimit");
  fftw.version = symbol(library, "fftw_version");
  library = opened(threads);
  fftw.init_threads = symbol(library, "fftw_init_threads");
  fftw.use_threads = symbol(library, "fftw_plan_with_nthreads");
  if (!fftw.init_threads()) {
    fprintf(stderr, "%s: fftw_init_threads failed\n", threads);
    exit(1);
  }
  fftw.use_threads(cpu_count);
  fftw.limit(planning);
}

/* Planning writes to the arrays, so they are filled afterwards. */
static struct transform planned(long size) {
  size_t bytes = size * sizeof(complex_number);
  need_memory(2.0 * bytes);
  struct transform of = {.size = size, .in = memory_for(bytes), .out = memory_for(bytes)};
  of.forward = fftw.plan((int)size, of.in, of.out, FORWARD, FFTW_MEASURE);
  of.backward = fftw.plan((int)size, of.out, of.in, BACKWARD, FFTW_MEASURE);
  if (!of.forward || !of.backward) {
    fprintf(stderr, "FFTW cannot plan a transform of %ld numbers\n", size);
    exit(1);
  }
  for (long i = 0; i < size; i++)
    for (int part = 0; part < 2; part++) of.in[i][part] = random_of(i, part) - 0.5;
  return of;
}

static double time_of(const struct transform *of, long calls) {
  double start = seconds();
  for (long i = 0; i < calls; i++) fftw.execute(of->forward);
  return seconds() - start;
}

static void check_close(const struct transform *of, double error, double size,
                        const char *what) {
  if (error <= tolerance * (1 + log2(of->size)) * size) return;
  fprintf(stderr, "%s of %ld numbers is wrong by %g\n", what, of->size, error);
  exit(1);
}

/* Compare some values with the sums that define them. */
static void check_values(const struct transform *of) {
  for (int n = 0; n < SAMPLES; n++) {
    long at = n * (of->size / SAMPLES) % of->size;
    double sum[2] = {0}, size = 0;
    for (long i = 0; i < of->size; i++) {
      double angle = -2 * M_PI * (double)(i * at % of->size) / (double)of->size;
      double real = of->in[i][0], imaginary = of->in[i][1];
      sum[0] += real * cos(angle) - imaginary * sin(angle);
      sum[1] += real * sin(angle) + imaginary * cos(angle);
      size += real * real + imaginary * imaginary;
    }
    double error = hypot(of->out[at][0] - sum[0], of->out[at][1] - sum[1]);
    check_close(of, error, sqrt(size * of->size), "the transform");
  }
}

/* The inverse transform must give the numbers again, times their count. */
static void check_inverse(const struct transform *of) {
  double error = 0;
  fftw.execute(of->backward);
  for (long i = 0; i < of->size; i++)
    for (int part = 0; part < 2; part++)
      error = fmax(error, fabs(of->in[i][part] / of->size - (random_of(i, part) - 0.5)));
  check_close(of, error, 1, "the inverse transform");
}

static void print_transform(const struct transform *of, long calls,
                            const struct timing *timing) {
  char labels[LINE];
  double work = 5.0 * of->size * log2(of->size);
  snprintf(labels, sizeof labels,
           "\"kernel\": \"fft\", \"precision\": \"double\", \"order\": %ld, "
           "\"tool\": \"%.*s\", \"bytes\": %zu",
           of->size, VERSION, fftw.version, 2 * of->size * sizeof(complex_number));
  print_result(labels, "FLOP", work * calls, cpu_count, timing);
}

static void measure(long size, double least, int repeats) {
  struct timing timing = {.repeats = repeats};
  struct transform of = planned(size);
  struct cpu_usage before = begin_timing(&timing);
  time_of(&of, 1);
  double once = time_of(&of, 1), again = time_of(&of, 1);
  long calls = 1 + (long)(least / (again < once ? again : once));
  time_of(&of, calls);
  for (int r = 0; r < repeats; r++) timing.seconds[r] = time_of(&of, calls);
  end_timing(&before, cpu_count, &timing);
  check_values(&of);
  check_inverse(&of);
  print_transform(&of, calls, &timing);
  fftw.destroy(of.forward), fftw.destroy(of.backward);
  free(of.in), free(of.out);
}

int main(int count, char **words) {
  glob_t found = {0};
  if (count != 5) {
    fputs("usage: fft REPEATS SECONDS SIZES PATTERNS\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double least = number(words[2], 1e-6, 100, "SECONDS");
  find_cpus();
  for (char *word = strtok(words[4], ","); word; word = strtok(NULL, ","))
    glob(word, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
  if (!found.gl_pathc) {
    fputs("no FFTW library matches PATTERNS: `apt install libfftw3-double3`\n", stderr);
    return 1;
  }
  load(found.gl_pathv[0]);
  for (char *word = strtok(words[3], ","); word; word = strtok(NULL, ","))
    measure((long)number(word, 2, 1 << 30, "SIZES"), least, repeats);
  return 0;
}
