/* Speed of conjugate gradients on a 27-point stencil, with OpenMP.

   cg REPEATS ROWS

   The matrix, the preconditioner and the kernels are those of HPCG (Heroux et al., 2013),
   but this is not HPCG, and its rates are not HPCG's. The matrix of a cube of points has
   26 on its diagonal and -1 for each neighbour; it is stored in CSR. The preconditioner is
   a V-cycle over five grids, with a symmetric Gauss-Seidel smoothing before and after each
   correction. Unlike HPCG's, corrections are interpolated, and residuals weighted, so the
   number of iterations hardly depends on the size of the grid.

   The smoother is parallel by colours: lines of points along x have one of four colours,
   by whether y and z are odd. Lines of one colour are not neighbours, so threads smooth
   them at the same time, each line from its first point to its last; backward sweeps
   reverse all of this. So the result does not depend on the number of threads.

   The program checks that matrix and preconditioner are symmetric, that after at most 20
   iterations the recomputed residual is at most 1e-8 of the first one (the solver stops
   at 1e-9), and that no element of the solution differs from 1 by more than 1e-6.
   Each repetition solves for a vector of ones, in as many iterations as the first solve
   needs. Bytes are those that the algorithm names: each element of a matrix with its
   column once for each product or sweep, and each vector once. */

#include "team.h"

#include <math.h>

enum { GRIDS = 5, COLOURS = 4, NEIGHBOURS = 27, MULTIPLE = 1 << (GRIDS - 1) };
enum { AHEAD = 256 }; /* elements: about ten rows */
enum { MOST_ITERATIONS = 20, SMALLEST_EDGE = 2 * MULTIPLE - 1 };
static const double tolerance = 1e-9, largest_error = 1e-6, rounding = 1e-12;

struct grid {
  long edge, rows, elements, *starts; /* rows + 1 */
  int *columns;
  double *values, *inverse; /* of the diagonal */
  double *x, *b;            /* of the preconditioner: M x = b */
  double *residual;
};

static struct grid grids[GRIDS];
static double *x, *b, *r, *p, *z, *product;

/* ---- grids ----------------------------------------------------------------------- */

static long point(const struct grid *of, long i, long j, long k) {
  return i + of->edge * (j + of->edge * k);
}

/* Write the elements of a row, or only count them if `columns` is NULL. */
static int fill_row(const struct grid *of, long row, int *columns, double *values) {
  long edge = of->edge, place[3] = {row % edge, row / edge % edge, row / edge / edge};
  int count = 0;
  for (int n = 0; n < NEIGHBOURS; n++) {
    long to[3] = {place[0] + n % 3 - 1, place[1] + n / 3 % 3 - 1, place[2] + n / 9 - 1};
    int is_inside = 1;
    for (int d = 0; d < 3; d++) is_inside &= to[d] >= 0 && to[d] < edge;
    if (!is_inside) continue;
    if (columns) {
      columns[count] = (int)point(of, to[0], to[1], to[2]);
      values[count] = columns[count] == row ? NEIGHBOURS - 1 : -1;
    }
    count++;
  }
  return count;
}

static void count_elements(struct grid *of) {
  of->starts = memory_for((of->rows + 1) * sizeof *of->starts);
  of->starts[0] = 0;
  for (long i = 0; i < of->rows; i++)
    of->starts[i + 1] = of->starts[i] + fill_row(of, i, NULL, NULL);
  of->elements = of->starts[of->rows];
}

static double *new_vector(long rows) {
  double *vector = memory_for(rows * sizeof *vector);
  IN_PARALLEL for (long i = 0; i < rows; i++) vector[i] = 0;
  return vector;
}

static void make_grid(struct grid *of, long edge) {
  *of = (struct grid){.edge = edge, .rows = edge * edge * edge};
  count_elements(of);
  of->columns = memory_for(of->elements * sizeof *of->columns);
  of->values = memory_for(of->elements * sizeof *of->values);
  of->inverse = new_vector(of->rows);
  of->residual = new_vector(of->rows);
  IN_PARALLEL for (long i = 0; i < of->rows; i++) {
    fill_row(of, i, of->columns + of->starts[i], of->values + of->starts[i]);
    of->inverse[i] = 1.0 / (NEIGHBOURS - 1);
  }
}

static void make_problem(long edge) {
  for (int g = 0; g < GRIDS; g++) {
    struct grid *of = &grids[g];
    make_grid(of, (edge + 1) / (1 << g) - 1);
    if (g) of->x = new_vector(of->rows), of->b = new_vector(of->rows);
  }
  double **vectors[] = {&x, &b, &r, &p, &z, &product};
  for (int v = 0; v < 6; v++) *vectors[v] = new_vector(grids->rows);
  /* The sum of a row, so that a vector of ones is the solution. */
  IN_PARALLEL for (long i = 0; i < grids->rows; i++)
    b[i] = NEIGHBOURS - (grids->starts[i + 1] - grids->starts[i]);
}

