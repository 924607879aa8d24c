/* Attaches probes to functions and events, and reads what they counted, on request.
 *
 * Standard output begins with a line: "ready", or "refused REASON". Then each line on
 * standard input is answered. Its words are separated by tabs:
 *
 *   attach N PROGRAM user PATH OFFSET SEMAPHORE RETURN PID   "ok" or "refused REASON"
 *   attach N PROGRAM event CATEGORY NAME                     the same
 *   limit N CALLS        most calls that a CPU times in 100 ms; "ok"
 *   detach N             stop counting, and forget what was counted; "ok"
 *   read                 a line of numbers for each probe, then "end"
 *
 * PROGRAM is count, enter or leave. The kernel detaches everything when the program
 * ends, however it ends: with its standard input, or by a signal.
 */
#define _GNU_SOURCE
#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes.h"

#if defined(__x86_64__)
static const unsigned stack_at = offsetof(struct pt_regs, rsp);
#elif defined(__aarch64__)
static const unsigned stack_at = offsetof(struct user_pt_regs, sp);
#else
#error "where does this processor keep the stack pointer?"
#endif

__asm__(".section .rodata\n"
        ".balign 8\n"
        "object: .incbin \"probes.bpf.o\"\n"
        "object_end:\n"
        ".previous\n");
extern const char object[], object_end[];

enum { LINKS = 256, WORDS = 9, LINE = 8192, REASON = 512 };

static struct bpf_object *file;
static int counted, limits, cpus;
static struct counts *per_cpu;
static struct probe {
    int links;
    struct bpf_link *link[LINKS];
    unsigned long long used;   /* how often the number was given up */
    unsigned long long missed; /* as last answered: a counter must not decrease */
} probes[PROBES];
static char verdict[REASON]; /* the last words of the kernel's verifier */

/* ---- answers --------------------------------------------------------------------- */

static void refused(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    printf("refused ");
    vprintf(format, values);
    printf("\n");
    va_end(values);
}

static void refuse_all(const char *reason, const char *detail)
{
    refused(reason, detail);
    fflush(stdout);
    exit(1);
}

/* Keep the line of the verifier's log that says why it refused a program. */
static int keep_verdict(enum libbpf_print_level level, const char *format,
                        va_list values)
{
    static char text[1 << 16];
    char *end, *line;
    vsnprintf(text, sizeof text, format, values);
    if (!strstr(text, "BEGIN PROG LOAD LOG"))
        return 0;
    end = strstr(text, "\nprocessed ");
    if (!end)
        end = strstr(text, "\n-- END PROG");
    if (!end)
        return 0;
    *end = 0;
    line = strrchr(text, '\n');
    snprintf(verdict, sizeof verdict, "%.500s", line ? line + 1 : text);
    return 0;
}

/* ---- start ----------------------------------------------------------------------- */

/* Many machines do not mount what lists the tracepoints: mount it, for us alone. */
static void see_events(void)
{
    if (!access("/sys/kernel/tracing/events", F_OK) || unshare(CLONE_NEWNS) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return;
    mount("tracefs", "/sys/kernel/tracing", "tracefs", MS_NOSUID | MS_NOEXEC, NULL);
}

/* Keep three capabilities and nothing else, whatever the user. The kernel attaches to a
 * function only with CAP_SYS_ADMIN; tracepoints do not need it. */
static void drop_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2], kept[2] = {0};
    const unsigned wanted = 1u << (CAP_PERFMON - 32) | 1u << (CAP_BPF - 32);
    if (syscall(SYS_capget, &header, held) == 0) {
        kept[0].permitted = kept[0].effective =
            held[0].permitted & 1u << CAP_SYS_ADMIN;
        kept[1].permitted = kept[1].effective = held[1].permitted & wanted;
    }
    if (kept[1].permitted != wanted)
        refuse_all("no right to probe (%s): run as root, or with both capabilities",
                   "CAP_BPF and CAP_PERFMON");
    if (syscall(SYS_capset, &header, kept) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        refuse_all("cannot drop rights: %s", strerror(errno));
    prctl(PR_SET_DUMPABLE, 0);
}

static int set_stack_at(void)
{
    struct bpf_map *map;
    bpf_object__for_each_map(map, file) if (strstr(bpf_map__name(map), ".rodata"))
        return bpf_map__set_initial_value(map, &stack_at, sizeof stack_at);
    return -1;
}

static void load(void)
{
    file = bpf_object__open_mem(object, object_end - object, NULL);
    if (!file || set_stack_at() || bpf_object__load(file)) {
        if (*verdict)
            refuse_all("the kernel's verifier refuses the program: %s", verdict);
        refuse_all("the kernel does not load the program (%s): Linux 5.15 or newer is "
                   "needed, for root without lockdown", strerror(errno));
    }
    counted = bpf_object__find_map_fd_by_name(file, "counted");
    limits = bpf_object__find_map_fd_by_name(file, "limits");
    cpus = libbpf_num_possible_cpus();
    per_cpu = cpus > 0 ? calloc(cpus, sizeof *per_cpu) : NULL;
    if (!per_cpu)
        refuse_all("no memory: %s", strerror(errno));
}

/* ---- requests -------------------------------------------------------------------- */

