/* Teams of teams: halves of halves down to one PE, all alive at once, with collective operations of each level on the way down and back. */
#include "check.h"

#define LEVELS 8

static long sources[64], dests[64 * 16];

/* Collective operations of a team whose members are the PEs `first`, `first + stride`, … of all. */
static void use(shmem_team_t team, int first, int stride, int size, int level) {
    int me = shmem_my_pe();
    CHECK(shmem_team_n_pes(team) == size && first + stride * shmem_team_my_pe(team) == me);
    for (size_t i = 0; i < 64; i++)
        sources[i] = 100L * me + (long)i + level;
    CHECK(shmem_sum_reduce(team, dests, sources, 64) == 0);
    long ranks = 0;
    for (int pe = 0; pe < size; pe++)
        ranks += first + stride * pe;
    for (size_t i = 0; i < 64; i++)
        CHECK(dests[i] == 100L * ranks + (long)size * ((long)i + level));
    CHECK(shmem_sum_inscan(team, dests, sources, 3) == 0);
    long before = 0;
    for (int pe = 0; pe <= shmem_team_my_pe(team); pe++)
        before += 100L * (first + stride * pe) + level;
    CHECK(dests[0] == before);
    CHECK(shmem_team_sync(team) == 0);
    CHECK(shmem_fcollect(team, dests, sources, 2) == 0);
    for (int pe = 0; pe < size; pe++)
        CHECK(dests[2 * pe] == 100L * (first + stride * pe) + level);
    CHECK(shmem_team_sync(team) == 0);
    CHECK(shmem_broadcast(team, dests, sources, 5, size - 1) == 0);
    CHECK(dests[4] == 100L * (first + stride * (size - 1)) + 4 + level);
    CHECK(shmem_team_sync(team) == 0);
}

static void halve(shmem_team_t team, int first, int stride, int size, int level) {
    use(team, first, stride, size, level);
    if (size > 1 && level < LEVELS) {
        /* By turns: even and odd members, lower and upper half. */
        int is_strided = level % 2 == 0, lower = (size + 1) / 2, upper = size - lower;
        shmem_team_t one, other;
        CHECK(shmem_team_split_strided(team, 0, is_strided ? 2 : 1, lower, NULL, 0, &one) == 0);
        CHECK(shmem_team_split_strided(team, is_strided ? 1 : lower, is_strided ? 2 : 1, upper, NULL, 0, &other) == 0);
        CHECK((one == SHMEM_TEAM_INVALID) != (other == SHMEM_TEAM_INVALID));
        if (one != SHMEM_TEAM_INVALID)
            halve(one, first, is_strided ? 2 * stride : stride, lower, level + 1);
        else
            halve(other, is_strided ? first + stride : first + stride * lower, is_strided ? 2 * stride : stride, upper, level + 1);
        shmem_team_destroy(one != SHMEM_TEAM_INVALID ? one : other);
    }
    use(team, first, stride, size, level + 50);
}

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    for (int i = 0; i < 3; i++)
        halve(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), 0);
    good();
    shmem_finalize();
    return 0;
}
