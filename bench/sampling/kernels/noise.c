/* The same work again and again on every thread, each piece timed by itself, as PSNAP
 * does: what a piece takes longer than others, someone else took.
 *
 * Usage: noise PIECES STEPS. One line of JSON; "histogram" counts pieces by their time
 * in microseconds, "verified" holds where every thread's work came out right.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FACTOR 6364136223846793005ull
#define MOST 1000000 /* microseconds; the last counts all above */

static long counts[MOST + 1];

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static uint64_t power(uint64_t exponent) {
    uint64_t base = FACTOR, result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    long pieces = atol(argv[1]), steps = atol(argv[2]);
    int verified = 1;
    double began = omp_get_wtime();
#pragma omp parallel reduction(& : verified)
    {
        uint64_t x = 1;
        for (long piece = 0; piece < pieces; piece++) {
            int64_t start = now();
            for (long step = 0; step < steps; step++) {
                x *= FACTOR;
                __asm__ volatile("" : "+r"(x)); /* each step, and one after another */
            }
            long micros = (now() - start + 500) / 1000;
#pragma omp atomic
            counts[micros < MOST ? micros : MOST]++;
        }
        verified &= x == power((uint64_t)pieces * steps);
    }
    double seconds = omp_get_wtime() - began;
    printf("{\"seconds\": %.6f, \"verified\": %s, \"histogram\": {", seconds,
           verified ? "true" : "false");
    const char *comma = "";
    for (long micros = 0; micros <= MOST; micros++)
        if (counts[micros]) {
            printf("%s\"%ld\": %ld", comma, micros, counts[micros]);
            comma = ", ";
        }
    printf("}}\n");
    return 0;
}
