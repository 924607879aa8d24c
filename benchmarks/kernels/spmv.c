/* Speed of sparse matrix-vector products by format and order of the matrix, with OpenMP.

   spmv REPEATS SECONDS ROWS ORDERS

   Matrices are generated, the same in each run: that of a 27-point stencil on a cube;
   one with 27 elements at random places of each row; and one whose rows have different
   lengths, as in graphs of the web. Formats are CSR, ELL, and SELL-C-sigma (Kreutzer et
   al., 2014), with chunks of 8 rows that are sorted by length within 1 or 256 rows. ELL
   is left out if it would need more than four times the elements. If ORDERS is "all" and
   not "natural", the rows and columns of each matrix are also put into a random order,
   and from there into that of reverse Cuthill-McKee (1969; George, 1971). All results are
   compared with those of CSR in natural order. A result counts two operations for each
   element of the matrix, without those that only fill up a format. */

#include "team.h"

#include <math.h>

enum { CHUNK = 8, POINTS = 27, LONGEST_ROW = 4096, MOST_FILLED = 4 };

struct matrix {
  const char *name, *order; /* "" or ", random order" */
  long rows, elements, bandwidth, *starts; /* rows + 1 */
  int *columns;
  double *values;
};

/* Chunks of rows; element j of row r of chunk c is at starts[c] + j * stride + r. */
struct chunks {
  long count, stride, elements, *starts;
  int *widths, *rows, *columns;
  double *values;
};

static double *x, *y, *expected, *natural;

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
    columns[n] = (int)(random_of((uint64_t)row, (uint64_t)n) * (double)rows);
  return count;
}

static int random_row(long row, long rows, int *columns) {
  return scattered(row, rows, columns, POINTS);
}

/* Few rows are long: lengths follow a power law. */
static int skewed_row(long row, long rows, int *columns) {
  double length = 9 / pow(1 - random_of((uint64_t)row, 1u << 20), 0.66);
  return scattered(row, rows, columns, length < LONGEST_ROW ? (int)length : LONGEST_ROW);
}

/* The largest distance of an element from the diagonal. */
static long bandwidth_of(const struct matrix *of) {
  long widest = 0;
#pragma omp parallel for schedule(static) reduction(max : widest)
  for (long r = 0; r < of->rows; r++)
    for (long i = of->starts[r]; i < of->starts[r + 1]; i++) {
      long distance = labs(of->columns[i] - r);
      widest = distance > widest ? distance : widest;
    }
  return widest;
}

static struct matrix generated(const char *name, fill_row *fill, long rows) {
  struct matrix of = {.name = name, .order = "", .rows = rows};
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
  of.bandwidth = bandwidth_of(&of);
  return of;
}

static void free_matrix(struct matrix *of) {
  free(of->starts), free(of->columns), free(of->values);
}

/* ---- orders ---------------------------------------------------------------------- */

/* An order has for each place the row that is placed there. */
static int *first_order(long rows) {
  int *order = memory_for(rows * sizeof *order);
  for (long r = 0; r < rows; r++) order[r] = (int)r;
  return order;
}

static int *random_order(long rows) {
  int *order = first_order(rows);
  for (long r = rows - 1; r > 0; r--) {
    long other = (long)(random_of((uint64_t)r, 1u << 21) * (double)(r + 1));
    int row = order[r];
    order[r] = order[other], order[other] = row;
  }
  return order;
}

/* Rows and columns as nodes, and elements as edges in both directions. */
struct graph {
  long nodes, *starts;
  int *to;
};

