/* three() does three times the work of one(); both call work(). */
#include <stdio.h>
#include <stdlib.h>

/* Otherwise GCC finds that the calls have no effect, and makes each once. */
#define NOINLINE __attribute__((noipa))

NOINLINE double work(long n) {
    double sum = 0;
    for (long i = 1; i <= n; i++) sum += 1.0 / (double)i;
    return sum;
}

NOINLINE double three(long n) { return work(3 * n) + 1; }

NOINLINE double one(long n) { return work(n) + 1; }

int main(int count, char **words) {
    long times = count > 1 ? atol(words[1]) : 100;
    double sum = 0;
    for (long t = 0; t < times; t++) sum += three(2000) * 0.5 + one(2000);
    printf("%g\n", sum);
    return 0;
}
