/* What the kernel's part of the probes shares with the program that attaches it. */
#ifndef PROBES_H
#define PROBES_H

enum {
    PROBES = 64,
    BUCKETS = 32,         /* of a histogram; each is twice as wide as the one before */
    FIRST_BUCKET_NS = 128, /* the first holds what takes up to so long */
    STARTED = 65536,      /* calls that run at one time */
    ARGUMENT_BUCKETS = 48, /* up to 0, 1, 2, 4 and so on; the last holds the rest */
    KEYS = 16384,         /* threads and control groups, of all probes */
    PROBE_KEYS = 1024,    /* of one probe */
    FORMS = 1024,         /* ways to read an argument, of all probes */
};

/* What calls are counted by. A CPU needs no key: the counts of each are apart. */
enum { BY_NOTHING, BY_THREAD, BY_CPU, BY_CGROUP };

/* Where an argument is: in a register or a field of an event, which both lie in the
 * context of a probe's program; constant; or in the memory of the process. */
enum { NOWHERE, CONTEXT, CONSTANT, MEMORY };

struct form {
    unsigned int where, base; /* base and index: bytes from the start of the context */
    long long displacement;   /* the constant, or what is added to the address */
    unsigned int index, scale; /* added to the address; scale 0: no index */
    int size;                 /* bytes; negative: the number has a sign */
    int unused;
};

struct key {
    unsigned long long probe; /* the cookie without its form */
    unsigned long long of;    /* a thread or control group */
};

struct keyed {
    unsigned long long calls, timed, nanoseconds;
};

struct counts {
    unsigned long long calls, timed, nanoseconds;
    unsigned long long shed;   /* calls that were not timed: too many, or no room */
    unsigned long long missed; /* begins and ends without the other, and shed ends */
    unsigned long long unkeyed; /* calls that had no room for their key */
    unsigned long long unread;  /* calls whose argument could not be read */
    unsigned long long window, in_window;
    unsigned long long buckets[BUCKETS];
    unsigned long long arguments[ARGUMENT_BUCKETS];
};

#endif