/* ---- kernels --------------------------------------------------------------------- */

/* Prefetch 32 elements (a row has at most 27), AHEAD elements in advance, by one request
   for each cache line of 64 bytes: hardware prefetchers do not handle such short rows
   well. Addresses beyond the arrays are harmless. */
static inline void fetch_ahead(const double *values, const int *columns) {
  for (int n = 0; n < 32; n += 8) __builtin_prefetch(values + AHEAD + n);
  for (int n = 0; n < 32; n += 16) __builtin_prefetch(columns + AHEAD + n);
}

/* Four sums, so that additions do not wait for each other. */
static inline double row_times(const struct grid *of, long row, const double *vector) {
  const double *values = of->values;
  const int *columns = of->columns;
  long i = of->starts[row], end = of->starts[row + 1];
  double sums[4] = {0};
  fetch_ahead(values + i, columns + i);
  for (; i + 3 < end; i += 4)
    for (int s = 0; s < 4; s++) sums[s] += values[i + s] * vector[columns[i + s]];
  for (; i < end; i++) sums[0] += values[i] * vector[columns[i]];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void multiply(const struct grid *of, const double *vector, double *to) {
  IN_PARALLEL for (long i = 0; i < of->rows; i++) to[i] = row_times(of, i, vector);
}

static double dot(const double *left, const double *right) {
  double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (long i = 0; i < grids->rows; i++) sum += left[i] * right[i];
  return sum;
}

/* to = left + factor * right */
static void add(double *to, const double *left, double factor, const double *right) {
  IN_PARALLEL for (long i = 0; i < grids->rows; i++) to[i] = left[i] + factor * right[i];
}

static void smooth_line(const struct grid *of, long first, int backward) {
  for (long n = 0; n < of->edge; n++) {
    long row = first + (backward ? of->edge - 1 - n : n);
    of->x[row] += (of->b[row] - row_times(of, row, of->x)) * of->inverse[row];
  }
}

/* All threads of a team call this; a loop ends when all have finished a colour. */
static void sweep(const struct grid *of, int backward) {
  for (int c = 0; c < COLOURS; c++) {
    int colour = backward ? COLOURS - 1 - c : c, odd_y = colour % 2, odd_z = colour / 2;
    long wide = (of->edge + 1 - odd_y) / 2, high = (of->edge + 1 - odd_z) / 2;
#pragma omp for schedule(static)
    for (long l = 0; l < wide * high; l++)
      smooth_line(of, point(of, 0, 2 * (l % wide) + odd_y, 2 * (l / wide) + odd_z),
                  backward);
  }
}

static void smooth(const struct grid *of) {
#pragma omp parallel
  {
    sweep(of, 0);
    sweep(of, 1);
  }
}

static void find_residual(const struct grid *of) {
  IN_PARALLEL for (long i = 0; i < of->rows; i++) of->residual[i] =
      of->b[i] - row_times(of, i, of->x);
}

/* Full weighting: 1, 1/2, 1/4 or 1/8 by distance; the weights sum to 8. The coarse matrix
   has the same elements at twice the spacing, so its right side must be four times the
   mean residual: divide by 2. Coarse points are the points whose three coordinates are
   odd. */
static void restrict_residual(const struct grid *of, const struct grid *to) {
  long edge = to->edge;
  IN_PARALLEL for (long i = 0; i < to->rows; i++) {
    long centre = point(of, 2 * (i % edge) + 1, 2 * (i / edge % edge) + 1,
                        2 * (i / edge / edge) + 1);
    double sum = 0;
    for (int n = 0; n < NEIGHBOURS; n++) {
      int by[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
      double weight = 1.0 / (1 << (abs(by[0]) + abs(by[1]) + abs(by[2])));
      sum += weight * of->residual[centre + point(of, by[0], by[1], by[2])];
    }
    to->b[i] = sum / 2;
  }
}

/* Add the corrections of the next grid, interpolated linearly; they are 0 outside. For an
   odd coordinate, both neighbours are the same coarse point, so eight terms always
   suffice. */
static void correct(const struct grid *of, const struct grid *by) {
  long edge = of->edge, half = by->edge;
  IN_PARALLEL for (long line = 0; line < edge * edge; line++) {
    long j = line % edge, k = line / edge;
    for (long i = 0; i < edge; i++) {
      double sum = 0;
      for (int n = 0; n < 8; n++) {
        long to[3] = {(i - n % 2) >> 1, (j - n / 2 % 2) >> 1, (k - n / 4) >> 1};
        int is_inside = 1;
        for (int d = 0; d < 3; d++) is_inside &= to[d] >= 0 && to[d] < half;
        if (is_inside) sum += by->x[point(by, to[0], to[1], to[2])];
      }
      of->x[point(of, i, j, k)] += sum / 8;
    }
  }
}

/* A V-cycle from grid `g` downwards. */
static void cycle(int g) {
  const struct grid *of = &grids[g], *next = of + 1;
  IN_PARALLEL for (long i = 0; i < of->rows; i++) of->x[i] = 0;
  smooth(of);
  if (g == GRIDS - 1) return;
  find_residual(of);
  restrict_residual(of, next);
  cycle(g + 1);
  correct(of, next);
  smooth(of);
}

/* to = M^-1 from; the first grid has no x and b of its own, but uses these vectors. */
static void precondition(double *from, double *to) {
  grids->b = from, grids->x = to;
  cycle(0);
}

/* ---- work ------------------------------------------------------------------------ */

enum { SPMV, DOT, WAXPBY, MULTIGRID, TOTAL, KINDS };
static const char *const names[] = {"SpMV", "dot", "WAXPBY", "multigrid", "CG"};

struct amount {
  double operations, bytes;
};

static void count(struct amount *to, double times, double operations, double bytes) {
  to->operations += times * operations, to->bytes += times * bytes;
}

static const double number_bytes = sizeof(double), start_bytes = sizeof(long),
                    element_bytes = sizeof(double) + sizeof(int);

/* A smoothing is two sweeps. */
static void count_cycle(struct amount *to) {
  for (int g = 0; g < GRIDS; g++) {
    const struct grid *of = &grids[g];
    double rows = of->rows, elements = of->elements, sweeps = g < GRIDS - 1 ? 4 : 2;
    count(to, 1, 0, rows * number_bytes); /* x = 0 */
    /* sweeps: x twice, b, inverse */
    count(to, sweeps, 2 * elements,
          elements * element_bytes + rows * (start_bytes + 4 * number_bytes));
    if (g == GRIDS - 1) return;
    double coarse = of[1].rows;
    /* residual: x, b, residual */
    count(to, 1, 2 * elements,
          elements * element_bytes + rows * (start_bytes + 3 * number_bytes));
    /* restriction: residual, coarse b */
    count(to, 1, 2.0 * NEIGHBOURS * coarse, (rows + coarse) * number_bytes);
    /* correction: x twice, coarse x */
    count(to, 1, 2.0 * NEIGHBOURS * coarse, (2 * rows + coarse) * number_bytes);
  }
}

/* Of one iteration. */
static void count_work(struct amount *of) {
  double rows = grids->rows, elements = grids->elements;
  count(&of[SPMV], 1, 2 * elements,
        elements * element_bytes + rows * (start_bytes + 2 * number_bytes));
  count(&of[DOT], 2, 2 * rows, 2 * rows * number_bytes);
  count(&of[DOT], 1, 2 * rows, rows * number_bytes);
  count(&of[WAXPBY], 3, 2 * rows, 3 * rows * number_bytes);
  count_cycle(&of[MULTIGRID]);
  for (int k = 0; k < TOTAL; k++) count(&of[TOTAL], 1, of[k].operations, of[k].bytes);
}

/* ---- conjugate gradients --------------------------------------------------------- */

static double spent[KINDS], lap;

/* Add the time since the last call to that of a kernel. */
static void spend(int kind) {
  double now = seconds();
  spent[kind] += now - lap;
  lap = now;
}

static double timed_dot(const double *left, const double *right) {
  double found = dot(left, right);
  spend(DOT);
  return found;
}

static void timed_add(double *to, const double *left, double factor,
                      const double *right) {
  add(to, left, factor, right);
  spend(WAXPBY);
}

/* Solve from zero; return the number of iterations. Stops after `most`, or when the
   residual is `least` times that of zero. */
static int solve(int most, double least) {
  double last = 0, norm = sqrt(dot(b, b)), residual = norm;
  int n = 0;
  memset(spent, 0, sizeof spent);
  IN_PARALLEL for (long i = 0; i < grids->rows; i++) x[i] = p[i] = 0, r[i] = b[i];
  double start = lap = seconds();
  for (; n < most && residual > least * norm; n++) {
    precondition(r, z);
    spend(MULTIGRID);
    double now = timed_dot(r, z);
    timed_add(p, z, n ? now / last : 0, p);
    multiply(grids, p, product);
    spend(SPMV);
    double step = now / timed_dot(p, product);
    timed_add(x, x, step, p);
    timed_add(r, r, -step, product);
    residual = sqrt(timed_dot(r, r));
    last = now;
  }
  spent[TOTAL] = seconds() - start;
  return n;
}

/* ---- checks ---------------------------------------------------------------------- */

static void wrong(const char *what, double value) {
  fprintf(stderr, "%s: %g\n", what, value);
  exit(1);
}

/* How far u.Av is from v.Au, relative to their size. */
static double asymmetry(double *u, double *v, double *of_u, double *of_v) {
  double size = sqrt(dot(u, u) * dot(of_v, of_v));
  return fabs(dot(u, of_v) - dot(v, of_u)) / size;
}

static void check_symmetry(void) {
  double *u = p, *v = r, *of_u = z, *of_v = product;
  IN_PARALLEL for (long i = 0; i < grids->rows; i++)
    u[i] = random_of(i, 1) - 0.5, v[i] = random_of(i, 2) - 0.5;
  multiply(grids, u, of_u), multiply(grids, v, of_v);
  double found = asymmetry(u, v, of_u, of_v);
  if (!(found < rounding)) wrong("the matrix is not symmetric", found);
  precondition(u, of_u), precondition(v, of_v);
  found = asymmetry(u, v, of_u, of_v);
  if (!(found < rounding)) wrong("the preconditioner is not symmetric", found);
}

/* The residual is calculated again, and may be ten times the tolerance: rounding makes it
   differ from the residual that the iteration updates. */
static void check_solution(void) {
  double error = 0;
#pragma omp parallel for schedule(static) reduction(max : error)
  for (long i = 0; i < grids->rows; i++) error = fmax(error, fabs(x[i] - 1));
  if (!(error <= largest_error)) wrong("the solution has an error", error);
  multiply(grids, x, product);
  add(product, b, -1, product);
  double left = sqrt(dot(product, product) / dot(b, b));
  if (!(left <= 10 * tolerance)) wrong("the residual did not fall as expected", left);
}

/* ---- measurement ----------------------------------------------------------------- */

static void print_kernel(int kind, const struct amount *of, int iterations,
                         const struct timing *timing) {
  char labels[LINE];
  int is_of_vectors = kind == DOT || kind == WAXPBY;
  double bytes = is_of_vectors ? grids->rows * number_bytes
                               : grids->elements * element_bytes;
  const char *units[] = {"FLOP", "BYTE"}, *kinds[] = {"operations", "bytes moved"};
  for (int u = 0; u < 2; u++) {
    snprintf(labels, sizeof labels,
             "\"kernel\": \"%s\", \"precision\": \"double\", \"order\": %ld, "
             "\"kind\": \"%s\", \"bytes\": %.0f",
             names[kind], grids->rows, kinds[u], bytes);
    print_result(labels, units[u], iterations * (u ? of->bytes : of->operations),
                 cpu_count, timing);
  }
}

static void measure(int iterations, int repeats) {
  struct timing timings[KINDS] = {0}, all = {0};
  struct amount amounts[KINDS] = {0};
  struct cpu_usage before = begin_timing(&all);
  for (int n = 0; n < repeats; n++) {
    solve(iterations, 0);
    check_solution();
    for (int k = 0; k < KINDS; k++) timings[k].seconds[n] = spent[k];
  }
  end_timing(&before, cpu_count, &all);
  count_work(amounts);
  for (int k = 0; k < KINDS; k++) {
    timings[k].repeats = repeats;
    timings[k].began = all.began, timings[k].ended = all.ended;
    timings[k].other = all.other, timings[k].stolen = all.stolen;
    print_kernel(k, &amounts[k], iterations, &timings[k]);
  }
}

/* 8/7: all grids, each less than an eighth of the one before. Eight vectors: six of the
   solver, inverse and residual; coarser grids have only four. */
static double needed(double rows) {
  return 8.0 / 7 * rows * (NEIGHBOURS * element_bytes + start_bytes + 8 * number_bytes);
}

int main(int words_count, char **words) {
  if (words_count != 3) {
    fputs("usage: cg REPEATS ROWS\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double rows = number(words[2], 1, 1e9, "ROWS");
  /* edge + 1 is a multiple of 16, so that it can be halved for each coarser grid. */
  long edge = (long)ceil((cbrt(rows) + 1) / MULTIPLE - 1e-9) * MULTIPLE - 1;
  edge = edge < SMALLEST_EDGE ? SMALLEST_EDGE : edge;
  place_threads();
  need_memory(needed((double)edge * edge * edge));
  make_problem(edge);
  check_symmetry();
  double start = seconds();
  int iterations = solve(MOST_ITERATIONS, tolerance);
  double once = seconds() - start;
  check_solution();
  measure(iterations, repeats_of(once, repeats));
  return 0;
}
