/* Numbers that the programs draw from their seed, and contents that tell who has written them. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t draw(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
}

static inline uint64_t below(uint64_t *state, uint64_t end) {
    return draw(state) % end;
}

/* A number that tells who has written it, and when. */
static inline uint64_t stamp(int writer, uint64_t round) {
    uint64_t state = (uint64_t)writer << 32 | round;
    return draw(&state) | 1;
}

static inline void fill(unsigned char *bytes, size_t size, int writer, uint64_t number) {
    uint64_t state = stamp(writer, number);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)draw(&state);
    }
}

static inline int holds(const unsigned char *bytes, size_t size, int writer, uint64_t number) {
    uint64_t state = stamp(writer, number);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != (unsigned char)draw(&state)) {
            return 0;
        }
    }
    return 1;
}

#endif
