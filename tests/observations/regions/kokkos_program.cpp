// A program on Kokkos itself, which loads a tool by its environment.
#include <Kokkos_Core.hpp>

int main(int argc, char **argv) {
    Kokkos::initialize(argc, argv);
    double sum = 0;
    Kokkos::Profiling::pushRegion("step");
    for (int step = 0; step < 3; step++) {
        Kokkos::parallel_for("axpy", 1000, KOKKOS_LAMBDA(int) {});
        Kokkos::parallel_reduce(
            "dot", 1000, KOKKOS_LAMBDA(int i, double &part) { part += i; }, sum);
    }
    Kokkos::Profiling::popRegion();
    Kokkos::parallel_scan(
        "scan", 1000, KOKKOS_LAMBDA(int i, int &part, bool) { part += i; });
    Kokkos::finalize();
    return sum == 999 * 500 ? 0 : 1;
}
