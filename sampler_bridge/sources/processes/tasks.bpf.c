/* Writes one row for each process, or one for each thread.
 *
 * An iterator of the kernel calls `processes` or `threads` once for each task: for all
 * tasks in the order of their numbers, or for those of one process. The values are those
 * of /proc/PID/stat, status, io and schedstat, or of the same files in /proc/PID/task:
 * see do_task_stat and do_io_accounting in the kernel's fs/proc. The structures below declare only what is read; the loader
 * moves each access to where the running kernel has the field (CO-RE).
 */
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "tasks.h"

typedef __u64 u64;
typedef __u32 u32;

#define MOVED __attribute__((preserve_access_index))
#define MAX_THREADS (1 << 20)
#define ATTEMPTS 4
#define KERNEL_THREAD 0x00200000
enum { FILE_PAGES, ANON_PAGES, SWAP_ENTRIES, SHMEM_PAGES, COUNTERS };

struct list_head {
    struct list_head *next;
} MOVED;
struct seqcount {
    unsigned sequence;
} MOVED;
struct seqcount_spinlock {
    struct seqcount seqcount;
} MOVED;
typedef struct {
    struct seqcount_spinlock seqcount;
} MOVED seqlock_t;
struct prev_cputime {
    u64 utime, stime;
} MOVED;
struct task_io_accounting {
    u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes;
} MOVED;
struct sched_info {
    unsigned long pcount;
    unsigned long long run_delay;
} MOVED;
struct sched_entity {
    u64 sum_exec_runtime;
} MOVED;
struct percpu_counter {
    long long count;
} MOVED;
/* Linux before 6.2 counts pages in atomics. */
typedef struct {
    long counter;
} MOVED atomic_long_t;
struct mm_rss_stat {
    atomic_long_t count[COUNTERS];
} MOVED;
struct mm_struct___atomic {
    struct mm_rss_stat rss_stat;
} MOVED;
struct mm_struct {
    unsigned long total_vm, locked_vm, data_vm, stack_vm, exec_vm, start_code, end_code;
    struct percpu_counter rss_stat[COUNTERS];
} MOVED;
struct signal_struct {
    int nr_threads;
    struct list_head thread_head;
    seqlock_t stats_lock;
    u64 utime, stime, cutime, cstime;
    struct prev_cputime prev_cputime;
    unsigned long min_flt, maj_flt, cmin_flt, cmaj_flt;
    struct task_io_accounting ioac;
    unsigned long long sum_sched_runtime;
} MOVED;
struct upid {
    int nr;
} MOVED;
struct pid {
    unsigned level;
    struct upid numbers[1];
} MOVED;
struct thread_info {
    u32 cpu;
} MOVED;
struct task_struct {
    struct thread_info thread_info;
    unsigned flags, policy, rt_priority;
    unsigned __state;
    int static_prio, pid, tgid, exit_signal, exit_state;
    struct sched_entity se;
    struct sched_info sched_info;
    struct mm_struct *mm;
    struct task_struct *real_parent, *group_leader;
    struct pid *thread_pid;
    struct list_head thread_node;
    struct prev_cputime prev_cputime;
    u64 utime, stime, start_boottime;
    unsigned long nvcsw, nivcsw, min_flt, maj_flt;
    char comm[16];
    struct signal_struct *signal;
    struct task_io_accounting ioac;
} MOVED;
struct bpf_iter_meta {
    struct seq_file *seq;
} MOVED;
struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
} MOVED;

/* The groups that the loader asks for. */
volatile u32 groups;

/* How deep the reader's PID namespace is: each has numbers of its own. */
static u32 reader_level(void)
{
    struct task_struct *reader = (void *)bpf_get_current_task();
    return BPF_CORE_READ(reader, thread_pid, level);
}

/* The number of a process in the reader's PID namespace; 0 if it has none there. */
static u32 number_of(struct task_struct *task, u32 level)
{
    struct pid *pid = task->thread_pid;
    u64 numbers = (u64)pid + bpf_core_field_offset(struct pid, numbers) +
                  bpf_core_field_offset(struct upid, nr);
    u32 number = 0;
    /* A process that was reaped meanwhile has no number any more. */
    if (pid && pid->level >= level)
        bpf_probe_read_kernel(&number, sizeof number,
                              (void *)(numbers +
                                       level * bpf_core_type_size(struct upid)));
    return number;
}

/* Adds the values of `from`, a task or the ended threads of a signal_struct. */
#define ADD(sum, from, field, member)                                                  \
    do {                                                                               \
        u64 value = 0;                                                                 \
        bpf_core_read(&value, bpf_core_field_size((from)->field), &(from)->field);     \
        (sum)->member += value;                                                        \
    } while (0)

