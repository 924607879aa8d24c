/* Reads the values of processes, or with the argument "threads" of threads, through BPF
 * iterators, on request.
 *
 * Standard output begins with a line: "metrics NAME:TYPE …" (TYPE is i or u, for a
 * column of int64 or uint64, or c for characters), or "refused REASON". Then each
 * request on standard input is answered. A request is three u64: which metrics (bit N
 * is the Nth of the first line), the last set of tasks that the reader knows, or 0, and
 * how many processes are wanted, or 0 for all. Their numbers follow as u64, in
 * increasing order. An answer is four u64 (the set, the number of tasks, the time in ns
 * since 1970, whether the set follows). The set is numbers, numbers of the process,
 * starts and commands of tasks (u64, u64, u64, 16 bytes, each as one array). Then there
 * is one array of u64 for each metric. Ends with standard input.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tasks.h"

/* Debian 12's headers have both; older ones lack them. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

typedef unsigned long long u64;

__asm__(".section .rodata\n"
        ".balign 8\n"
        "object: .incbin \"tasks.bpf.o\"\n"
        "object_end:\n"
        ".previous\n");
extern const char object[], object_end[];

static const u64 HERTZ_NS = 10000000; /* /proc counts time in 10 ms on all machines */
static u64 page_kb;

/* The tasks of a pass, by number. */
struct pass {
    struct row *rows;
    size_t count, room;
};
static struct pass now, last;
static u64 set; /* increases when a task starts or ends */

/* The processes that are wanted, and the iterator of each: few take less time than that
 * of all tasks. Without links, all are read. */
enum { MOST_WANTED = 256 };
static u64 wanted_pids[MOST_WANTED];
static size_t wanted, linked;
static struct bpf_link *links[MOST_WANTED];
static struct bpf_program *program;

/* ---- values as /proc and PCP show them ------------------------------------------- */

static u64 ticks_ms(u64 ns) { return ns / HERTZ_NS * 10; }

static u64 text_pages(const struct process *p)
{
    u64 page = page_kb * 1024;
    return ((p->end_code + page - 1) & -page) / page - p->start_code / page;
}

static u64 executable_kb(const struct process *p)
{
    u64 text = text_pages(p);
    return (text < p->exec_vm ? text : p->exec_vm) * page_kb;
}

/* The letter of a state, as __task_state_index of the kernel's sched.h finds it. */
static u64 state_letter(const struct process *p)
{
    const unsigned idle = 0x402, waits = 0x2, rtlock = 0x1000, frozen = 0x8000;
    unsigned state = (p->state | p->exit_state) & 0x7f, place = 0;
    if ((p->state & idle) == idle)
        state = 0x80;
    if (p->state & (rtlock | frozen))
        state = waits;
    while (state >> place)
        place++;
    return "RSDTtXZPI"[place];
}

/* One function for each metric; `r` is the row of a process. */
#define VALUE(name, value)                                                             \
    static u64 name(const struct row *r) { return value; }
