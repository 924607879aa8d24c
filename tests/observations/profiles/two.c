#include <stdio.h>
#include <stdlib.h>
/* Two functions that do the same work, one TIMES as often. */
#ifndef TIMES
#define TIMES 3
#endif
static volatile double sink;
#define WORK(name) __attribute__((noinline)) void name(long n) { double x = 1; for (long i = 0; i < n; i++) x = x * 1.0000001 + 0.5; sink = x; }
WORK(three)
WORK(one)
__attribute__((noinline)) void work(long n) { three(TIMES * n); one(n); sink += 1; }
int main(int c, char **v) { long n = c > 1 ? atol(v[1]) : 1000; for (long i = 0; i < n; i++) work(100000); return 0; }
