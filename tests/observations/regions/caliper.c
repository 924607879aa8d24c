/* Uses Caliper's C API as its macros do. */
#include <stdint.h>
#include <stdio.h>

extern uint64_t cali_function_attr_id;
void cali_begin_region(const char *);
void cali_end_region(const char *);
void cali_begin_phase(const char *);
void cali_end_phase(const char *);
void cali_begin_byname(const char *);
void cali_end_byname(const char *);
void cali_begin_string_byname(const char *, const char *);
void cali_begin_string(uint64_t, const char *);
void cali_end(uint64_t);
int stub_calls(void);

int main(void) {
    cali_begin_string(cali_function_attr_id, "main"); /* CALI_MARK_FUNCTION_BEGIN */
    cali_begin_phase("phase");
    cali_begin_region("region");
    cali_end_region("region");
    cali_end_phase("phase");
    cali_begin_byname("attribute");
    cali_end_byname("attribute");
    cali_begin_string_byname("stage", "one");
    cali_end_byname("stage");
    cali_begin_string(99, "not nested");
    cali_end(99);
    cali_end(cali_function_attr_id);
    printf("%d calls\n", stub_calls());
    return 0;
}
