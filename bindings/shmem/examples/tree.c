/* Unbalanced tree search: the children of a node follow from its number. PEs without work steal half of another's stack, under its lock: a word of that PE,
 * because a lock of OpenSHMEM is one for all PEs. Verified by the number of nodes, which PE 0 counts alone if the tree is small.
 *
 *   tree [DEPTH] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 4096

typedef struct {
    unsigned long number;
    long depth;
} node;

static node stack[ROOM];
static long lock, height, working, done, counted, all_counted;

static unsigned long mixed(unsigned long z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
    return z ^ (z >> 31);
}

/* The root has 8 children, others 0 to 4. */
static int children(node of) {
    return of.depth == 0 ? 0 : of.number == 1 ? 8 : (int)(mixed(of.number) % 5);
}

static node child(node of, int index) {
    return (node){mixed(of.number * 8 + (unsigned long)index + 2), of.depth - 1};
}

static long count_alone(node of) {
    long nodes = 1;
    for (int i = 0; i < children(of); i++)
        nodes += count_alone(child(of, i));
    return nodes;
}

static void acquire(int pe) {
    while (shmem_long_atomic_compare_swap(&lock, 0, 1, pe) != 0)
        ;
}

static void release(int pe) {
    shmem_quiet();
    shmem_long_atomic_set(&lock, 0, pe);
}

static void visit(int me) {
    for (;;) {
        acquire(me);
        long top = shmem_long_atomic_fetch(&height, me);
        if (top == 0) {
            release(me);
            return;
        }
        node next = stack[top - 1];
        shmem_long_atomic_set(&height, top - 1, me);
        int more = children(next);
        for (int i = 0; i < more; i++)
            stack[top - 1 + i] = child(next, i);
        shmem_long_atomic_set(&height, top - 1 + more, me);
        counted++;
        release(me);
    }
}

/* Counts a PE out that has no work. The last one tells all: nobody asks PE 0 again and again, which would serve thousands of idle PEs one by one. */
static void stop_working(int n) {
    if (shmem_long_atomic_fetch_add(&working, -1, 0) == 1)
        for (int pe = 0; pe < n; pe++)
            shmem_long_atomic_set(&done, 1, pe);
}

int main(int count, char **arguments) {
    long depth = count > 1 ? atol(arguments[1]) : 6;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    node root = {1, depth};
    if (me == 0) {
        stack[0] = root;
        height = 1;
        working = n;
    }
    shmem_barrier_all();
    unsigned long state = 1 + (unsigned long)me;
    for (;;) {
        visit(me);
        /* Without work: the job is done when nobody has any. A thief counts before it takes, so that nobody takes from the last one unnoticed. */
        stop_working(n);
        int found = 0;
        while (!found && !shmem_long_atomic_fetch(&done, me)) {
            int victim = (int)((state = mixed(state + 1)) % (unsigned long)n);
            if (victim == me || shmem_long_atomic_fetch(&height, victim) < 2)
                continue;
            shmem_long_atomic_inc(&working, 0);
            acquire(victim);
            long theirs = shmem_long_atomic_fetch(&height, victim), taken = theirs / 2;
            if (taken > 0) {
                shmem_getmem(stack, stack, (size_t)taken * sizeof(node), victim);
                node *rest = malloc((size_t)(theirs - taken) * sizeof(node));
                shmem_getmem(rest, stack + taken, (size_t)(theirs - taken) * sizeof(node), victim);
                shmem_putmem(stack, rest, (size_t)(theirs - taken) * sizeof(node), victim);
                shmem_quiet();
                shmem_long_atomic_set(&height, theirs - taken, victim);
                shmem_long_atomic_set(&height, taken, me);
                free(rest);
                found = 1;
            }
            release(victim);
            if (!found)
                stop_working(n);
        }
        if (!found)
            break;
    }
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_counted, &counted, 1);
    int good = 1;
    if (me == 0) {
        long expected = count_alone(root);
        good = expected == all_counted;
        printf("%d PEs, %ld nodes, %s\n", n, all_counted, good ? "complete" : "wrong");
    }
    shmem_finalize();
    return !good;
}
