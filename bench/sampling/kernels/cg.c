/* Conjugate gradients on the five-point Laplacian of a square grid: memory accesses,
 * and two sums over all threads a step, as in NAS' CG.
 *
 * Usage: cg REPEATS. The right-hand side is made of a known solution; "verified" holds
 * where it is found again to six digits. One line of JSON.
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 128
#define WIDE (SIDE + 2) /* a border of zeros saves every look at the edge */
#define STEPS 600

static double known[WIDE * WIDE], b[WIDE * WIDE], x[WIDE * WIDE], r[WIDE * WIDE],
    p[WIDE * WIDE], q[WIDE * WIDE];

static void laplace(const double *from, double *to) {
#pragma omp parallel for
    for (int i = 1; i <= SIDE; i++)
        for (int j = 1; j <= SIDE; j++) {
            const double *at = from + i * WIDE + j;
            to[i * WIDE + j] = 4 * at[0] - at[-1] - at[1] - at[-WIDE] - at[WIDE];
        }
}

static double dot(const double *left, const double *right) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int k = 0; k < WIDE * WIDE; k++) sum += left[k] * right[k];
    return sum;
}

static void solve(void) {
#pragma omp parallel for
    for (int k = 0; k < WIDE * WIDE; k++) x[k] = 0, r[k] = p[k] = b[k];
    double rho = dot(r, r);
    for (int step = 0; step < STEPS && rho > 1e-26; step++) {
        laplace(p, q);
        double alpha = rho / dot(p, q);
#pragma omp parallel for
        for (int k = 0; k < WIDE * WIDE; k++) x[k] += alpha * p[k], r[k] -= alpha * q[k];
        double next = dot(r, r), beta = next / rho;
        rho = next;
#pragma omp parallel for
        for (int k = 0; k < WIDE * WIDE; k++) p[k] = r[k] + beta * p[k];
    }
}

static int is_right(void) {
    double worst = 0;
    for (int k = 0; k < WIDE * WIDE; k++) worst = fmax(worst, fabs(x[k] - known[k]));
    return worst < 1e-6;
}

int main(int argc, char **argv) {
    int repeats = argc > 1 ? atoi(argv[1]) : 1, verified = 1;
    uint64_t seed = 20261121;
    for (int i = 1; i <= SIDE; i++)
        for (int j = 1; j <= SIDE; j++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            known[i * WIDE + j] = (double)(seed >> 11) / (1ull << 53);
        }
    laplace(known, b);
    double began = omp_get_wtime();
    for (int n = 0; n < repeats; n++) {
        solve();
        verified &= is_right();
    }
    double seconds = omp_get_wtime() - began;
    printf("{\"seconds\": %.6f, \"verified\": %s}\n", seconds,
           verified ? "true" : "false");
    return 0;
}
