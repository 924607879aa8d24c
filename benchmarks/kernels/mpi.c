/* Time of messages between processes by their size, as in Intel's MPI benchmarks.

   mpi REPEATS SECONDS BYTES...

   Each rank stays on one of the CPUs that the program may use. A repetition takes about
   SECONDS; its time is that of the slowest rank. Buffers are the same in each iteration,
   so that they are in the caches if they fit. With two ranks, a message goes to and fro
   (ping-pong, half of a round trip); otherwise each rank sends to the next (sendrecv),
   or to both neighbours (exchange), or all take part (allreduce, bcast, alltoall). What
   arrives is checked. */

#include "team.h"

#include <mpi.h>

enum { MOST_OF_ALL = 64 << 20 }; /* bytes that a rank sends to all others */

static int rank, ranks, left, right, size;
static char *out, *in;

#define WORLD MPI_COMM_WORLD
#define QUIET MPI_STATUS_IGNORE

static void ping_pong(long iterations) {
  for (long i = 0; i < iterations; i++)
    if (rank == 0) {
      MPI_Send(out, size, MPI_BYTE, 1, 0, WORLD);
      MPI_Recv(in, size, MPI_BYTE, 1, 0, WORLD, QUIET);
    } else {
      MPI_Recv(in, size, MPI_BYTE, 0, 0, WORLD, QUIET);
      MPI_Send(out, size, MPI_BYTE, 0, 0, WORLD);
    }
}

static void send_receive(long iterations) {
  for (long i = 0; i < iterations; i++)
    MPI_Sendrecv(out, size, MPI_BYTE, right, 0, in, size, MPI_BYTE, left, 0, WORLD,
                 QUIET);
}

static void exchange(long iterations) {
  for (long i = 0; i < iterations; i++) {
    MPI_Request sent[2];
    MPI_Isend(out, size, MPI_BYTE, right, 0, WORLD, &sent[0]);
    MPI_Isend(out, size, MPI_BYTE, left, 1, WORLD, &sent[1]);
    MPI_Recv(in, size, MPI_BYTE, left, 0, WORLD, QUIET);
    MPI_Recv(in, size, MPI_BYTE, right, 1, WORLD, QUIET);
    MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
  }
}

static void all_reduce(long iterations) {
  int count = size / (int)sizeof(float);
  for (long i = 0; i < iterations; i++)
    MPI_Allreduce(out, in, count, MPI_FLOAT, MPI_SUM, WORLD);
}

static void broadcast(long iterations) {
  for (long i = 0; i < iterations; i++) {
    int root = (int)(i % ranks);
    MPI_Bcast(rank == root ? out : in, size, MPI_BYTE, root, WORLD);
  }
}

static void all_to_all(long iterations) {
  for (long i = 0; i < iterations; i++)
    MPI_Alltoall(out, size, MPI_BYTE, in, size, MPI_BYTE, WORLD);
}

static const struct pattern {
  const char *name;
  void (*run)(long iterations);
  int calls;       /* in an iteration */
  int only_two;    /* ranks */
  int collective;  /* needs no messages if there is no data */
  int of_floats;   /* or of bytes */
  int to_all;      /* each rank sends something else to each rank */
} patterns[] = {
    {"ping-pong", ping_pong, 2, 1, 0, 0, 0}, {"sendrecv", send_receive, 1, 0, 0, 0, 0},
    {"exchange", exchange, 1, 0, 0, 0, 0},   {"allreduce", all_reduce, 1, 0, 1, 1, 0},
    {"bcast", broadcast, 1, 0, 1, 0, 0},     {"alltoall", all_to_all, 1, 0, 1, 0, 1},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static int is_measured(const struct pattern *pattern) {
  if (pattern->only_two && ranks != 2) return 0;
  if (pattern->collective && !size) return 0;
  if (pattern->to_all && (long)size * ranks > MOST_OF_ALL) return 0;
  return !pattern->of_floats || size % (int)sizeof(float) == 0;
}

/* Each rank sends its number plus one, or ones that are added. */
static void fill(const struct pattern *pattern) {
  size_t bytes = (size_t)size * (pattern->to_all ? ranks : 1);
  memset(in, 0, bytes);
  memset(out, rank + 1, bytes);
  if (pattern->of_floats)
    for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)out)[i] = 1;
}

static int differs(const char *bytes, char from) {
  return bytes[0] != from || bytes[size - 1] != from;
}

