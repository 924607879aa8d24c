/* Names its generated code in /tmp/perf-PID.map, as CPython's -X perf does, and runs it. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 4096

/* Calls nothing, so that a copy of it runs anywhere. */
__attribute__((noipa, aligned(64))) static void work(volatile long *left) {
    while (*left > 0) --*left;
}

int main(void) {
    long left = 300000000;
    char path[64];
    int how = PROT_READ | PROT_WRITE | PROT_EXEC;
    void *code = mmap(0, BYTES, how, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 1;
    memcpy(code, (void *)work, 256);
    __builtin___clear_cache(code, (char *)code + 256);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "wx");
    if (!map) return 1;
    fprintf(map, "%lx 100 py::Solver.step:/src/solver.py\n", (unsigned long)code);
    fclose(map);
    ((void (*)(volatile long *))code)(&left);
    return 0;
}
