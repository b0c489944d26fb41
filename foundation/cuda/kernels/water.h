// One cell of the shallow water of the program `fields`, for the kernel and for the mock driver: the sums of `examples/src/fields/step.rs`, in its order. `WATER` is
// what a function is declared with.

// Five fields before and after a step: heights, velocities along i and j, vorticity, tracer. Numbers from one row to the next, and place of the block's first cell. Part
// of the block: first row and column, how many. Rows of heights in the block, its first row in the whole channel, rows of velocities there. Constants of the equations.
struct Water {
    unsigned long long before[5], after[5], pitches[5], origins[5], first[2], counts[2], inside, row, walls;
    double dt, turning, mixing, drift[2];
};

WATER void water_cell(const struct Water *w, unsigned long long i, unsigned long long j) {
    const unsigned long long *s = w->pitches;
    unsigned long long at[5];
    for (int field = 0; field < 5; field++) at[field] = w->origins[field] + i * s[field] + j;
    const double *h = (const double *)w->before[0] + at[0], *u = (const double *)w->before[1] + at[1];
    const double *v = (const double *)w->before[2] + at[2], *z = (const double *)w->before[3] + at[3];
    const double *q = (const double *)w->before[4] + at[4];
    if (i < w->inside) {
        const double *hm = h - s[0], *hp = h + s[0], *up = u + s[1];
        const double *far = q - 2 * s[4], *back = q - s[4], *ahead = q + s[4];
        const double flow_i = up[0] * (0.5 * (h[0] + hp[0])) - u[0] * (0.5 * (hm[0] + h[0]));
        const double flow_j = v[1] * (0.5 * (h[0] + h[1])) - v[0] * (0.5 * (h[-1] + h[0]));
        const double sides = hm[0] + hp[0] + h[-1] + h[1];
        const double corners = hm[-1] + hm[1] + hp[-1] + hp[1];
        ((double *)w->after[0])[at[0]] = h[0] - w->dt * (flow_i + flow_j) + w->mixing * (sides + 0.5 * corners - 6.0 * h[0]);
        const double across = 0.25 * (u[-1] + up[-1] + u[0] + up[0]);
        ((double *)w->after[2])[at[2]] =
            v[0] - w->dt * ((h[0] - h[-1]) + w->turning * across) + w->mixing * (v[-1] + v[1] - 2.0 * v[0]);
        const double along_i = (2.0 * ahead[0] + 3.0 * q[0] - 6.0 * back[0] + far[0]) / 6.0;
        const double along_j = (2.0 * q[1] + 3.0 * q[0] - 6.0 * q[-1] + q[-2]) / 6.0;
        ((double *)w->after[4])[at[4]] =
            q[0] - w->dt * (w->drift[0] * along_i + w->drift[1] * along_j) + w->mixing * (back[-1] - q[0]);
    }
    double next_u = 0.0, next_z = 0.0;
    // Nothing goes through a wall.
    if (w->row + i != 0 && w->row + i != w->walls - 1) {
        const double *hm = h - s[0], *um = u - s[1], *up = u + s[1], *vm = v - s[2];
        const double across = 0.25 * (vm[0] + v[0] + vm[1] + v[1]);
        const double turning = w->turning + 0.5 * (z[0] + z[1]);
        const double mixed = um[0] + up[0] + u[-1] + u[1] - 4.0 * u[0];
        next_u = u[0] - w->dt * ((h[0] - hm[0]) - turning * across) + w->mixing * mixed;
        next_z = (v[0] - vm[0]) - (u[0] - u[-1]);
    }
    ((double *)w->after[1])[at[1]] = next_u;
    ((double *)w->after[3])[at[3]] = next_z;
}
