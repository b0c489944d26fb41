/* Takes the address of every function with its type, and begins and ends the library. */
#include <acp.h>
#include <stddef.h>

#define FUNCTION(name, result, ...) static result (*volatile take_##name)(__VA_ARGS__) = name;
#include "interface.h"
#undef FUNCTION

#define SAME(type, other) _Static_assert(_Generic((type)0, other: 1, default: 0), #type)
SAME(acp_ga_t, uint64_t);
SAME(acp_atkey_t, uint64_t);
SAME(acp_handle_t, int64_t);
_Static_assert(ACP_GA_NULL == 0 && ACP_ATKEY_NULL == 0 && ACP_HANDLE_NULL == 0, "null");
_Static_assert(ACP_HANDLE_ALL == (acp_handle_t)-1 && ACP_HANDLE_CONT == (acp_handle_t)-2, "orders");

int main(int argc, char **argv) {
    int taken = 1;
#define FUNCTION(name, result, ...) taken &= take_##name != NULL;
#include "interface.h"
    return !(taken && take_acp_init(&argc, &argv) == 0 && take_acp_finalize() == 0);
}
