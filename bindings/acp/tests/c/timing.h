/* The time in microseconds, and the median of several. */
#ifndef TIMING_H
#define TIMING_H

#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int compare(const void *one, const void *other) {
    double first = *(const double *)one, second = *(const double *)other;
    return first < second ? -1 : first > second;
}

/* Sorts the samples. */
static double median(double *samples, size_t count) {
    qsort(samples, count, sizeof samples[0], compare);
    return samples[count / 2];
}

#endif
