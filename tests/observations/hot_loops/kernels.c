/* A chain of dependent additions, and independent fused multiply-additions. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 1024

static double x[N], y[N];

__attribute__((noinline)) static double chain(long times) {
    double sum = 0;
    for (long t = 0; t < times; t++)
        for (long i = 0; i < N; i++) sum += x[i]; /* dependent */
    return sum;
}

__attribute__((noinline)) static double independent(long times) {
    for (long t = 0; t < times; t++) {
        for (long i = 0; i < N; i++) y[i] = y[i] * 0.5 + x[i]; /* independent */
        __asm__ volatile("" ::: "memory");
    }
    return y[1];
}

int main(int count, char **words) {
    long times = count > 2 ? atol(words[2]) : 0;
    for (int i = 0; i < N; i++) x[i] = i;
    printf("%g\n", strcmp(words[1], "chain") ? independent(times) : chain(times));
    fflush(stdout);
    return 7;
}
