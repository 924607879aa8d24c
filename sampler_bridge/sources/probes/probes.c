/* Attaches probes to functions and events, and reads what they counted, on request.
 *
 * Standard output begins with a line: "ready", or "refused REASON". Then each line on
 * standard input is answered. Its words are separated by tabs:
 *
 *   by N KIND            what calls are counted by; "ok"
 *   form N WHERE BASE DISPLACEMENT INDEX SCALE SIZE   where the argument is; "ok"
 *   field N CATEGORY NAME FIELD                       the same, of a tracepoint
 *   attach N PROGRAM user PATH OFFSET SEMAPHORE RETURN PID   "ok" or "refused REASON"
 *   attach N PROGRAM event CATEGORY NAME                     the same
 *   limit N CALLS        most calls that a CPU times in 100 ms; "ok"
 *   detach N             stop counting, and forget what was counted; "ok"
 *   read                 a line of numbers for each probe, and one for each thread,
 *                        CPU or control group that calls are counted by; then "end"
 *
 * PROGRAM is count, enter or leave. What `by`, `form` and `field` say holds for what is
 * attached after them. The kernel detaches everything when the program
 * ends, however it ends: with its standard input, or by a signal.
 */
#define _GNU_SOURCE
#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

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
    unsigned form;             /* of what is attached next */
    unsigned long long used;   /* how often the number was given up */
    unsigned long long missed; /* as last answered: a counter must not decrease */
} probes[PROBES];
static unsigned char by[PROBES];
static char verdict[REASON]; /* the last words of the kernel's verifier */

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
    if (!per_cpu || open_keys(file) || open_forms(file))
        refuse_all("no memory: %s", strerror(errno));
}

/* ---- requests -------------------------------------------------------------------- */

static struct bpf_program *program_of(const char *what, const char *where)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", what, where);
    return bpf_object__find_program_by_name(file, name);
}

/* See probes.bpf.c. */
static unsigned long long cookie_of(unsigned number, unsigned form)
{
    return probes[number].used << 32 | form << 16 | by[number] << 8 | number;
}

static struct bpf_link *to_function(unsigned number, char **word)
{
    struct bpf_program *program = program_of(word[2], "user");
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie_of(number, probes[number].form),
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
    LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = cookie_of(number, probes[number].form));
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
    forget_keys(number, cookie_of(number, 0));
    forget_forms(number);
    probe->used++;
    probe->missed = probe->form = by[number] = 0;
    memset(per_cpu, 0, cpus * sizeof *per_cpu);
    bpf_map_update_elem(counted, &number, per_cpu, BPF_ANY);
    bpf_map_update_elem(limits, &number, &none, BPF_ANY);
    printf("ok\n");
}

static void set_by(unsigned number, const char *kind)
{
    unsigned long value = strtoul(kind, NULL, 10);
    if (value > BY_CGROUP)
        return refused("not a request");
    by[number] = value;
    printf("ok\n");
}

static void set_form(unsigned number, unsigned form)
{
    if (!form) /* it was refused */
        return;
    probes[number].form = form;
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

static void say_numbers(const unsigned long long *numbers, int length)
{
    for (int n = 0; n < length; n++)
        printf(" %llu", numbers[n]);
}

static void say_cpus(unsigned number)
{
    for (int cpu = 0; cpu < cpus; cpu++)
        if (per_cpu[cpu].calls || per_cpu[cpu].timed)
            printf("key %u %d %llu %llu %llu\n", number, cpu, per_cpu[cpu].calls,
                   per_cpu[cpu].timed, per_cpu[cpu].nanoseconds);
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
        sum.unkeyed += per_cpu[cpu].unkeyed;
        sum.unread += per_cpu[cpu].unread;
        for (int n = 0; n < BUCKETS; n++)
            sum.buckets[n] += per_cpu[cpu].buckets[n];
        for (int n = 0; n < ARGUMENT_BUCKETS; n++)
            sum.arguments[n] += per_cpu[cpu].arguments[n];
    }
    printf("probe %u %llu %llu %llu %llu %llu %llu %llu", number, sum.calls, sum.timed,
           sum.nanoseconds, sum.shed, missed(&probes[number], &sum), sum.unkeyed,
           sum.unread);
    say_numbers(sum.buckets, BUCKETS);
    say_numbers(sum.arguments, ARGUMENT_BUCKETS);
    printf("\n");
    if (by[number] == BY_CPU)
        say_cpus(number);
}

static void say_all(void)
{
    int is_keyed = 0;
    for (unsigned n = 0; n < PROBES; n++) {
        is_keyed |= by[n] == BY_THREAD || by[n] == BY_CGROUP;
        if (probes[n].links)
            say_counts(n);
    }
    if (is_keyed)
        say_keys(by);
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
    else if (words == 3 && !strcmp(word[0], "by"))
        set_by(number, word[2]);
    else if (words == 8 && !strcmp(word[0], "form"))
        set_form(number, form_of_words(number, word));
    else if (words == 5 && !strcmp(word[0], "field"))
        set_form(number, form_of_field(number, word));
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
