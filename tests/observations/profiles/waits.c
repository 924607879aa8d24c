/* Waits 0.6 s in rarely(), 0.2 s in often() and twice 0.2 s with a thread; computes. */
#include <pthread.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static void nap(int us) {
    usleep(us);
    sink++;
}

__attribute__((noinline)) static void rarely(void) {
    for (int i = 0; i < 3; i++) nap(200000);
    sink++;
}

__attribute__((noinline)) static void often(void) {
    for (int i = 0; i < 200; i++) nap(1000);
    sink++;
}

static void *worker(void *unused) {
    nap(200000);
    sink++;
    return unused;
}

__attribute__((noinline)) static void joined(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    sink++;
}

int main(void) {
    rarely();
    often();
    joined();
    for (long i = 0; i < 50000000; i++) sink++;
    return 0;
}
