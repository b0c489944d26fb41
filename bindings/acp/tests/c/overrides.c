/* A program with definitions of its own of the internal symbols: its calls reach those, and the library does not depend on them. */
#include "check.h"

static int hooks, aborts;

size_t iacp_starter_memory_size_dl = 0, iacp_starter_memory_size_cl = 0;
int iacp_init_dl(void);
int iacp_init_cl(void);
int iacp_finalize_dl(void);
int iacp_finalize_cl(void);
void iacp_abort_dl(void);
void iacp_abort_cl(void);

int iacp_init_dl(void) { return ++hooks; }
int iacp_init_cl(void) { return ++hooks; }
int iacp_finalize_dl(void) { return ++hooks; }
int iacp_finalize_cl(void) { return ++hooks; }
void iacp_abort_dl(void) { aborts++; }
void iacp_abort_cl(void) { aborts++; }

int main(int argc, char **argv) {
    for (int round = 0; round < 2; round++) {
        CHECK(acp_init(&argc, &argv) == 0);
        CHECK(iacp_starter_memory_size_dl == 0 && iacp_starter_memory_size_cl == 0);
        /* The data library has its memory all the same. */
        acp_ga_t block = acp_malloc(4096, acp_rank());
        CHECK(block != ACP_GA_NULL);
        acp_free(block);
        hooks = 0;
        CHECK(iacp_init_dl() == 1 && iacp_init_cl() == 2 && iacp_finalize_dl() == 3 && iacp_finalize_cl() == 4);
        iacp_abort_dl();
        iacp_abort_cl();
        CHECK(aborts == 2 * (round + 1));
        acp_sync();
        CHECK(acp_finalize() == 0);
    }
    puts("good");
    return 0;
}
