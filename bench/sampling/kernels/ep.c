/* Gaussian pairs by the polar method, as in NAS' EP of class S (2^24 pairs), several
 * times over; every thread makes pieces of its own and nothing is exchanged.
 *
 * Usage: ep REPEATS. One line of JSON; "verified" holds against NAS' published sums.
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PIECES (1 << 8)
#define PAIRS (1 << 16)
#define FACTOR 1220703125u /* 5^13; the generator is modulo 2^46 */
#define MASK ((1ull << 46) - 1)

static uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = base * base & MASK)
        if (exponent & 1) result = result * base & MASK;
    return result;
}

static void piece(int number, double *sx, double *sy) {
    uint64_t x = 271828183u * power(FACTOR, 2ull * PAIRS * number) & MASK;
    for (int pair = 0; pair < PAIRS; pair++) {
        double u = ldexp((double)(x = x * FACTOR & MASK), -45) - 1.0;
        double v = ldexp((double)(x = x * FACTOR & MASK), -45) - 1.0;
        double t = u * u + v * v;
        if (t > 1.0) continue;
        double f = sqrt(-2.0 * log(t) / t);
        *sx += u * f;
        *sy += v * f;
    }
}

int main(int argc, char **argv) {
    int repeats = argc > 1 ? atoi(argv[1]) : 1, verified = 1;
    double began = omp_get_wtime();
    for (int n = 0; n < repeats; n++) {
        double sx = 0, sy = 0;
#pragma omp parallel for reduction(+ : sx, sy)
        for (int k = 0; k < PIECES; k++) piece(k, &sx, &sy);
        verified &= fabs(sx / -3.247834652034740e3 - 1) < 1e-8 &&
                    fabs(sy / -6.958407078382297e3 - 1) < 1e-8;
    }
    double seconds = omp_get_wtime() - began;
    printf("{\"seconds\": %.6f, \"verified\": %s}\n", seconds,
           verified ? "true" : "false");
    return 0;
}