#define ADD_IO(sum, from)                                                              \
    do {                                                                               \
        ADD(sum, from, ioac.rchar, rchar);                                             \
        ADD(sum, from, ioac.wchar, wchar);                                             \
        ADD(sum, from, ioac.syscr, syscr);                                             \
        ADD(sum, from, ioac.syscw, syscw);                                             \
        ADD(sum, from, ioac.read_bytes, read_bytes);                                   \
        ADD(sum, from, ioac.write_bytes, write_bytes);                                 \
        ADD(sum, from, ioac.cancelled_write_bytes, cancelled_write_bytes);             \
    } while (0)

static void add_task(struct sums *sums, struct task_struct *task)
{
    if (groups & TIMES) {
        ADD(sums, task, utime, utime);
        ADD(sums, task, stime, stime);
        ADD(sums, task, se.sum_exec_runtime, runtime);
    }
    if (groups & FAULTS) {
        ADD(sums, task, min_flt, min_flt);
        ADD(sums, task, maj_flt, maj_flt);
    }
    if (groups & IO)
        ADD_IO(sums, task);
}

/* A walk along the threads of a process. */
struct walk {
    struct sums sums;
    u64 at, head;
};

static long add_next(u32 index, struct walk *walk)
{
    struct list_head *node = (void *)walk->at;
    if (walk->at == walk->head || !walk->at)
        return 1;
    add_task(&walk->sums, (void *)(walk->at - bpf_core_field_offset(
                                                  struct task_struct, thread_node)));
    walk->at = 0;
    bpf_core_read(&walk->at, sizeof walk->at, &node->next);
    return 0;
}

static void add_ended(struct sums *sums, struct signal_struct *signal)
{
    if (groups & TIMES) {
        sums->utime = signal->utime;
        sums->stime = signal->stime;
        sums->runtime = signal->sum_sched_runtime;
    }
    if (groups & FAULTS) {
        sums->min_flt = signal->min_flt;
        sums->maj_flt = signal->maj_flt;
    }
    if (!(groups & IO))
        return;
    sums->rchar = signal->ioac.rchar;
    sums->wchar = signal->ioac.wchar;
    sums->syscr = signal->ioac.syscr;
    sums->syscw = signal->ioac.syscw;
    sums->read_bytes = signal->ioac.read_bytes;
    sums->write_bytes = signal->ioac.write_bytes;
    sums->cancelled_write_bytes = signal->ioac.cancelled_write_bytes;
}

/* The same for the only thread of a process: the verifier lets us read it directly,
 * which takes a tenth of the time. */
static void add_only(struct sums *sums, struct task_struct *task)
{
    if (groups & TIMES) {
        sums->utime += task->utime;
        sums->stime += task->stime;
        sums->runtime += task->se.sum_exec_runtime;
    }
    if (groups & FAULTS) {
        sums->min_flt += task->min_flt;
        sums->maj_flt += task->maj_flt;
    }
    if (!(groups & IO))
        return;
    sums->rchar += task->ioac.rchar;
    sums->wchar += task->ioac.wchar;
    sums->syscr += task->ioac.syscr;
    sums->syscw += task->ioac.syscw;
    sums->read_bytes += task->ioac.read_bytes;
    sums->write_bytes += task->ioac.write_bytes;
    sums->cancelled_write_bytes += task->ioac.cancelled_write_bytes;
}

/* Adds up all threads. A thread that ends moves its values to `signal` under
 * stats_lock: if that changed meanwhile, the sums may lack them or have them twice. */
static int add_all(struct walk *walk, struct signal_struct *signal,
                   struct task_struct *leader)
{
    u32 before = signal->stats_lock.seqcount.seqcount.sequence;
    add_ended(&walk->sums, signal);
    if (signal->nr_threads == 1) {
        add_only(&walk->sums, leader);
    } else {
        walk->head =
            (u64)signal + bpf_core_field_offset(struct signal_struct, thread_head);
        walk->at = (u64)signal->thread_head.next;
        bpf_loop(MAX_THREADS, add_next, walk, 0);
    }
    return !(before & 1) && before == signal->stats_lock.seqcount.seqcount.sequence;
}

static void fill_sums(struct walk *walk, struct signal_struct *signal,
                      struct task_struct *leader)
{
    int attempt;
    for (attempt = 0; attempt < ATTEMPTS; attempt++)
        if (add_all(walk, signal, leader))
            return;
    walk->sums.unsure = 1;
}

static u64 positive(long long count)
{
    return count > 0 ? count : 0;
}