static struct graph graph_of(const struct matrix *of) {
  struct graph graph = {.nodes = of->rows};
  graph.starts = memory_for((of->rows + 2) * sizeof *graph.starts);
  graph.to = memory_for(2 * of->elements * sizeof *graph.to);
  memset(graph.starts, 0, (of->rows + 2) * sizeof *graph.starts);
  /* The start of a node is counted two places on, and moves by one while it is filled. */
  long *next = graph.starts + 1;
  for (long r = 0; r < of->rows; r++)
    for (long i = of->starts[r]; i < of->starts[r + 1]; i++)
      next[r + 1]++, next[of->columns[i] + 1]++;
  for (long r = 0; r < of->rows; r++) next[r + 1] += next[r];
  for (long r = 0; r < of->rows; r++)
    for (long i = of->starts[r]; i < of->starts[r + 1]; i++) {
      graph.to[next[r]++] = of->columns[i];
      graph.to[next[of->columns[i]]++] = (int)r;
    }
  return graph;
}

static const struct graph *sorted_graph;

static int fewer_first(const void *a, const void *b) {
  int first = *(const int *)a, second = *(const int *)b;
  const long *starts = sorted_graph->starts;
  long by = (starts[first + 1] - starts[first]) - (starts[second + 1] - starts[second]);
  return by ? (by > 0) - (by < 0) : first - second;
}

/* Append what is reached from a node, breadth first; return how many the order has. */
static long reach(const struct graph *of, int node, int *order, long count, char *seen) {
  long at = count;
  order[count++] = node, seen[node] = 1;
  for (; at < count; at++) {
    long first = count, row = order[at];
    for (long i = of->starts[row]; i < of->starts[row + 1]; i++)
      if (!seen[of->to[i]]) order[count++] = of->to[i], seen[of->to[i]] = 1;
    qsort(order + first, count - first, sizeof *order, fewer_first);
  }
  return count;
}

/* Each part of the graph is searched from the node that is reached last from another. */
static int *cuthill_mckee(const struct matrix *matrix) {
  struct graph of = graph_of(matrix);
  int *order = memory_for(of.nodes * sizeof *order);
  char *seen = memory_for(of.nodes);
  long count = 0;
  memset(seen, 0, of.nodes);
  sorted_graph = &of;
  for (int node = 0; node < of.nodes; node++) {
    if (seen[node]) continue;
    long reached = reach(&of, node, order, count, seen);
    for (long i = count; i < reached; i++) seen[order[i]] = 0;
    count = reach(&of, order[reached - 1], order, count, seen);
  }
  for (long i = 0, j = of.nodes - 1; i < j; i++, j--) {
    int row = order[i];
    order[i] = order[j], order[j] = row;
  }
  free(of.starts), free(of.to), free(seen);
  return order;
}

static struct matrix reordered(const struct matrix *of, const int *order,
                               const char *name) {
  struct matrix to = *of;
  int *place = memory_for(of->rows * sizeof *place);
  to.order = name;
  to.starts = memory_for((of->rows + 1) * sizeof *to.starts);
  to.columns = memory_for(of->elements * sizeof *to.columns);
  to.values = memory_for(of->elements * sizeof *to.values);
  to.starts[0] = 0;
  for (long r = 0; r < of->rows; r++) {
    place[order[r]] = (int)r;
    to.starts[r + 1] = to.starts[r] + of->starts[order[r] + 1] - of->starts[order[r]];
  }
  IN_PARALLEL for (long r = 0; r < of->rows; r++) {
    long from = of->starts[order[r]], at = to.starts[r], end = to.starts[r + 1];
    for (; at < end; at++, from++)
      to.columns[at] = place[of->columns[from]], to.values[at] = of->values[from];
  }
  free(place);
  to.bandwidth = bandwidth_of(&to);
  return to;
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
      fprintf(stderr, "%s%s, %s: row %ld is wrong\n", of->name, of->order, format, r);
      exit(1);
    }
}

