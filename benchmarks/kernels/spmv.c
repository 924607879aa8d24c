/* Speed of sparse matrix-vector products by the format of the matrix, with OpenMP.

   spmv REPEATS SECONDS ROWS

   Matrices are generated, the same in each run: that of a 27-point stencil on a cube;
   one with 27 elements at random places of each row; and one whose rows have different
   lengths, as in graphs of the web. Formats are CSR, ELL, and SELL-C-sigma (Kreutzer et
   al., 2014), with chunks of 8 rows that are sorted by length within 1 or 256 rows. ELL
   is left out if it would need more than four times the elements. All formats are
   compared with CSR. A result counts two operations for each element of the matrix,
   without those that only fill up a format. */

#include "team.h"

#include <math.h>
#include <omp.h>

enum { CHUNK = 8, POINTS = 27, LONGEST_ROW = 4096, MOST_FILLED = 4 };

struct matrix {
  const char *name;
  long rows, elements, *starts; /* rows + 1 */
  int *columns;
  double *values;
};

/* Chunks of rows; element j of row r of chunk c is at starts[c] + j * stride + r. */
struct chunks {
  long count, stride, elements, *starts;
  int *widths, *rows, *columns;
  double *values;
};

static double *x, *y, *expected;

#define IN_PARALLEL _Pragma("omp parallel for schedule(static)")

