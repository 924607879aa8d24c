/* What the kernel's part of the probes shares with the program that attaches it. */
#ifndef PROBES_H
#define PROBES_H

enum {
    PROBES = 64,
    BUCKETS = 32,         /* of a histogram; each is twice as wide as the one before */
    FIRST_BUCKET_NS = 128, /* the first holds what takes up to so long */
    STARTED = 65536,      /* calls that run at one time */
};

struct counts {
    unsigned long long calls, timed, nanoseconds;
    unsigned long long shed;   /* calls that were not timed: too many, or no room */
    unsigned long long missed; /* begins and ends without the other, and shed ends */
    unsigned long long window, in_window;
    unsigned long long buckets[BUCKETS];
};

#endif
