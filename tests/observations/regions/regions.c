/* Names regions by one of the interfaces that the recorder offers, and by mistakes. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_LIKWID
#define LIKWID_PERFMON
#include <likwid-marker.h>
#else
void likwid_markerInit(void);
void likwid_markerClose(void);
int likwid_markerStartRegion(const char *);
int likwid_markerStopRegion(const char *);
#define LIKWID_MARKER_INIT likwid_markerInit()
#define LIKWID_MARKER_CLOSE likwid_markerClose()
#define LIKWID_MARKER_START(name) likwid_markerStartRegion(name)
#define LIKWID_MARKER_STOP(name) likwid_markerStopRegion(name)
#endif

static void nap(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (long)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void compute(double seconds) {
    struct timespec t;
    double first = -1, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
        if (first < 0) first = now;
    } while (now - first < seconds);
}

/* Sleeps in a, and computes in b, which is in a, and in each of some threads. */
static void *in_thread(void *unused) {
    (void)unused;
    LIKWID_MARKER_START("b");
    compute(0.2);
    LIKWID_MARKER_STOP("b");
    return NULL;
}

static void nested(void) {
    LIKWID_MARKER_INIT;
    LIKWID_MARKER_START("a");
    nap(0.1);
    in_thread(NULL);
    LIKWID_MARKER_STOP("a");
    pthread_t other;
    /* One after the other: the second takes over the file of the first. */
    for (int i = 0; i < 2; i++) {
        pthread_create(&other, NULL, in_thread, NULL);
        pthread_join(other, NULL);
    }
    LIKWID_MARKER_CLOSE;
}

static void many(long pairs) {
    for (long i = 0; i < pairs; i++) {
        LIKWID_MARKER_START("pair");
        LIKWID_MARKER_STOP("pair");
    }
}

static void distinct(long regions) {
    char name[32];
    for (long i = 0; i < regions; i++) {
        snprintf(name, sizeof name, "region %ld", i);
        LIKWID_MARKER_START(name);
        LIKWID_MARKER_STOP(name);
    }
}

static void mistakes(void) {
    LIKWID_MARKER_STOP("never begun");
    LIKWID_MARKER_START("");
    LIKWID_MARKER_STOP("");
    LIKWID_MARKER_START("a\nb\"\xff");
    LIKWID_MARKER_STOP("a\nb\"\xff");
    char name[1000];
    memset(name, 'x', sizeof name);
    name[999] = 0;
    LIKWID_MARKER_START(name);
    LIKWID_MARKER_STOP(name);
    LIKWID_MARKER_START("left open");
    /* These overlap: neither is in the other. */
    LIKWID_MARKER_START("first");
    LIKWID_MARKER_START("second");
    LIKWID_MARKER_STOP("first");
    LIKWID_MARKER_STOP("second");
    for (int i = 0; i < 100; i++) LIKWID_MARKER_START("deep");
    for (int i = 0; i < 100; i++) LIKWID_MARKER_STOP("deep");
}

static void *leaves_open(void *unused) {
    LIKWID_MARKER_START("left by a thread");
    return unused;
}

static void threads(void) {
    pthread_t other;
    for (int i = 0; i < 2; i++) {
        pthread_create(&other, NULL, leaves_open, NULL);
        pthread_join(other, NULL);
    }
}

static void killed(void) {
    LIKWID_MARKER_START("done");
    LIKWID_MARKER_STOP("done");
    LIKWID_MARKER_START("interrupted");
    kill(getpid(), SIGKILL);
}

static void forked(void) {
    LIKWID_MARKER_START("before");
    if (!fork()) {
        LIKWID_MARKER_START("child");
        LIKWID_MARKER_STOP("child");
        _exit(0);
    }
    nap(0.2);
    LIKWID_MARKER_STOP("before");
}

/* Touches new pages: each is a page fault. */
static void faults(long pages) {
    long size = sysconf(_SC_PAGESIZE);
    LIKWID_MARKER_START("outside");
    LIKWID_MARKER_STOP("outside");
    LIKWID_MARKER_START("faults");
    char *memory = aligned_alloc((size_t)size, (size_t)(pages * size));
    for (long i = 0; i < pages; i++) ((volatile char *)memory)[i * size] = 1;
    LIKWID_MARKER_STOP("faults");
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "nested";
    long number = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(what, "nested")) nested();
    if (!strcmp(what, "many")) many(number);
    if (!strcmp(what, "distinct")) distinct(number);
    if (!strcmp(what, "mistakes")) mistakes();
    if (!strcmp(what, "threads")) threads();
    if (!strcmp(what, "killed")) killed();
    if (!strcmp(what, "forked")) forked();
    if (!strcmp(what, "faults")) faults(number);
    puts("done");
    return 0;
}
