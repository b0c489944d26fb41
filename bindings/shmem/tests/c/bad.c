/* Calls that cannot be done, by name. */
#include "check.h"
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t signal_word;
static long lock_word;
static long word, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], sync_words[SHMEM_REDUCE_SYNC_SIZE];

static void *finalizer(void *nothing) {
    shmem_finalize();
    return nothing;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    long on_stack = 0;
    if (!strcmp(what, "before"))
        shmem_p(&word, 1L, 0);
    shmem_init();
    int last = shmem_n_pes() - 1;
    if (shmem_my_pe() == last) {
        if (!strcmp(what, "pe"))
            shmem_p(&word, 1L, last + 1);
        if (!strcmp(what, "negative"))
            shmem_long_atomic_inc(&word, -1);
        if (!strcmp(what, "asymmetric"))
            shmem_put(&on_stack, &word, 1, 0);
        if (!strcmp(what, "past"))
            shmem_getmem(&on_stack, (char *)&word + ((size_t)1 << 40), 8, 0);
        if (!strcmp(what, "misaligned"))
            shmem_long_atomic_add((long *)(void *)((char *)&word + 1), 1, 0);
        if (!strcmp(what, "null"))
            shmem_long_g(NULL, 0);
        if (!strcmp(what, "context"))
            shmem_ctx_long_p((shmem_ctx_t)77, &word, 1, 0);
        if (!strcmp(what, "invalid"))
            shmem_ctx_long_p(SHMEM_CTX_INVALID, &word, 1, 0);
        if (!strcmp(what, "team"))
            shmem_team_sync(SHMEM_TEAM_INVALID);
        if (!strcmp(what, "cmp"))
            shmem_long_wait_until(&word, 9, 0);
        if (!strcmp(what, "lock"))
            shmem_set_lock(&on_stack);
        if (!strcmp(what, "reduce"))
            shmem_long_sum_to_all(&on_stack, &word, 1, 0, 0, last + 1, work, sync_words);
        if (!strcmp(what, "much"))
            shmem_long_sum_to_all(&word, &word, INT_MAX, 0, 0, last + 1, work, sync_words);
        if (!strcmp(what, "sync"))
            shmem_barrier(0, 0, last + 1, (long *)(void *)((char *)sync_words + 4));
        if (!strcmp(what, "source"))
            shmem_long_put(&word, NULL, 1, 0);
        if (!strcmp(what, "source-strided"))
            shmem_long_iput(&word, NULL, 1, 1, 1, 0);
        if (!strcmp(what, "source-signal"))
            shmem_long_put_signal(&word, NULL, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
        if (!strcmp(what, "dest"))
            shmem_long_get_nbi(NULL, &word, 1, 0);
        if (!strcmp(what, "dest-strided"))
            shmem_long_iget(NULL, &word, 1, 1, 1, 0);
        if (!strcmp(what, "indices"))
            shmem_long_wait_until_some(&word, 1, NULL, NULL, SHMEM_CMP_EQ, 0);
        if (!strcmp(what, "values"))
            shmem_long_test_all_vector(&word, 1, NULL, SHMEM_CMP_EQ, NULL);
        if (!strcmp(what, "pes"))
            shmem_pe_quiet(NULL, 1);
        if (!strcmp(what, "ctx"))
            shmem_ctx_create(0, NULL);
        if (!strcmp(what, "of-context"))
            shmem_ctx_get_team(SHMEM_CTX_DEFAULT, NULL);
        if (!strcmp(what, "name"))
            shmem_info_get_name(NULL);
        if (!strcmp(what, "level"))
            shmem_query_thread(NULL);
        if (!strcmp(what, "unlock"))
            shmem_clear_lock(&lock_word);
        if (!strcmp(what, "relock")) {
            shmem_set_lock(&lock_word);
            shmem_set_lock(&lock_word);
        }
        if (!strcmp(what, "fork")) {
            if (fork() == 0)
                exit(0);
            wait(NULL);
            printf("went on\n");
        }
    }
    if (!strcmp(what, "split"))
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, last + 1, NULL, 0, NULL);
    if (!strcmp(what, "unlock-other")) {
        if (shmem_my_pe() == 0)
            shmem_set_lock(&lock_word);
        shmem_barrier_all();
        if (shmem_my_pe() == last)
            shmem_clear_lock(&lock_word);
        shmem_barrier_all();
    }
    if (!strcmp(what, "stuck"))
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    if (!strcmp(what, "free"))
        shmem_free(&word);
    if (!strcmp(what, "freed")) {
        long *object = shmem_malloc(64);
        shmem_free(object);
        shmem_realloc(object, 128);
    }
    if (!strcmp(what, "differ"))
        shmem_malloc(shmem_my_pe() == last ? 8 : 16);
    if (!strcmp(what, "exit"))
        shmem_my_pe() == last ? shmem_global_exit(7) : shmem_barrier_all();
    /* The first PE waits, the second one is in a collective operation, others compute and never call the library again. */
    if (!strcmp(what, "end")) {
        printf("written\n");
        if (shmem_my_pe() == last)
            shmem_global_exit(0);
        if (shmem_my_pe() == 0)
            shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
        if (shmem_my_pe() == 1)
            shmem_barrier_all();
        for (;;)
            on_stack++;
    }
    if (!strcmp(what, "twice")) {
        pthread_t other;
        pthread_create(&other, NULL, finalizer, NULL);
        shmem_finalize();
        pthread_join(other, NULL);
    }
    shmem_finalize();
    if (!strcmp(what, "after"))
        shmem_barrier_all();
    return 0;
}
