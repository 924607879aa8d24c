/* What a library of regions does when no recorder comes before it: it counts calls. */
#include <stdint.h>
#include <stdio.h>

static int calls;
uint64_t cali_function_attr_id = 7;

void likwid_markerInit(void) { puts("the library was called"); }
void likwid_markerClose(void) { puts("the library was called"); }
int likwid_markerStartRegion(const char *name) { return (void)name, calls++; }
int likwid_markerStopRegion(const char *name) { return (void)name, calls++; }
void cali_begin_region(const char *name) { (void)name, calls++; }
void cali_end_region(const char *name) { (void)name, calls++; }
void cali_begin_byname(const char *name) { (void)name, calls++; }
void cali_end_byname(const char *name) { (void)name, calls++; }
void cali_begin_string(uint64_t id, const char *value) { (void)id, (void)value, calls++; }
void cali_end(uint64_t id) { (void)id, calls++; }
/* Calls another function of its own, which must not count as a second region. */
void cali_begin_phase(const char *name) { calls++, cali_begin_region(name); }
void cali_end_phase(const char *name) { calls++, cali_end_region(name); }
void cali_begin_string_byname(const char *name, const char *value) {
    (void)name, (void)value, calls++;
}
int stub_calls(void) { return calls; }