#define LOW(value) ((unsigned)(value)) /* PCP keeps 32 bits of it */
VALUE(pid, r->process.pid)
VALUE(ppid, r->process.ppid)
VALUE(utime, ticks_ms(r->sums.utime))
VALUE(stime, ticks_ms(r->sums.stime))
VALUE(cutime, ticks_ms(r->process.cutime))
VALUE(cstime, ticks_ms(r->process.cstime))
VALUE(start_time, ticks_ms(r->process.start))
VALUE(minflt, LOW(r->sums.min_flt))
VALUE(maj_flt, LOW(r->sums.maj_flt))
VALUE(cmin_flt, LOW(r->process.cmin_flt))
VALUE(cmaj_flt, LOW(r->process.cmaj_flt))
VALUE(vctxsw, LOW(r->process.nvcsw))
VALUE(nvctxsw, LOW(r->process.nivcsw))
VALUE(threads, r->process.threads)
VALUE(processor, r->process.cpu)
VALUE(nice_value, (u64)(long long)(r->process.static_prio - 120))
VALUE(policy, r->process.policy)
VALUE(rt_priority, r->process.rt_priority)
VALUE(exit_signal, r->process.exit_signal)
VALUE(vsize, r->process.total_vm * page_kb)
VALUE(rss, r->process.rss * page_kb)
VALUE(size, LOW(r->process.total_vm * page_kb))
VALUE(textrss, LOW(text_pages(&r->process) * page_kb))
VALUE(datrss, LOW((r->process.data_vm + r->process.stack_vm) * page_kb))
VALUE(vmlock, LOW(r->process.locked_vm * page_kb))
VALUE(vmdata, LOW(r->process.data_vm * page_kb))
VALUE(vmstack, LOW(r->process.stack_vm * page_kb))
VALUE(vmexe, LOW(executable_kb(&r->process)))
VALUE(vmlib, LOW(r->process.exec_vm * page_kb - executable_kb(&r->process)))
VALUE(rchar, r->sums.rchar)
VALUE(wchar, r->sums.wchar)
VALUE(syscr, r->sums.syscr)
VALUE(syscw, r->sums.syscw)
VALUE(read_bytes, r->sums.read_bytes)
VALUE(write_bytes, r->sums.write_bytes)
VALUE(cancelled, r->sums.cancelled_write_bytes)
VALUE(cpu_time, r->process.runtime)
VALUE(run_delay, r->process.run_delay)
VALUE(pcount, r->process.pcount)
/* Not PCP's, and therefore whole. */
VALUE(minor_faults, r->sums.min_flt)
VALUE(major_faults, r->sums.maj_flt)
VALUE(voluntary, r->process.nvcsw)
VALUE(involuntary, r->process.nivcsw)
VALUE(state, state_letter(&r->process))

/* Names and types are PCP's: 32-bit numbers are in a column of int64, as the bridge
 * reads them from PCP. */
struct metric {
    const char *name;
    unsigned groups;
    u64 (*value)(const struct row *);
};
static const struct metric of_processes[] = {
    {"psinfo.pid:i", 0, pid},
    {"psinfo.ppid:i", STATE, ppid},
    {"psinfo.tgid:i", 0, pid},
    {"psinfo.utime:u", TIMES, utime},
    {"psinfo.stime:u", TIMES, stime},
    {"psinfo.cutime:u", CHILDREN, cutime},
    {"psinfo.cstime:u", CHILDREN, cstime},
    {"psinfo.start_time:u", 0, start_time},
    {"psinfo.minflt:i", FAULTS, minflt},
    {"psinfo.maj_flt:i", FAULTS, maj_flt},
    {"psinfo.cmin_flt:i", CHILDREN, cmin_flt},
    {"psinfo.cmaj_flt:i", CHILDREN, cmaj_flt},
    {"psinfo.vctxsw:i", SWITCHES, vctxsw},
    {"psinfo.nvctxsw:i", SWITCHES, nvctxsw},
    {"psinfo.threads:i", 0, threads},
    {"psinfo.processor:i", STATE, processor},
    {"psinfo.nice:i", STATE, nice_value},
    {"psinfo.policy:i", STATE, policy},
    {"psinfo.rt_priority:i", STATE, rt_priority},
    {"psinfo.exit_signal:i", STATE, exit_signal},
    {"psinfo.vsize:u", MEMORY, vsize},
    {"psinfo.rss:u", MEMORY, rss},
    {"memory.size:i", MEMORY, size},
    {"memory.textrss:i", MEMORY, textrss},
    {"memory.datrss:i", MEMORY, datrss},
    {"memory.vmsize:i", MEMORY, size},
    {"memory.vmlock:i", MEMORY, vmlock},
    {"memory.vmdata:i", MEMORY, vmdata},
    {"memory.vmstack:i", MEMORY, vmstack},
    {"memory.vmexe:i", MEMORY, vmexe},
    {"memory.vmlib:i", MEMORY, vmlib},
    {"io.rchar:u", IO, rchar},
    {"io.wchar:u", IO, wchar},
    {"io.syscr:u", IO, syscr},
    {"io.syscw:u", IO, syscw},
    {"io.read_bytes:u", IO, read_bytes},
    {"io.write_bytes:u", IO, write_bytes},
    {"io.cancelled_write_bytes:u", IO, cancelled},
    {"schedstat.cpu_time:u", RUNS, cpu_time},
    {"schedstat.run_delay:u", RUNS, run_delay},
    {"schedstat.pcount:u", RUNS, pcount},
};
static const struct metric of_threads[] = {
    {"utime:u", TIMES, utime},
    {"stime:u", TIMES, stime},
    {"start_time:u", 0, start_time},
    {"minflt:u", FAULTS, minor_faults},
    {"maj_flt:u", FAULTS, major_faults},
    {"vctxsw:u", SWITCHES, voluntary},
    {"nvctxsw:u", SWITCHES, involuntary},
    {"state:c", STATE, state},
    {"processor:i", STATE, processor},
    {"nice:i", STATE, nice_value},
    {"policy:i", STATE, policy},
    {"rt_priority:i", STATE, rt_priority},
    {"rchar:u", IO, rchar},
    {"wchar:u", IO, wchar},
    {"syscr:u", IO, syscr},
    {"syscw:u", IO, syscw},
    {"read_bytes:u", IO, read_bytes},
    {"write_bytes:u", IO, write_bytes},
    {"cancelled_write_bytes:u", IO, cancelled},
    {"cpu_time:u", RUNS, cpu_time},
    {"run_delay:u", RUNS, run_delay},
    {"pcount:u", RUNS, pcount},
};
#define LENGTH(array) (sizeof(array) / sizeof *(array))
_Static_assert(LENGTH(of_processes) <= 64, "a request has one bit for each metric");