static void *memory_for(size_t bytes) {
  size_t page = 2u << 20;
  void *memory = aligned_alloc(page, (bytes + page) / page * page);
  if (!memory) fail("aligned_alloc");
  madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

/* A number from 0 to 1 that follows from two numbers (splitmix64). */
static double mixed(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* ---- matrices -------------------------------------------------------------------- */

/* Write the elements of a row, or only count them if `columns` is NULL. */
typedef int fill_row(long row, long rows, int *columns);

static int stencil_row(long row, long rows, int *columns) {
  long edge = (long)(cbrt((double)rows) + 0.5);
  long place[3] = {row % edge, row / edge % edge, row / edge / edge};
  int count = 0;
  for (int n = 0; n < POINTS; n++) {
    long to[3] = {place[0] + n % 3 - 1, place[1] + n / 3 % 3 - 1, place[2] + n / 9 - 1};
    int inside = 1;
    for (int d = 0; d < 3; d++) inside &= to[d] >= 0 && to[d] < edge;
    if (inside && columns) columns[count] = (int)(to[0] + edge * (to[1] + edge * to[2]));
    count += inside;
  }
  return count;
}

static int scattered(long row, long rows, int *columns, int count) {
  for (int n = 0; columns && n < count; n++)
    columns[n] = (int)(mixed((uint64_t)row, (uint64_t)n) * (double)rows);
  return count;
}

static int random_row(long row, long rows, int *columns) {
  return scattered(row, rows, columns, POINTS);
}

/* Few rows are long: lengths follow a power law. */
static int skewed_row(long row, long rows, int *columns) {
  double length = 9 / pow(1 - mixed((uint64_t)row, 1u << 20), 0.66);
  return scattered(row, rows, columns, length < LONGEST_ROW ? (int)length : LONGEST_ROW);
}

static struct matrix generated(const char *name, fill_row *fill, long rows) {
  struct matrix of = {.name = name, .rows = rows};
  of.starts = memory_for((rows + 1) * sizeof *of.starts);
  of.starts[0] = 0;
  for (long r = 0; r < rows; r++) of.starts[r + 1] = of.starts[r] + fill(r, rows, NULL);
  of.elements = of.starts[rows];
  of.columns = memory_for(of.elements * sizeof *of.columns);
  of.values = memory_for(of.elements * sizeof *of.values);
  IN_PARALLEL for (long r = 0; r < rows; r++) {
    int count = fill(r, rows, of.columns + of.starts[r]);
    for (int n = 0; n < count; n++) of.values[of.starts[r] + n] = 1.0 / (1 + n);
  }
  return of;
}

static void free_matrix(struct matrix *of) {
  free(of->starts), free(of->columns), free(of->values);
}

/* ---- formats --------------------------------------------------------------------- */

static const struct matrix *sorted_matrix;

static int length_of(long row) {
  const struct matrix *of = sorted_matrix;
  return row < of->rows ? (int)(of->starts[row + 1] - of->starts[row]) : 0;
}

static int longer_first(const void *a, const void *b) {
  int first = *(const int *)a, second = *(const int *)b;
  int by = length_of(second) - length_of(first);
  return by ? by : first - second;
}

/* Decide where the rows and chunks are; `sigma` 0 means ELL. */
static struct chunks placed(const struct matrix *of, long sigma) {
  struct chunks to = {.count = (of->rows + CHUNK - 1) / CHUNK};
  long rows = to.count * CHUNK, longest = 0;
  to.rows = memory_for(rows * sizeof *to.rows);
  to.starts = memory_for(to.count * sizeof *to.starts);
  to.widths = memory_for(to.count * sizeof *to.widths);
  for (long r = 0; r < rows; r++) to.rows[r] = (int)r;
  sorted_matrix = of;
  for (long r = 0; sigma > 1 && r < rows; r += sigma)
    qsort(to.rows + r, r + sigma < rows ? sigma : rows - r, sizeof *to.rows, longer_first);
  for (long r = 0; r < rows; r++)
    longest = length_of(r) > longest ? length_of(r) : longest;
  to.stride = sigma ? CHUNK : rows;
  for (long c = 0; c < to.count; c++) {
    to.widths[c] = sigma ? 0 : (int)longest;
    for (int r = 0; r < CHUNK; r++) {
      int length = length_of(to.rows[c * CHUNK + r]);
      to.widths[c] = length > to.widths[c] ? length : to.widths[c];
    }
    to.starts[c] = sigma ? to.elements : c * CHUNK;
    to.elements += (long)to.widths[c] * CHUNK;
  }
  return to;
}

static void copy_elements(const struct matrix *of, struct chunks *to) {
  to->columns = memory_for(to->elements * sizeof *to->columns);
  to->values = memory_for(to->elements * sizeof *to->values);
  IN_PARALLEL for (long c = 0; c < to->count; c++)
    for (int j = 0; j < to->widths[c]; j++)
      for (int r = 0; r < CHUNK; r++) {
        long row = to->rows[c * CHUNK + r], at = to->starts[c] + j * to->stride + r;
        int is_there = j < length_of(row);
        to->columns[at] = is_there ? of->columns[of->starts[row] + j] : 0;
        to->values[at] = is_there ? of->values[of->starts[row] + j] : 0;
      }
}

static void free_chunks(struct chunks *of) {
  free(of->starts), free(of->widths), free(of->rows);
  free(of->columns), free(of->values);
}

/* ---- products -------------------------------------------------------------------- */

static void multiply_csr(const struct matrix *of) {
  IN_PARALLEL for (long r = 0; r < of->rows; r++) {
    double sum = 0;
    for (long i = of->starts[r]; i < of->starts[r + 1]; i++)
      sum += of->values[i] * x[of->columns[i]];
    y[r] = sum;
  }
}

static void multiply_chunks(const struct chunks *of) {
  IN_PARALLEL for (long c = 0; c < of->count; c++) {
    double sums[CHUNK] = {0};
    for (int j = 0; j < of->widths[c]; j++) {
      const double *values = of->values + of->starts[c] + j * of->stride;
      const int *columns = of->columns + of->starts[c] + j * of->stride;
      for (int r = 0; r < CHUNK; r++) sums[r] += values[r] * x[columns[r]];
    }
    for (int r = 0; r < CHUNK; r++) y[of->rows[c * CHUNK + r]] = sums[r];
  }
}

static double time_of(const struct matrix *of, const struct chunks *chunks, long calls) {
  double start = seconds();
  for (long i = 0; i < calls; i++) chunks ? multiply_chunks(chunks) : multiply_csr(of);
  return seconds() - start;
}

static void check(const struct matrix *of, const char *format) {
  for (long r = 0; r < of->rows; r++)
    if (!(fabs(y[r] - expected[r]) <= 1e-9 * fabs(expected[r]))) {
      fprintf(stderr, "%s, %s: row %ld is wrong\n", of->name, format, r);
      exit(1);
    }
}

static void measure(const struct matrix *of, const struct chunks *chunks,
                    const char *format, double least, int repeats) {
  struct timing timing = {.repeats = repeats};
  double busy[2], stolen[2], own = own_seconds(), start = seconds();
  char labels[LINE];
  timing.began = seconds_of(CLOCK_REALTIME);
  cpu_seconds(&busy[0], &stolen[0]);
  time_of(of, chunks, 1);
  double once = time_of(of, chunks, 1), again = time_of(of, chunks, 1);
  long calls = 1 + (long)(least / (again < once ? again : once));
  for (int r = 0; r < repeats; r++) timing.seconds[r] = time_of(of, chunks, calls);
  cpu_seconds(&busy[1], &stolen[1]);
  timing.ended = seconds_of(CLOCK_REALTIME);
  double whole = cpu_count * (seconds() - start);
  timing.other = share(busy[1] - busy[0] - (own_seconds() - own), whole);
  timing.stolen = share(stolen[1] - stolen[0], whole);
  if (!chunks) memcpy(expected, y, of->rows * sizeof *y);
  check(of, format);
  long elements = chunks ? chunks->elements : of->elements;
  snprintf(labels, sizeof labels,
           "\"kernel\": \"spmv\", \"precision\": \"double\", \"order\": %ld, "
           "\"kind\": \"%s, %s\", \"bytes\": %ld",
           of->rows, of->name, format,
           (long)(elements * (sizeof(int) + sizeof(double))));
  print_result(labels, "FLOP", 2.0 * of->elements * calls, cpu_count, &timing);
}

static void measure_chunks(const struct matrix *of, long sigma, const char *format,
                           double least, int repeats) {
  struct chunks chunks = placed(of, sigma);
  if (sigma || chunks.elements <= MOST_FILLED * of->elements) {
    need_memory((double)chunks.elements * (sizeof(int) + sizeof(double)));
    copy_elements(of, &chunks);
    measure(of, &chunks, format, least, repeats);
  }
  free_chunks(&chunks);
}

int main(int count, char **words) {
  const struct {
    const char *name;
    fill_row *fill;
  } kinds[] = {{"27-point stencil", stencil_row},
               {"random", random_row},
               {"skewed", skewed_row}};
  if (count != 4) {
    fputs("usage: spmv REPEATS SECONDS ROWS\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double least = number(words[2], 1e-6, 100, "SECONDS");
  long edge = (long)cbrt(number(words[3], 64, 1e9, "ROWS") + 0.5);
  long rows = edge * edge * edge, padded = rows + CHUNK;
  find_cpus();
  omp_set_dynamic(0);
  omp_set_num_threads(cpu_count);
#pragma omp parallel
  stay_on(cpus[omp_get_thread_num()]);
  need_memory(2.5 * POINTS * rows * (sizeof(int) + sizeof(double)));
  x = memory_for(padded * sizeof *x);
  y = memory_for(padded * sizeof *y), expected = memory_for(padded * sizeof *y);
  IN_PARALLEL for (long r = 0; r < padded; r++) x[r] = 1 + r % 7, y[r] = expected[r] = 0;
  for (int k = 0; k < 3; k++) {
    struct matrix of = generated(kinds[k].name, kinds[k].fill, rows);
    measure(&of, NULL, "CSR", least, repeats);
    measure_chunks(&of, 0, "ELL", least, repeats);
    measure_chunks(&of, 1, "SELL-8-1", least, repeats);
    measure_chunks(&of, 256, "SELL-8-256", least, repeats);
    free_matrix(&of);
  }
  return 0;
}
