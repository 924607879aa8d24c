/* What the kernel's part (tasks.bpf.c) writes for each process, or for each thread;
 * read by tasks.c. */
#ifndef TASKS_H
#define TASKS_H

/* What is read: each group costs some misses of the caches for each process. The
 * number, start, command and threads of a process are always read. */
enum group {
    STATE = 1,
    SWITCHES = 2,
    RUNS = 4,
    CHILDREN = 8,
    MEMORY = 16,
    TIMES = 32,
    FAULTS = 64,
    IO = 128,
};

/* A process, from its leading thread and what all threads share. Times are in ns,
 * memory is in pages, an address is in bytes. Of a thread, `pid` is its own number, and
 * the values that threads share are 0. */
struct process {
    unsigned long long pid, tgid, start;
    char comm[16];
    unsigned int ppid, threads, cpu, policy, rt_priority, exit_signal;
    unsigned int state, exit_state;
    long long static_prio; /* wide, because a row must not have padding */
    unsigned long long prev_utime, prev_stime; /* what /proc last showed */
    unsigned long long cutime, cstime, cmin_flt, cmaj_flt;
    unsigned long long nvcsw, nivcsw, runtime, run_delay, pcount;
    unsigned long long total_vm, rss, locked_vm, data_vm, stack_vm, exec_vm;
    unsigned long long start_code, end_code;
};

/* The sums over all threads of a process, those that ended included; or of a thread. */
struct sums {
    unsigned long long utime, stime, runtime, min_flt, maj_flt;
    unsigned long long rchar, wchar, syscr, syscw;
    unsigned long long read_bytes, write_bytes, cancelled_write_bytes;
    unsigned long long unsure; /* threads ended during each attempt to add them up */
};

struct row {
    struct process process;
    struct sums sums;
};

#endif
