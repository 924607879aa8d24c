/* Programs with planted imbalance. They sleep instead of computing, so that their times
 * do not depend on the machine: imbalance OPENMP_MS... by thread and rank. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void work(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

#ifdef WITH_OPENMP
int omp_get_thread_num(void);
#define THREAD omp_get_thread_num()
#else
#define THREAD 0
#endif

#ifdef WITH_MPI
/* As in Open MPI's mpi.h, which need not be installed. */
int MPI_Init(int *, char ***), MPI_Finalize(void), MPI_Barrier(void *);
int MPI_Comm_rank(void *, int *);
extern char ompi_mpi_comm_world[];
#endif

int main(int argc, char **argv) {
    int rank = 0;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(ompi_mpi_comm_world, &rank);
#endif
    double serial = atof(argv[1]), first = atof(argv[2]), other = atof(argv[3]);
    work(serial);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel num_threads(2)
        {
            work((1 + rank) * (THREAD ? other : first));
            if (argc > 4) {
#pragma omp critical
                work(first);
            }
        }
    }
#ifdef WITH_MPI
    MPI_Barrier(ompi_mpi_comm_world);
    MPI_Finalize();
#endif
    return 0;
}