/* What is read: processes or threads. */
static const struct kind {
    const char *program, *prefix;
    const struct metric *metrics;
    size_t count;
} kinds[] = {
    {"processes", "proc.", of_processes, LENGTH(of_processes)},
    {"threads", "supertwin.thread.", of_threads, LENGTH(of_threads)},
};
static const struct kind *kind = kinds;

/* ---- CPU times as /proc rounds them ---------------------------------------------- */

static u64 larger(u64 a, u64 b) { return a > b ? a : b; }

/* The precise run time, split as the ticks are; neither part ever decreases. This is
 * cputime_adjust of the kernel's kernel/sched/cputime.c. `user` and `system` are what
 * was last shown. */
static void adjust(struct sums *sums, u64 user, u64 system)
{
    u64 ticks = sums->utime + sums->stime, runtime = sums->runtime;
    if (user + system < runtime) {
        u64 part = runtime;
        if (!sums->stime)
            part = 0;
        else if (sums->utime)
            part = (unsigned __int128)sums->stime * runtime / ticks;
        system = larger(part, system);
        if (runtime - system < user)
            system = runtime - user;
        user = runtime - system;
    }
    sums->utime = user;
    sums->stime = system;
}

static void settle(struct row *row, const struct row *before)
{
    u64 user = row->process.prev_utime, system = row->process.prev_stime;
    if (before) {
        if (row->sums.unsure) {
            row->sums = before->sums;
            return;
        }
        user = larger(user, before->sums.utime);
        system = larger(system, before->sums.stime);
    }
    adjust(&row->sums, user, system);
}

static int is_same(const struct row *a, const struct row *b)
{
    return a->process.pid == b->process.pid && a->process.start == b->process.start;
}

/* Compare with the last pass; both are sorted by number. */
static void settle_all(void)
{
    size_t at = 0, n, same = 0;
    for (n = 0; n < now.count; n++) {
        struct row *row = &now.rows[n];
        while (at < last.count && last.rows[at].process.pid < row->process.pid)
            at++;
        int known = at < last.count && is_same(row, &last.rows[at]);
        settle(row, known ? &last.rows[at] : NULL);
        same += known;
    }
    if (same != now.count || same != last.count || !set)
        set++;
}

/* ---- the kernel ------------------------------------------------------------------ */

static void refuse(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    printf("refused ");
    vprintf(format, values);
    printf("\n");
    va_end(values);
    fflush(stdout);
    exit(1);
}

