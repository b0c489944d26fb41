/* Meetings one after another, with nothing in between that would keep one from overtaking the other. */
#include "check.h"

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    for (int meeting = 0; meeting < 20; meeting++) {
        CHECK(acp_sync() == 0);
    }
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
