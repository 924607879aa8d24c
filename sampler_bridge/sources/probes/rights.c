/* What the program may see and do, and how it refuses. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program.h"

void refused(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    printf("refused ");
    vprintf(format, values);
    printf("\n");
    va_end(values);
}

void refuse_all(const char *reason, const char *detail)
{
    refused(reason, detail);
    fflush(stdout);
    exit(1);
}

/* Many machines do not mount what lists the tracepoints: mount it, for us alone. */
void see_events(void)
{
    if (!access("/sys/kernel/tracing/events", F_OK) || unshare(CLONE_NEWNS) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return;
    mount("tracefs", "/sys/kernel/tracing", "tracefs", MS_NOSUID | MS_NOEXEC, NULL);
}

/* Keep three capabilities and nothing else, whatever the user. The kernel attaches to a
 * function only with CAP_SYS_ADMIN; tracepoints do not need it. */
void drop_rights(void)
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
