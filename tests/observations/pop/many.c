/* Calls MPI very often: many NUMBER. */
#include <stdlib.h>

/* As in Open MPI's mpi.h, which need not be installed. */
int MPI_Init(int *, char ***), MPI_Finalize(void);
int MPI_Iprobe(int, int, void *, int *, void *);
extern char ompi_mpi_comm_world[];

int main(int argc, char **argv) {
    int found;
    MPI_Init(&argc, &argv);
    for (int left = atoi(argv[1]); left > 0; left--)
        MPI_Iprobe(-1, -1, ompi_mpi_comm_world, &found, NULL);
    MPI_Finalize();
    return 0;
}
