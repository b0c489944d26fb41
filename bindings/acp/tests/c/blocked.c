/* The last rank never comes out of a function of the C library. */
#include "check.h"

#include <unistd.h>

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    if (acp_rank() == acp_procs() - 1) {
        pause();
    }
    acp_sync();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