static u64 resident(struct mm_struct *mm)
{
    struct mm_struct___atomic *old = (void *)mm;
    /* Asking for the type mm_rss_stat would need CAP_SYS_ADMIN where it is missing. */
    if (bpf_core_field_exists(old->rss_stat.count))
        return positive(old->rss_stat.count[FILE_PAGES].counter) +
               positive(old->rss_stat.count[ANON_PAGES].counter) +
               positive(old->rss_stat.count[SHMEM_PAGES].counter);
    return positive(mm->rss_stat[FILE_PAGES].count) +
           positive(mm->rss_stat[ANON_PAGES].count) +
           positive(mm->rss_stat[SHMEM_PAGES].count);
}

static void fill_memory(struct process *row, struct task_struct *task)
{
    struct mm_struct *mm = task->mm;
    /* A kernel thread may borrow the memory of a process. */
    if (!mm || task->flags & KERNEL_THREAD)
        return;
    row->total_vm = mm->total_vm;
    row->rss = resident(mm);
    row->locked_vm = mm->locked_vm;
    row->data_vm = mm->data_vm;
    row->stack_vm = mm->stack_vm;
    row->exec_vm = mm->exec_vm;
    row->start_code = mm->start_code;
    row->end_code = mm->end_code;
}

static void fill_shared(struct process *row, struct signal_struct *signal)
{
    row->threads = signal->nr_threads;
    if (groups & TIMES) {
        row->prev_utime = signal->prev_cputime.utime;
        row->prev_stime = signal->prev_cputime.stime;
    }
    if (!(groups & CHILDREN))
        return;
    row->cutime = signal->cutime;
    row->cstime = signal->cstime;
    row->cmin_flt = signal->cmin_flt;
    row->cmaj_flt = signal->cmaj_flt;
}

static void fill_state(struct process *row, struct task_struct *task)
{
    row->state = task->__state;
    row->exit_state = task->exit_state;
    row->cpu = task->thread_info.cpu;
    row->policy = task->policy;
    row->rt_priority = task->rt_priority;
    row->static_prio = task->static_prio;
}

static void fill_parent(struct process *row, struct task_struct *task, u32 level)
{
    row->exit_signal = task->exit_signal;
    if (task->real_parent)
        row->ppid = number_of(task->real_parent, level);
}

static void fill_own(struct process *row, struct task_struct *task)
{
    row->start = task->start_boottime;
    bpf_core_read(row->comm, sizeof row->comm, &task->comm);
    if (groups & SWITCHES) {
        row->nvcsw = task->nvcsw;
        row->nivcsw = task->nivcsw;
    }
    if (groups & RUNS) {
        row->runtime = task->se.sum_exec_runtime;
        row->run_delay = task->sched_info.run_delay;
        row->pcount = task->sched_info.pcount;
    }
}

SEC("iter/task")
int processes(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct seq_file *out = context->meta->seq;
    struct signal_struct *signal;
    u32 level, number;

    if (!task || task->pid != task->tgid)
        return 0;
    level = reader_level();
    number = number_of(task, level);
    signal = task->signal;
    if (!number || !signal)
        return 0;
    {
        struct process row = {.pid = number, .tgid = number};
        fill_own(&row, task);
        fill_shared(&row, signal);
        if (groups & STATE) {
            fill_state(&row, task);
            fill_parent(&row, task, level);
        }
        if (groups & MEMORY)
            fill_memory(&row, task);
        bpf_seq_write(out, &row, sizeof row);
    }
    {
        struct walk walk = {};
        if (groups & (TIMES | FAULTS | IO))
            fill_sums(&walk, signal, task);
        bpf_seq_write(out, &walk.sums, sizeof walk.sums);
    }
    return 0;
}

SEC("iter/task")
int threads(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct seq_file *out = context->meta->seq;
    u32 level, number, process;

    if (!task || !task->group_leader)
        return 0;
    level = reader_level();
    number = number_of(task, level);
    process = number_of(task->group_leader, level);
    if (!number || !process)
        return 0;
    {
        struct process row = {.pid = number, .tgid = process};
        fill_own(&row, task);
        if (groups & TIMES) {
            row.prev_utime = task->prev_cputime.utime;
            row.prev_stime = task->prev_cputime.stime;
        }
        if (groups & STATE)
            fill_state(&row, task);
        bpf_seq_write(out, &row, sizeof row);
    }
    {
        struct sums sums = {};
        add_only(&sums, task);
        bpf_seq_write(out, &sums, sizeof sums);
    }
    return 0;
}

/* Of the sources of this object, for a test that they belong together. */
const char digest[] SEC("sources") = DIGEST;

char LICENSE[] SEC("license") = "GPL";
