/* Loads a tool as Kokkos does, and calls it as a program on Kokkos would. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *tool;

static void *find(const char *name) {
    void *found = dlsym(tool, name);
    if (!found) abort();
    return found;
}

int main(void) {
    tool = dlopen(getenv("KOKKOS_TOOLS_LIBS"), RTLD_NOW | RTLD_GLOBAL);
    if (!tool) abort();
    void (*init)(int, uint64_t, uint32_t, void *) = find("kokkosp_init_library");
    void (*push)(const char *) = find("kokkosp_push_profile_region");
    void (*pop)(void) = find("kokkosp_pop_profile_region");
    void (*begin)(const char *, uint32_t, uint64_t *) =
        find("kokkosp_begin_parallel_for");
    void (*end)(uint64_t) = find("kokkosp_end_parallel_for");
    void (*begin_reduce)(const char *, uint32_t, uint64_t *) =
        find("kokkosp_begin_parallel_reduce");
    void (*end_reduce)(uint64_t) = find("kokkosp_end_parallel_reduce");
    void (*begin_scan)(const char *, uint32_t, uint64_t *) =
        find("kokkosp_begin_parallel_scan");
    void (*end_scan)(uint64_t) = find("kokkosp_end_parallel_scan");
    void (*finalize)(void) = find("kokkosp_finalize_library");
    uint64_t first, second;
    init(0, 20211015, 0, NULL);
    push("step");
    for (int i = 0; i < 3; i++) {
        begin("axpy", 0, &first);
        end(first);
        begin_reduce("dot", 0, &first);
        end_reduce(first);
    }
    /* Kernels on a device may overlap. */
    begin_scan("scan", 0, &first);
    begin("axpy", 0, &second);
    end_scan(first);
    end(second);
    pop();
    finalize();
    return 0;
}
