// As interface.c, in C++.
#include <acp.h>
#include <cstddef>

#define FUNCTION(name, result, ...) static result (*volatile take_##name)(__VA_ARGS__) = name;
#include "interface.h"
#undef FUNCTION

static_assert(ACP_GA_NULL == 0 && ACP_ATKEY_NULL == 0 && ACP_HANDLE_NULL == 0, "null");
static_assert(ACP_HANDLE_ALL == -1 && ACP_HANDLE_CONT == -2, "orders");

int main(int argc, char **argv) {
    bool taken = true;
#define FUNCTION(name, result, ...) taken &= take_##name != nullptr;
#include "interface.h"
    return !(taken && take_acp_init(&argc, &argv) == 0 && take_acp_finalize() == 0);
}