static struct bpf_program *program_of(const char *what, const char *where)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", what, where);
    return bpf_object__find_program_by_name(file, name);
}

static unsigned long long cookie_of(unsigned number)
{
    return probes[number].used << 32 | number;
}

static struct bpf_link *to_function(unsigned number, char **word)
{
    struct bpf_program *program = program_of(word[2], "user");
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie_of(number),
                .ref_ctr_offset = strtoull(word[6], NULL, 10),
                .retprobe = *word[7] == '1');
    errno = EINVAL;
    return program ? bpf_program__attach_uprobe_opts(program, atoi(word[8]), word[4],
                                                     strtoull(word[5], NULL, 10),
                                                     &options)
                   : NULL;
}

static struct bpf_link *to_event(unsigned number, char **word)
{
    struct bpf_program *program = program_of(word[2], "event");
    LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = cookie_of(number));
    errno = EINVAL;
    return program ? bpf_program__attach_tracepoint_opts(program, word[4], word[5],
                                                         &options)
                   : NULL;
}

static const char *reason_of(int error, int is_user)
{
    if (is_user && (error == EACCES || error == EPERM))
        return "it needs CAP_SYS_ADMIN, and a path that root can reach";
    if (!is_user && error == ENOENT)
        return "this kernel has no such tracepoint, or tracefs is not mounted";
    return strerror(error);
}

static void attach(unsigned number, char **word, int words)
{
    struct probe *probe = &probes[number];
    int is_user = words == 9 && !strcmp(word[3], "user");
    struct bpf_link *link;
    if (!is_user && (words != 6 || strcmp(word[3], "event")))
        return refused("not a request");
    if (probe->links == LINKS)
        return refused("more than %d places", LINKS);
    link = is_user ? to_function(number, word) : to_event(number, word);
    if (!link)
        return refused("the kernel does not attach to %s (%s)", word[is_user ? 4 : 5],
                       reason_of(errno, is_user));
    probe->link[probe->links++] = link;
    printf("ok\n");
}

static void detach(unsigned number)
{
    struct probe *probe = &probes[number];
    unsigned long long none = 0;
    while (probe->links)
        bpf_link__destroy(probe->link[--probe->links]);
    probe->used++;
    probe->missed = 0;
    memset(per_cpu, 0, cpus * sizeof *per_cpu);
    bpf_map_update_elem(counted, &number, per_cpu, BPF_ANY);
    bpf_map_update_elem(limits, &number, &none, BPF_ANY);
    printf("ok\n");
}

static void limit(unsigned number, const char *calls)
{
    unsigned long long most = strtoull(calls, NULL, 10);
    if (bpf_map_update_elem(limits, &number, &most, BPF_ANY))
        return refused("%s", strerror(errno));
    printf("ok\n");
}

/* The end of a shed call finds no begin, too, but is not missed. */
static unsigned long long missed(struct probe *probe, const struct counts *sum)
{
    if (sum->missed > sum->shed && sum->missed - sum->shed > probe->missed)
        probe->missed = sum->missed - sum->shed;
    return probe->missed;
}

static void say_counts(unsigned number)
{
    struct counts sum = {0};
    if (bpf_map_lookup_elem(counted, &number, per_cpu))
        return;
    for (int cpu = 0; cpu < cpus; cpu++) {
        sum.calls += per_cpu[cpu].calls;
        sum.timed += per_cpu[cpu].timed;
        sum.nanoseconds += per_cpu[cpu].nanoseconds;
        sum.shed += per_cpu[cpu].shed;
        sum.missed += per_cpu[cpu].missed;
        for (int n = 0; n < BUCKETS; n++)
            sum.buckets[n] += per_cpu[cpu].buckets[n];
    }
    printf("%u %llu %llu %llu %llu %llu", number, sum.calls, sum.timed, sum.nanoseconds,
           sum.shed, missed(&probes[number], &sum));
    for (int n = 0; n < BUCKETS; n++)
        printf(" %llu", sum.buckets[n]);
    printf("\n");
}

static void say_all(void)
{
    for (unsigned n = 0; n < PROBES; n++)
        if (probes[n].links)
            say_counts(n);
    printf("end\n");
}

static void answer(char *line)
{
    char *word[WORDS + 1];
    int words = 0;
    unsigned number;
    line[strcspn(line, "\n")] = 0;
    while (line && words <= WORDS)
        word[words++] = strsep(&line, "\t");
    if (words == 1 && !strcmp(word[0], "read"))
        return say_all();
    number = words > 1 ? strtoul(word[1], NULL, 10) : PROBES;
    if (number >= PROBES)
        refused("not a request, or not a number below %d", PROBES);
    else if (words == 2 && !strcmp(word[0], "detach"))
        detach(number);
    else if (words == 3 && !strcmp(word[0], "limit"))
        limit(number, word[2]);
    else if (words > 5 && !strcmp(word[0], "attach"))
        attach(number, word, words);
    else
        refused("not a request");
}

int main(void)
{
    static char line[LINE];
    see_events();
    drop_rights();
    libbpf_set_print(keep_verdict);
    load();
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        answer(line);
        fflush(stdout);
    }
    return 0;
}