/* Whether the last iteration brought something else than it should. */
static int is_wrong(const struct pattern *pattern, long iterations) {
  int root = (int)((iterations - 1) % ranks), wrong = 0;
  if (!size) return 0;
  if (pattern->of_floats)
    return ((float *)in)[0] != ranks || ((float *)in)[size / sizeof(float) - 1] != ranks;
  if (pattern->run == broadcast) return rank != root && differs(in, (char)(root + 1));
  if (pattern->to_all) {
    for (int r = 0; r < ranks; r++)
      wrong |= differs(in + (size_t)r * size, (char)(r + 1));
    return wrong;
  }
  /* The last message of an exchange is from the right. */
  return differs(in, (char)((pattern->run == exchange ? right : left) + 1));
}

/* The seconds that the slowest rank takes, on all ranks. */
static double slowest(const struct pattern *pattern, long iterations) {
  MPI_Barrier(WORLD);
  double start = seconds();
  pattern->run(iterations);
  double took = seconds() - start, all;
  MPI_Allreduce(&took, &all, 1, MPI_DOUBLE, MPI_MAX, WORLD);
  return all;
}

/* Find how many iterations take `least` seconds, even if nothing disturbs them. */
static long iterations_of(const struct pattern *pattern, double least) {
  long iterations = ranks; /* each is a root */
  for (;;) {
    double first = slowest(pattern, iterations), took = slowest(pattern, iterations);
    took = first < took ? first : took;
    if (took >= least) return iterations;
    double factor = took > 1e-4 ? 1.1 * least / took : 10;
    iterations = 1 + (long)(iterations * (factor < 1.5 ? 1.5 : factor));
  }
}

static double sum(double own) {
  double all;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, WORLD);
  return all;
}

/* "Open MPI v4.1.4", "MPICH 4.0.2" */
static void find_library(char *name) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING], *from = text;
  int length;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, ",\n\"\\")] = 0;
  char *colon = strstr(text, " Version:");
  if (colon) {
    from = colon + strlen(" Version:");
    while (*from == ' ' || *from == '\t') from++;
    *colon = 0;
    sprintf(name, "%.100s %.100s", text, from);
    return;
  }
  sprintf(name, "%.200s", text);
}

static void measure(const struct pattern *pattern, double least, int repeats,
                    const char *library) {
  struct timing timing = {.repeats = repeats};
  double busy[2], stolen[2], own = own_seconds(), start = seconds();
  char labels[LINE];
  fill(pattern);
  timing.began = seconds_of(CLOCK_REALTIME);
  cpu_seconds(&busy[0], &stolen[0]);
  long iterations = iterations_of(pattern, least);
  for (int r = 0; r < repeats; r++) timing.seconds[r] = slowest(pattern, iterations);
  cpu_seconds(&busy[1], &stolen[1]);
  timing.ended = seconds_of(CLOCK_REALTIME);
  double whole = ranks * (seconds() - start), all = sum(own_seconds() - own);
  timing.other = share(busy[1] - busy[0] - all, whole);
  timing.stolen = share(stolen[1] - stolen[0], whole);
  if (sum(is_wrong(pattern, iterations)) > 0) {
    if (!rank) fprintf(stderr, "%s of %d bytes: wrong data\n", pattern->name, size);
    MPI_Abort(WORLD, 1);
  }
  snprintf(labels, sizeof labels,
           "\"kernel\": \"%s\", \"transfer\": %d, \"tool\": \"%s\"", pattern->name, size,
           library);
  double calls = (double)iterations * pattern->calls;
  if (!rank) print_result(labels, "CALL", calls, ranks, &timing);
}

/* Memory for the largest size, on each rank. */
static void allocate(char **words, int count) {
  double largest = sizeof(float);
  for (int i = 0; i < count; i++) {
    double bytes = number(words[i], 0, 1 << 30, "BYTES");
    double to_all = bytes * ranks <= MOST_OF_ALL ? bytes * ranks : bytes;
    largest = to_all > largest ? to_all : largest;
  }
  need_memory(2 * largest * ranks);
  out = new_memory((size_t)largest, 0, OWN_NODE);
  in = new_memory((size_t)largest, 0, OWN_NODE);
}

int main(int count, char **words) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  if (count < 4) {
    fputs("usage: mpi REPEATS SECONDS BYTES...\n", stderr);
    return 2;
  }
  int repeats = (int)number(words[1], 1, MAX_REPEATS, "REPEATS");
  double least = number(words[2], 1e-6, 100, "SECONDS");
  MPI_Init(&count, &words);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &ranks);
  if (ranks < 2) {
    fputs("messages need two ranks\n", stderr);
    return 2;
  }
  left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  find_cpus();
  stay_on(cpus[rank % cpu_count]);
  find_library(library);
  allocate(words + 3, count - 3);
  for (int p = 0; p < PATTERNS; p++)
    for (int i = 3; i < count; i++) {
      size = atoi(words[i]);
      if (is_measured(&patterns[p])) measure(&patterns[p], least, repeats, library);
    }
  MPI_Finalize();
  return 0;
}
