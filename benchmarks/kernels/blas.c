/* Speed of matrix multiplication by library.

   blas REPEATS SECONDS ORDERS PATTERNS

   ORDERS are numbers with commas. Each library whose path matches one of PATTERNS, also
   with commas, is loaded in a process of its own. It may use as many threads as there
   are CPUs. A repetition takes about SECONDS, but at least one call. An order is left
   out if a call would take more than a second, as it does with a simple library. */

#include "team.h"

#include <dlfcn.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <sys/wait.h>

enum { MOST_ORDERS = 64, NAME = 128 };
static const double longest_call = 1.0;

typedef void multiply(const char *, const char *, const int *, const int *, const int *,
                      const void *, const void *, const int *, const void *,
                      const int *, const void *, void *, const int *);

static const struct kind {
  const char *name, *symbol;
  int parts; /* of a number: two if it is complex */
  double operations; /* for each multiplication and addition */
} kinds[] = {{"dgemm", "dgemm_", 1, 2}, {"zgemm", "zgemm_", 2, 8}};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct matrices {
  multiply *run;
  double *a, *b, *c;
  int order;
};

static void call(const struct matrices *of) {
  const double one[2] = {1, 0}, zero[2] = {0, 0};
  const int *n = &of->order;
  of->run("N", "N", n, n, n, one, of->a, n, of->b, n, zero, of->c, n);
}

static double time_of(const struct matrices *of, long calls) {
  double start = seconds();
  for (long i = 0; i < calls; i++) call(of);
  return seconds() - start;
}

static double *filled(const struct kind *kind, int order, double value) {
  size_t numbers = (size_t)order * order * kind->parts;
  double *matrix = (double *)new_memory(numbers * sizeof(double), 1, OWN_NODE);
  for (size_t i = 0; i < numbers; i += kind->parts) matrix[i] = value;
  return matrix;
}

/* The sum over a row of ones times twos. */
static void check(const struct kind *kind, const struct matrices *of) {
  size_t last = ((size_t)of->order * of->order - 1) * kind->parts;
  if (of->c[0] == 2.0 * of->order && of->c[last] == 2.0 * of->order) return;
  fprintf(stderr, "%s of order %d: wrong values\n", kind->name, of->order);
  exit(1);
}

static void measure(const struct kind *kind, struct matrices *of, double once,
                    double least, int repeats, const char *library) {
  struct timing timing = {.repeats = repeats};
  struct cpu_usage before = begin_timing(&timing);
  double n = of->order;
  char labels[LINE];
  long calls = 1 + (long)(least / once);
  time_of(of, calls);
  for (int r = 0; r < repeats; r++) timing.seconds[r] = time_of(of, calls);
  end_timing(&before, cpu_count, &timing);
  snprintf(labels, sizeof labels,
           "\"kernel\": \"%s\", \"precision\": \"double\", \"order\": %d, \"tool\": \"%s\"",
           kind->name, of->order, library);
  print_result(labels, "FLOP", kind->operations * n * n * n * calls, cpu_count, &timing);
}

/* Measure an order; return the seconds of a call. */
static double measure_order(const struct kind *kind, multiply *run, int order,
                            double least, int repeats, const char *library) {
  need_memory(3.0 * order * order * kind->parts * sizeof(double));
  struct matrices of = {run, filled(kind, order, 1), filled(kind, order, 2),
                        filled(kind, order, 0), order};
  call(&of);
  double once = time_of(&of, 1), again = time_of(&of, 1);
  once = again < once ? again : once;
  if (once <= longest_call) measure(kind, &of, once, least, repeats, library);
  check(kind, &of);
  free(of.a), free(of.b), free(of.c);
  return once;
}

/* "OpenBLAS 0.3.21 (openblas-pthread)": the folder tells builds of a library apart. */
static void find_name(void *library, const char *path, char *name) {
  char copy[PATH_MAX], text[NAME] = "BLAS";
  char *(*openblas)(void) = (char *(*)(void))dlsym(library, "openblas_get_config");
  char *(*blis)(void) = (char *(*)(void))dlsym(library, "bli_info_get_version_str");
  void (*mkl)(char *, int) =
      (void (*)(char *, int))dlsym(library, "MKL_Get_Version_String");
  if (openblas) {
    snprintf(text, sizeof text, "%s", openblas());
    char *end = strchr(text + strcspn(text, " ") + 1, ' ');
    if (end) *end = 0; /* the options of its build follow */
  } else if (blis)
    snprintf(text, sizeof text, "BLIS %s", blis());
  else if (mkl)
    mkl(text, sizeof text - 1), text[strcspn(text, ",")] = 0;
  snprintf(copy, sizeof copy, "%s", path);
  snprintf(name, 2 * NAME, "%s (%.100s)", text, basename(dirname(copy)));
  for (char *c = name; *c; c++)
    if (*c == '"' || *c == '\\' || *c < ' ') *c = ' ';
}

static void measure_library(const char *path, const int *orders, double least,
                            int repeats) {
  char name[2 * NAME];
  void *library = dlopen(path, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  find_name(library, path, name);
  for (int k = 0; k < KINDS; k++) {
    multiply *run = (multiply *)dlsym(library, kinds[k].symbol);
    double once = 0, before = 0;
    for (int i = 0; run && orders[i]; i++) {
      double times = i ? (double)orders[i] / orders[i - 1] : 1;
      if (i && before * times * times * times > longest_call) break;
      before = once = measure_order(&kinds[k], run, orders[i], least, repeats, name);
    }
  }
}

/* Libraries read these when they are loaded. */
static void set_threads(void) {
  const char *names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
                         "MKL_NUM_THREADS"};
  char count[16];
  snprintf(count, sizeof count, "%d", cpu_count);
  for (int i = 0; i < 4; i++) setenv(names[i], count, 1);
}

static void read_orders(char *text, int *orders) {
  int count = 0;
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ","))
    if (count < MOST_ORDERS)
      orders[count++] = (int)number(word, 1, 100000, "ORDERS");
}

/* Run a library in a process of its own; return whether it succeeded. */
static int run_apart(const char *path, const int *orders, double least, int repeats) {
  int status;
  pid_t id = fork();
  if (id < 0) fail("fork");
  if (!id) {
    measure_library(path, orders, least, repeats);
    exit(0);
  }
  if (waitpid(id, &status, 0) < 0) fail("waitpid");
  return WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(int count, char **words) {
  int orders[MOST_ORDERS + 1] = {0};
  glob_t found = {0};
  if (count != 5) {
    fputs("usage: blas REPEATS SECONDS ORDERS PATTERNS\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double least = number(words[2], 1e-6, 100, "SECONDS");
  read_orders(words[3], orders);
  find_cpus();
  set_threads();
  for (char *word = strtok(words[4], ","); word; word = strtok(NULL, ","))
    glob(word, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
  if (!found.gl_pathc) fputs("no BLAS library is installed\n", stderr);
  for (size_t i = 0; i < found.gl_pathc; i++)
    if (!run_apart(found.gl_pathv[i], orders, least, repeats)) return 1;
  return found.gl_pathc ? 0 : 1;
}
