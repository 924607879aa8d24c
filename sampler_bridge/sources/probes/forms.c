/* How the kernel's part reads arguments: forms, and the fields of tracepoints. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

enum { NO_OWNER = 0, WIDEST = 8 };

static int forms;
static unsigned char owners[FORMS]; /* the number of the probe, plus one */

int open_forms(struct bpf_object *file)
{
    forms = bpf_object__find_map_fd_by_name(file, "forms");
    return forms < 0 ? -1 : 0;
}

void forget_forms(unsigned owner)
{
    for (unsigned n = 1; n < FORMS; n++)
        if (owners[n] == owner + 1)
            owners[n] = NO_OWNER;
}

static unsigned keep(unsigned owner, const struct form *form)
{
    unsigned n = 1;
    while (n < FORMS && owners[n] != NO_OWNER)
        n++;
    if (n == FORMS) {
        refused("there are more than %d places with an argument", FORMS - 1);
        return 0;
    }
    if (bpf_map_update_elem(forms, &n, form, BPF_ANY)) {
        refused("%s", strerror(errno));
        return 0;
    }
    owners[n] = owner + 1;
    return n;
}

static int is_width(int size)
{
    size = abs(size);
    return size == 1 || size == 2 || size == 4 || size == WIDEST;
}

unsigned form_of_words(unsigned owner, char **word)
{
    struct form form = {
        .where = strtoul(word[2], NULL, 10), .base = strtoul(word[3], NULL, 10),
        .displacement = strtoll(word[4], NULL, 10), .index = strtoul(word[5], NULL, 10),
        .scale = strtoul(word[6], NULL, 10), .size = atoi(word[7]),
    };
    if (form.where < CONTEXT || form.where > MEMORY || !is_width(form.size)) {
        refused("not a form of an argument");
        return 0;
    }
    return keep(owner, &form);
}

/* ---- fields of tracepoints ------------------------------------------------------- */

static FILE *format_of(const char *category, const char *event)
{
    static const char *const folders[] = {"/sys/kernel/tracing",
                                          "/sys/kernel/debug/tracing"};
    char path[512];
    FILE *file = NULL;
    for (unsigned n = 0; n < 2 && !file; n++) {
        snprintf(path, sizeof path, "%s/events/%s/%s/format", folders[n], category,
                 event);
        file = fopen(path, "r");
    }
    return file;
}

/* A line such as "field:pid_t next_pid;	offset:56;	size:4;	signed:1;". */
static char *field_of_line(char *line, struct form *form)
{
    char *name, *end = strchr(line, ';');
    unsigned offset, size, has_sign;
    if (!end || sscanf(end, ";\toffset:%u;\tsize:%u;\tsigned:%u;", &offset, &size,
                       &has_sign) != 3)
        return NULL;
    *end = 0;
    name = strrchr(line, ' ');
    /* Not text, an array or an address. */
    if (!name || end[-1] == ']' || strchr(line, '*') || !is_width(size))
        return NULL;
    *form = (struct form){.where = CONTEXT, .base = offset,
                          .size = has_sign ? -(int)size : (int)size};
    return name + 1;
}

/* Find the field, and list those that there are. */
static int find_field(FILE *file, const char *wanted, struct form *form, char *known,
                      size_t room)
{
    char line[512], *name;
    while (fgets(line, sizeof line, file)) {
        char *start = strstr(line, "field:");
        if (!start || !(name = field_of_line(start, form)))
            continue;
        if (!strcmp(name, wanted))
            return 1;
        if (strncmp(name, "common_", 7) && strlen(known) + strlen(name) + 3 < room)
            sprintf(known + strlen(known), "%s%s", *known ? ", " : "", name);
    }
    return 0;
}

unsigned form_of_field(unsigned owner, char **word)
{
    struct form form;
    char known[256] = "";
    FILE *file = format_of(word[2], word[3]);
    int is_found;
    if (!file) {
        refused("this kernel has no such tracepoint, or tracefs is not mounted (%s)",
                word[3]);
        return 0;
    }
    is_found = find_field(file, word[4], &form, known, sizeof known);
    fclose(file);
    if (is_found)
        return keep(owner, &form);
    refused("%s has no field %s that is an integer; it has %s", word[3], word[4],
            *known ? known : "none");
    return 0;
}
