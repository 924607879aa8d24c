/* The parts of the program that attaches probes. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <bpf/libbpf.h>

#include "probes.h"

/* ---- rights.c -------------------------------------------------------------------- */

/* Answer that a request is refused, and why. */
void refused(const char *format, ...);
/* Answer that all are, and end. */
void refuse_all(const char *reason, const char *detail);
void see_events(void);
void drop_rights(void);

/* ---- keys.c ---------------------------------------------------------------------- */

/* Returns 0, or -1 without memory. */
int open_keys(struct bpf_object *file);
/* A line for each thread or control group of the probes that `by` names. */
void say_keys(const unsigned char by[PROBES]);
void forget_keys(unsigned number, unsigned long long probe);

/* ---- forms.c --------------------------------------------------------------------- */

int open_forms(struct bpf_object *file);
/* The number of the form that the words describe, or 0 after an answer why not. */
unsigned form_of_words(unsigned owner, char **word);
unsigned form_of_field(unsigned owner, char **word);
void forget_forms(unsigned owner);

#endif