/* Keep these two capabilities and nothing else, whoever we are. */
static void drop_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2], kept[2] = {0};
    const unsigned wanted = 1u << (CAP_PERFMON - 32) | 1u << (CAP_BPF - 32);
    if (syscall(SYS_capget, &header, held) == 0)
        kept[1].permitted = kept[1].effective = held[1].permitted & wanted;
    if (kept[1].permitted != wanted)
        refuse("no right to read the kernel by BPF (CAP_BPF and CAP_PERFMON)");
    if (syscall(SYS_capset, &header, kept) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        refuse("cannot drop rights: %s", strerror(errno));
    prctl(PR_SET_DUMPABLE, 0);
}

static unsigned *groups; /* the variable of the kernel's part, in shared memory */

static void share_groups(struct bpf_object *file)
{
    int map = bpf_object__find_map_fd_by_name(file, ".bss");
    groups = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (groups == MAP_FAILED)
        refuse("the kernel does not share memory with the program: %s", strerror(errno));
}

static struct bpf_link *load(void)
{
    struct bpf_object *file;
    struct bpf_program *each;
    struct bpf_link *link;
    if (access("/sys/kernel/btf/vmlinux", R_OK))
        refuse("this kernel has no description of its types "
               "(/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
    file = bpf_object__open_mem(object, object_end - object, NULL);
    if (file)
        bpf_object__for_each_program(each, file)
            bpf_program__set_autoload(
                each, !strcmp(bpf_program__name(each), kind->program));
    if (!file || bpf_object__load(file))
        refuse("the kernel does not load the program (%s): Linux 5.17 or newer is "
               "needed, for root without lockdown", strerror(errno));
    share_groups(file);
    program = bpf_object__find_program_by_name(file, kind->program);
    link = program ? bpf_program__attach_iter(program, NULL) : NULL;
    if (!link)
        refuse("the kernel does not attach the program: %s", strerror(errno));
    return link;
}

static void fail(const char *what)
{
    fprintf(stderr, "tasks: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void grow(struct pass *pass)
{
    pass->room = pass->room ? 2 * pass->room : 4096;
    pass->rows = realloc(pass->rows, pass->room * sizeof *pass->rows);
    if (!pass->rows)
        fail("no memory");
}

/* Since Linux 6.1, an iterator can be one of a process; before, that is ignored. */
static int selects(void)
{
    struct utsname name;
    int major = 0, minor = 0;
    uname(&name);
    sscanf(name.release, "%d.%d", &major, &minor);
    return major > 6 || (major == 6 && minor >= 1);
}

/* An iterator of the leading thread of a process, or of all its threads. */
static struct bpf_link *attach_to(u64 pid)
{
    /* Member `task` of bpf_iter_link_info, which the headers of older kernels lack. */
    struct {
        unsigned tid, pid, pid_fd;
    } task = {0};
    struct bpf_iter_attach_opts options = {
        .sz = sizeof options, .link_info = (void *)&task, .link_info_len = sizeof task};
    if (kind == kinds)
        task.tid = pid;
    else
        task.pid = pid;
    return bpf_program__attach_iter(program, &options);
}

static void detach_all(void)
{
    while (linked)
        bpf_link__destroy(links[--linked]);
}

/* Read these processes from now on, or all if the kernel cannot select them. */
static void select_pids(const u64 *pids, size_t count)
{
    if (count == wanted && !memcmp(pids, wanted_pids, count * sizeof *pids))
        return;
    detach_all();
    memcpy(wanted_pids, pids, count * sizeof *pids);
    for (wanted = count; linked < wanted; linked++) {
        links[linked] = attach_to(pids[linked]);
        if (!links[linked]) {
            detach_all();
            return;
        }
    }
}

/* Add the rows of an iterator; a read may end in the middle of one. */
static void read_rows(int link)
{
    int file = bpf_iter_create(link);
    size_t bytes = now.count * sizeof *now.rows;
    ssize_t got = 1;
    if (file < 0)
        fail("no iterator");
    while (got > 0) {
        if (now.room * sizeof *now.rows == bytes)
            grow(&now);
        got = read(file, (char *)now.rows + bytes,
                   now.room * sizeof *now.rows - bytes);
        if (got > 0)
            bytes += got;
        else if (got < 0 && (errno == EAGAIN || errno == EINTR))
            got = 1;
    }
    close(file);
    if (got < 0)
        fail("cannot read the iterator");
    now.count = bytes / sizeof *now.rows;
}

static int by_number(const void *a, const void *b)
{
    u64 first = ((const struct row *)a)->process.pid;
    u64 second = ((const struct row *)b)->process.pid;
    return (first > second) - (first < second);
}

/* Iterators of several processes give threads that are not in order. */
static void sort_rows(void)
{
    for (size_t n = 1; n < now.count; n++)
        if (by_number(&now.rows[n - 1], &now.rows[n]) > 0) {
            qsort(now.rows, now.count, sizeof *now.rows, by_number);
            return;
        }
}

static void take(int link, u64 asked)
{
    struct pass kept = last;
    unsigned found = 0;
    for (size_t n = 0; n < kind->count; n++)
        if (asked >> n & 1)
            found |= kind->metrics[n].groups;
    *groups = found;
    last = now;
    now = kept;
    now.count = 0;
    for (size_t n = 0; n < linked; n++)
        read_rows(bpf_link__fd(links[n]));
    if (!linked)
        read_rows(link);
    sort_rows();
    settle_all();
}

/* ---- answers --------------------------------------------------------------------- */

static u64 *answer;
static size_t answer_room;

static void write_all(const char *bytes, size_t left)
{
    while (left) {
        ssize_t done = write(STDOUT_FILENO, bytes, left);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            exit(0); /* the reader has gone */
        bytes += done;
        left -= done;
    }
}

static u64 *put_set(u64 *at)
{
    for (size_t n = 0; n < now.count; n++) {
        at[n] = now.rows[n].process.pid;
        at[now.count + n] = now.rows[n].process.tgid;
        at[2 * now.count + n] = now.rows[n].process.start;
        memcpy(&at[3 * now.count + 2 * n], now.rows[n].process.comm, 16);
    }
    return at + 5 * now.count;
}

static u64 *put_metric(u64 *at, const struct metric *metric)
{
    for (size_t n = 0; n < now.count; n++)
        at[n] = metric->value(&now.rows[n]);
    return at + now.count;
}

static void reply(u64 asked, u64 known)
{
    struct timespec time;
    size_t room = 4 + now.count * (5 + kind->count);
    u64 *at;
    if (answer_room < room) {
        answer_room = 2 * room;
        free(answer);
        answer = malloc(answer_room * sizeof *answer);
        if (!answer)
            fail("no memory");
    }
    clock_gettime(CLOCK_REALTIME, &time);
    answer[0] = set;
    answer[1] = now.count;
    answer[2] = time.tv_sec * 1000000000ull + time.tv_nsec;
    answer[3] = known != set;
    at = known != set ? put_set(answer + 4) : answer + 4;
    for (size_t n = 0; n < kind->count; n++)
        if (asked >> n & 1)
            at = put_metric(at, &kind->metrics[n]);
    write_all((const char *)answer, (at - answer) * sizeof *answer);
}

static int read_all(void *into, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t more = read(STDIN_FILENO, (char *)into + got, size - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return 0;
        got += more;
    }
    return 1;
}

/* Read a request, whose third number says how many follow. */
static int next_request(u64 request[3], u64 pids[MOST_WANTED])
{
    return read_all(request, 3 * sizeof *request) && request[2] <= MOST_WANTED &&
           read_all(pids, request[2] * sizeof *pids);
}

static int silent(enum libbpf_print_level level, const char *format, va_list values)
{
    return 0;
}

static void say_metrics(void)
{
    printf("metrics");
    for (size_t n = 0; n < kind->count; n++)
        printf(" %s%s", kind->prefix, kind->metrics[n].name);
    printf("\n");
    fflush(stdout);
}

int main(int count, char **words)
{
    u64 request[3], pids[MOST_WANTED];
    int link, can_select = selects();
    if (count > 1 && !strcmp(words[1], kinds[1].program))
        kind = &kinds[1];
    drop_rights();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    libbpf_set_print(silent);
    page_kb = sysconf(_SC_PAGESIZE) / 1024;
    link = bpf_link__fd(load());
    say_metrics();
    while (next_request(request, pids)) {
        select_pids(pids, can_select ? request[2] : 0);
        take(link, request[0]);
        reply(request[0], request[1]);
    }
    return 0;
}
