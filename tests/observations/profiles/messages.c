/* Two processes send each other bytes, 100,000 times, and one of them sleeps between. */
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static void talk(int from, int to) {
    char byte = 0;
    if (write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1) sink++;
}

__attribute__((noinline)) static void doze(void) {
    usleep(50000);
    sink++;
}

int main(void) {
    int there[2], back[2];
    char byte;
    if (pipe(there) || pipe(back)) return 1;
    if (!fork()) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1)
            if (write(back[1], &byte, 1) != 1) break;
        return 0;
    }
    close(there[0]);
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 5000; j++) talk(back[0], there[1]);
        doze();
    }
    close(there[1]);
    wait(0);
    return 0;
}
