// The kernels of Pelago: strided copies, signals, sums, and the stencils of two programs. `pelago.ptx` is made of this by NVRTC, and a test compares the two.

typedef unsigned long long u64;

// Blocks at equal distances in three dimensions, the last fastest: how many, words of a block, distances in bytes, bytes of a word.
struct Face {
    u64 from, to, counts[3], words, from_strides[3], to_strides[3], word;
};

struct Faces {
    u64 count;
    Face faces[26];
};

template <typename Word>
static __device__ void copy_face(const Face &face) {
    const u64 words = face.words, fast = face.counts[2], middle = face.counts[1];
    const u64 all = face.counts[0] * middle * fast * words, step = (u64)gridDim.x * blockDim.x;
    for (u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x; index < all; index += step) {
        const u64 word = index % words, block = index / words;
        const u64 k = block % fast, j = block / fast % middle, i = block / fast / middle;
        const char *from = (const char *)face.from + i * face.from_strides[0] + j * face.from_strides[1] + k * face.from_strides[2];
        char *to = (char *)face.to + i * face.to_strides[0] + j * face.to_strides[1] + k * face.to_strides[2];
        ((Word *)to)[word] = ((const Word *)from)[word];
    }
}

static __device__ void copy_any(const Face &face) {
    switch (face.word) {
    case 16: copy_face<uint4>(face); break;
    case 8: copy_face<u64>(face); break;
    case 4: copy_face<unsigned>(face); break;
    case 2: copy_face<unsigned short>(face); break;
    default: copy_face<unsigned char>(face); break;
    }
}

// All faces in one launch: packs, unpacks, or stores straight into a neighbour's field. Face `blockIdx.y`.
extern "C" __global__ void pelago_copy_faces(const __grid_constant__ Faces list) {
    if (blockIdx.y < list.count) copy_any(list.faces[blockIdx.y]);
}

// The same for any number of faces, in memory of the device: as many as the grid has in y.
extern "C" __global__ void pelago_copy_listed(const Face *list) { copy_any(list[blockIdx.y]); }

// Writes a word behind all that the stream has written, as seen by other devices and the host.
extern "C" __global__ void pelago_signal(u64 *word, u64 value) {
    __threadfence_system();
    *(volatile u64 *)word = value;
}

struct Sum {
    template <typename Number>
    static __device__ Number of(Number a, Number b) { return a + b; }
};

// The first one if one of them is not a number.
struct Min {
    template <typename Number>
    static __device__ Number of(Number a, Number b) { return b < a ? b : a; }
};

struct Max {
    template <typename Number>
    static __device__ Number of(Number a, Number b) { return b > a ? b : a; }
};

template <typename Operator, typename Number>
static __device__ void combine(Number *to, const Number *from, u64 count) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x; index < count; index += step) to[index] = Operator::of(to[index], from[index]);
}

#define COMBINE(name, Operator, Number) \
    extern "C" __global__ void pelago_##name(Number *to, const Number *from, u64 count) { combine<Operator>(to, from, count); }
// Sums of integers wrap, with and without a sign.
COMBINE(sum_f32, Sum, float)
COMBINE(sum_f64, Sum, double)
COMBINE(sum_u32, Sum, unsigned)
COMBINE(sum_u64, Sum, u64)
COMBINE(min_f32, Min, float)
COMBINE(min_f64, Min, double)
COMBINE(min_u32, Min, unsigned)
COMBINE(min_u64, Min, u64)
COMBINE(min_i32, Min, int)
COMBINE(min_i64, Min, long long)
COMBINE(max_f32, Max, float)
COMBINE(max_f64, Max, double)
COMBINE(max_u32, Max, unsigned)
COMBINE(max_u64, Max, u64)
COMBINE(max_i32, Max, int)
COMBINE(max_i64, Max, long long)

// Twelve arrays of coefficients at equal distances: a0 to a3, b0 to b2, c0 to c2, bnd, wrk1. Cells from `first` on: planes, rows, cells of a row.
struct Sweep {
    u64 next, squares, p, coefficients, distance, first, strides[2], counts[3];
};

// One sweep of the 19-point stencil, in the order of the host's sums, and the squares of its residuals.
extern "C" __global__ void pelago_himeno(const __grid_constant__ Sweep sweep) {
    const u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, i = blockIdx.z;
    if (k >= sweep.counts[2]) return;
    const u64 plane = sweep.strides[0], row = sweep.strides[1], at = sweep.first + i * plane + j * row + k;
    const float *p = (const float *)sweep.p + at;
    const float *c = (const float *)sweep.coefficients + at;
    const u64 d = sweep.distance;
    const float *ip = p + plane, *im = p - plane, *jp = p + row, *jm = p - row;
    const float s0 = c[0] * ip[0] + c[d] * jp[0] + c[2 * d] * p[1]
        + c[4 * d] * (ip[row] - *(ip - row) - im[row] + *(im - row))
        + c[5 * d] * (jp[1] - jm[1] - jp[-1] + jm[-1])
        + c[6 * d] * (ip[1] - im[1] - ip[-1] + im[-1])
        + c[7 * d] * im[0] + c[8 * d] * jm[0] + c[9 * d] * p[-1] + c[11 * d];
    const float ss = (s0 * c[3 * d] - p[0]) * c[10 * d];
    ((float *)sweep.squares)[at] = ss * ss;
    ((float *)sweep.next)[at] = p[0] + 0.8f * ss;
}

#define WATER static __device__ __forceinline__
#include "water.h"

// A step of shallow water in a part of a block.
extern "C" __global__ void pelago_water(const __grid_constant__ Water water) {
    const u64 column = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (column < water.counts[1]) water_cell(&water, water.first[0] + blockIdx.y, water.first[1] + column);
}