static void measure(const struct matrix *of, const struct chunks *chunks,
                    const char *format, double least, int repeats) {
  struct timing timing = {.repeats = repeats};
  struct cpu_usage before = begin_timing(&timing);
  char labels[LINE];
  double first = time_of(of, chunks, 1), again = time_of(of, chunks, 1);
  long calls = 1 + (long)(least / (again < first ? again : first));
  timing.repeats = repeats_of(again, repeats);
  for (int r = 0; r < timing.repeats; r++)
    timing.seconds[r] = time_of(of, chunks, calls);
  end_timing(&before, cpu_count, &timing);
  check(of, format);
  long elements = chunks ? chunks->elements : of->elements;
  snprintf(labels, sizeof labels,
           "\"kernel\": \"spmv\", \"precision\": \"double\", \"order\": %ld, "
           "\"bandwidth\": %ld, \"kind\": \"%s%s, %s\", \"bytes\": %ld",
           of->rows, of->bandwidth, of->name, of->order, format,
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

/* The vector is put into the order of the matrix, and so is what CSR must give. */
static void measure_formats(const struct matrix *of, const int *order, double least,
                            int repeats) {
  IN_PARALLEL for (long r = 0; r < of->rows; r++) {
    x[r] = 1 + order[r] % 7;
    expected[r] = natural[order[r]];
  }
  measure(of, NULL, "CSR", least, repeats);
  measure_chunks(of, 0, "ELL", least, repeats);
  measure_chunks(of, 1, "SELL-8-1", least, repeats);
  measure_chunks(of, 256, "SELL-8-256", least, repeats);
}

static void measure_natural(const struct matrix *of, double least, int repeats) {
  int *order = first_order(of->rows);
  IN_PARALLEL for (long r = 0; r < of->rows; r++) {
    natural[r] = 0;
    for (long i = of->starts[r]; i < of->starts[r + 1]; i++)
      natural[r] += of->values[i] * (1 + of->columns[i] % 7);
  }
  measure_formats(of, order, least, repeats);
  free(order);
}

/* Cuthill-McKee starts from the random order, which hides where elements were. */
static void measure_orders(const struct matrix *of, double least, int repeats) {
  int *shuffle = random_order(of->rows);
  struct matrix random = reordered(of, shuffle, ", random order");
  measure_formats(&random, shuffle, least, repeats);
  int *order = cuthill_mckee(&random);
  struct matrix narrow = reordered(&random, order, ", reverse Cuthill-McKee");
  free_matrix(&random);
  IN_PARALLEL for (long r = 0; r < of->rows; r++) order[r] = shuffle[order[r]];
  measure_formats(&narrow, order, least, repeats);
  free_matrix(&narrow), free(shuffle), free(order);
}

int main(int count, char **words) {
  const struct {
    const char *name;
    fill_row *fill;
  } kinds[] = {{"27-point stencil", stencil_row},
               {"random", random_row},
               {"skewed", skewed_row}};
  if (count != 5 || (strcmp(words[4], "all") && strcmp(words[4], "natural"))) {
    fputs("usage: spmv REPEATS SECONDS ROWS all|natural\n", stderr);
    return 2;
  }
  int every_order = !strcmp(words[4], "all");
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double least = number(words[2], 1e-6, 100, "SECONDS");
  long edge = (long)cbrt(number(words[3], 64, 1e9, "ROWS") + 0.5);
  long rows = edge * edge * edge, padded = rows + CHUNK;
  place_threads();
  /* The matrix, its order, and a format or a graph. */
  need_memory((every_order ? 3.5 : 2.5) * POINTS * rows * (sizeof(int) + sizeof(double)));
  x = memory_for(padded * sizeof *x);
  y = memory_for(padded * sizeof *y), expected = memory_for(padded * sizeof *y);
  natural = memory_for(padded * sizeof *natural);
  IN_PARALLEL for (long r = 0; r < padded; r++) x[r] = y[r] = expected[r] = natural[r] = 0;
  for (int k = 0; k < 3; k++) {
    struct matrix of = generated(kinds[k].name, kinds[k].fill, rows);
    measure_natural(&of, least, repeats);
    if (every_order) measure_orders(&of, least, repeats);
    free_matrix(&of);
  }
  return 0;
}
