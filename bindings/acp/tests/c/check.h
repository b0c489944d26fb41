/* What the conformance programs have in common: a check that ends the job, and numbers that are the same everywhere. */
#ifndef CHECK_H
#define CHECK_H

#include <acp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            char text[512];                                                                           \
            snprintf(text, sizeof text, "%s:%d: rank %d: %s", __FILE__, __LINE__, acp_rank(), #condition); \
            acp_abort(text);                                                                          \
        }                                                                                             \
    } while (0)

static inline uint64_t *words_at(acp_ga_t ga) {
    return (uint64_t *)acp_query_address(ga);
}

/* The starter memory of a rank, from a byte on. */
static inline acp_ga_t starter(int rank, size_t offset) {
    return acp_query_starter_ga(rank) + offset;
}

/* Looks until a word has a value, as programs do that poll memory. */
static inline void until(volatile uint64_t *word, uint64_t value) {
    while (*word != value) {
        acp_inquire(ACP_HANDLE_ALL);
    }
}

#endif
