/* Teams, splits of splits, contexts of teams. */
#include "check.h"

static long mark;
static long cells[64];

static void sum_of(shmem_team_t team, long expected) {
    static long one, sum;
    one = shmem_my_pe();
    CHECK(shmem_sum_reduce(team, &sum, &one, 1) == 0);
    CHECK(sum == expected);
}

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_WORLD) == n);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    int shared = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    CHECK(shared >= 1 && shared <= n);
    for (int pe = 0; pe < shared; pe++)
        CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, &mark, pe) != NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &mark, 0) == NULL);

    shmem_team_t even = SHMEM_TEAM_WORLD, odd = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even) == 0);
    CHECK((even == SHMEM_TEAM_INVALID) == (me % 2 == 1));
    if (n > 1) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &odd) == 0);
        CHECK((odd == SHMEM_TEAM_INVALID) == (me % 2 == 0));
    } else {
        odd = SHMEM_TEAM_INVALID;
    }
    shmem_team_t mine = me % 2 ? odd : even;
    CHECK(shmem_team_my_pe(mine) == me / 2);
    CHECK(shmem_team_translate_pe(mine, shmem_team_my_pe(mine), SHMEM_TEAM_WORLD) == me);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, mine) == me / 2);
    if (n > 1)
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, (me + 1) % n == 0 && n % 2 ? 1 - me % 2 : me ^ 1, mine) == -1 || n == 3 || n == 7);
    long expected = 0;
    for (int pe = me % 2; pe < n; pe += 2)
        expected += pe;
    for (int i = 0; i < 3; i++) {
        sum_of(mine, expected);
        CHECK(shmem_sync(mine) == 0);
    }
    /* The last PEs of a half, backwards. */
    int half = shmem_team_n_pes(mine);
    shmem_team_t back;
    CHECK(shmem_team_split_strided(mine, half - 1, -1, half, NULL, 0, &back) == 0);
    CHECK(shmem_team_my_pe(back) == half - 1 - shmem_team_my_pe(mine));
    sum_of(back, expected);
    /* A part of that. */
    shmem_team_config_t config = {3};
    shmem_team_t first;
    CHECK(shmem_team_split_strided(back, 0, 1, 1, &config, SHMEM_TEAM_NUM_CONTEXTS, &first) == 0);
    CHECK((first != SHMEM_TEAM_INVALID) == (shmem_team_my_pe(back) == 0));
    if (first != SHMEM_TEAM_INVALID) {
        shmem_team_config_t got = {0};
        CHECK(shmem_team_get_config(first, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 3);
        sum_of(first, me);
        shmem_team_destroy(first);
    }
    /* Contexts count the PEs of their team. */
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    CHECK(shmem_team_create_ctx(back, SHMEM_CTX_SERIALIZED, &ctx) == 0);
    shmem_team_t of = SHMEM_TEAM_INVALID;
    CHECK(shmem_ctx_get_team(ctx, &of) == 0 && of == back);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &of) != 0 && of == SHMEM_TEAM_INVALID);
    for (int pe = 0; pe < half; pe++)
        shmem_p(ctx, cells + shmem_team_my_pe(back), 100L + me, pe);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(back);
    for (int pe = 0; pe < half; pe++)
        CHECK(cells[pe] == 100 + shmem_team_translate_pe(back, pe, SHMEM_TEAM_WORLD));
    CHECK(shmem_g(ctx, cells, 0) == cells[0]);
    CHECK(shmem_atomic_fetch_add(ctx, cells + 32 + shmem_team_my_pe(back), 1L, half - 1) == 0);
    shmem_ctx_fence(ctx);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_put_nbi(ctx, cells + 50, cells, 1, 0);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_team_destroy(back);
    shmem_team_destroy(mine);
    /* Rows and columns. */
    for (int range = 1; range <= n + 1; range++) {
        shmem_team_t row, column;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, range, NULL, 0, &row, NULL, 0, &column) == 0);
        int width = range < n ? range : n;
        CHECK(shmem_team_my_pe(row) == me % width && shmem_team_my_pe(column) == me / width);
        long in_row = 0, in_column = 0;
        for (int pe = 0; pe < n; pe++) {
            in_row += pe / width == me / width ? pe : 0;
            in_column += pe % width == me % width ? pe : 0;
        }
        sum_of(row, in_row);
        sum_of(column, in_column);
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
    /* More teams one after the other than there may be at once. */
    for (int i = 0; i < 150; i++) {
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
        if (i % 50 == 0)
            sum_of(team, (long)n * (n - 1) / 2);
        shmem_team_destroy(team);
    }
    /* What cannot be. */
    shmem_team_t none;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n + 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
    /* More contexts than a PE can have, or fewer than none. */
    for (int contexts = -1; contexts <= 1 << 20; contexts += (1 << 20) + 1) {
        config.num_contexts = contexts;
        none = SHMEM_TEAM_WORLD;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &none) != 0);
        CHECK(none == SHMEM_TEAM_INVALID);
        /* Without the mask, the number has no effect. */
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &none) == 0);
        shmem_team_destroy(none);
    }
    /* If there is room for one team only, a split into rows and columns makes none. */
    static shmem_team_t all[200];
    int made = 0;
    while (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, all + made) == 0)
        CHECK(++made < 200);
    shmem_team_destroy(all[--made]);
    shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column) != 0);
    CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, all + made) == 0);
    for (; made >= 0; made--)
        shmem_team_destroy(all[made]);
    /* Many contexts of all PEs. */
    shmem_ctx_t contexts[20];
    for (int i = 0; i < 20; i++)
        CHECK(shmem_ctx_create(0, contexts + i) == 0);
    for (int i = 0; i < 20; i++)
        shmem_put_nbi(contexts[i], cells + i, &expected, 1, (me + 1) % n);
    for (int i = 0; i < 20; i++)
        shmem_ctx_destroy(contexts[i]);
    shmem_barrier_all();
    good();
    shmem_finalize();
    return 0;
}
