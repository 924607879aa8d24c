/* What the kernel counted for each thread and control group. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program.h"

enum { MANY = PROBE_KEYS / 4 * 3 };
/* PROC_PID_INIT_INO of the kernel: the same on all machines. */
static const ino_t FIRST_NAMESPACE = 0xEFFFFFFC;

static int keyed, keys;
static struct key *key;
static struct keyed *value;
static int sees_all; /* the kernel's part has the numbers of the first namespace */

int open_keys(struct bpf_object *file)
{
    struct stat own;
    sees_all = !stat("/proc/self/ns/pid", &own) && own.st_ino == FIRST_NAMESPACE;
    keyed = bpf_object__find_map_fd_by_name(file, "keyed");
    keys = bpf_object__find_map_fd_by_name(file, "keys");
    key = calloc(KEYS, sizeof *key);
    value = calloc(KEYS, sizeof *value);
    return key && value ? 0 : -1;
}

static unsigned read_keys(void)
{
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    unsigned next, number = KEYS;
    int error = bpf_map_lookup_batch(keyed, NULL, &next, key, value, &number, &options);
    return error && errno != ENOENT ? 0 : number;
}

static unsigned long long used_by(unsigned number)
{
    unsigned long long used = 0;
    bpf_map_lookup_elem(keys, &number, &used);
    return used;
}

/* A thread that ended gives its room to another, once there is little. */
static int is_over(const struct key *key, unsigned by, unsigned long long used)
{
    if (by != BY_THREAD || used < MANY || !sees_all)
        return 0;
    if (!syscall(SYS_tkill, (pid_t)key->of, 0) || errno != ESRCH)
        return 0;
    bpf_map_delete_elem(keyed, key);
    return 1;
}

void say_keys(const unsigned char by[PROBES])
{
    unsigned long long used[PROBES], ended[PROBES] = {0};
    unsigned found = read_keys();
    for (unsigned n = 0; n < PROBES; n++)
        used[n] = by[n] ? used_by(n) : 0;
    for (unsigned n = 0; n < found; n++) {
        unsigned number = key[n].probe & 0xff;
        if (is_over(&key[n], by[number], used[number])) {
            ended[number]++;
            continue;
        }
        printf("key %u %llu %llu %llu %llu\n", number, key[n].of, value[n].calls,
               value[n].timed, value[n].nanoseconds);
    }
    for (unsigned n = 0; n < PROBES; n++) {
        if (!ended[n])
            continue;
        used[n] = used_by(n) - ended[n];
        bpf_map_update_elem(keys, &n, &used[n], BPF_ANY);
    }
}

void forget_keys(unsigned number, unsigned long long probe)
{
    unsigned long long none = 0;
    unsigned found = used_by(number) ? read_keys() : 0;
    for (unsigned n = 0; n < found; n++)
        if (key[n].probe == probe)
            bpf_map_delete_elem(keyed, &key[n]);
    bpf_map_update_elem(keys, &number, &none, BPF_ANY);
}
