/* Offers the recorder to an OpenMP runtime, which loads this by OMP_TOOL_LIBRARIES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *ompt_start_tool(unsigned version, const char *runtime) {
    void *(*start)(unsigned, const char *);
    *(void **)&start = dlsym(RTLD_DEFAULT, "supertwin_pop_start_tool");
    return start ? start(version, runtime) : NULL;
}
