/* A CUDA driver without a device, for tests: the functions that Pelago uses, with what NVIDIA's documentation promises of them, and failures on
 * demand.
 *
 * Memory of a device is a memory file behind addresses that no load or store may touch: a program that takes such an address for its own faults.
 * Streams are queues. Whoever calls the driver executes a random number of heads of random queues, from a seed; so does a thread of the driver,
 * unless it is told not to: then one thread's calls and a seed determine everything. Kernels are functions of C, by the names in a module.
 *
 * PELAGO_MOCK_CUDA is a list of words: no-device, stub, old-version, out-of-memory, ipc-refused, no-stream-values, no-load, no-peers, no-dma-buf,
 * dma-buf-refused, ordering=N (scope in which writes of network cards are ordered: 0 none, 100 the device), missing=FUNCTION, devices=N, seed=N, manual. pelago_mock_set does the same later.
 *
 * Compiled with MOCK_WITHOUT_LOOKUP there is no cuGetProcAddress, as before CUDA 11.3, and with MOCK_WITHOUT_EVENTS no cuEventRecord. With MOCK_HIP functions have
 * the names, and where they differ the arguments, that AMD's documentation of the HIP runtime states. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <dlfcn.h>

#ifdef MOCK_HIP
#define MOCK_WITHOUT_LOOKUP
#define cuInit hipInit
#define cuDriverGetVersion hipDriverGetVersion
#define cuGetErrorString hipDrvGetErrorString
#define cuDeviceGetCount hipGetDeviceCount
#define cuDeviceGet hipDeviceGet
#define cuDeviceGetName hipDeviceGetName
#define cuDeviceGetUuid_v2 hipDeviceGetUuid
#define cuDeviceTotalMem_v2 hipDeviceTotalMem
#define cuDeviceGetAttribute hipDeviceGetAttribute
#define cuDevicePrimaryCtxRetain hipDevicePrimaryCtxRetain
#define cuDevicePrimaryCtxRelease_v2 hipDevicePrimaryCtxRelease
#define cuCtxPushCurrent_v2 hipCtxPushCurrent
#define cuCtxPopCurrent_v2 hipCtxPopCurrent
#define cuCtxEnablePeerAccess hipCtxEnablePeerAccess
#define cuDeviceCanAccessPeer hipDeviceCanAccessPeer
#define cuMemAlloc_v2 hipMalloc
#define cuMemAllocManaged hipMallocManaged
#define cuMemFree_v2 hipFree
#define cuMemHostAlloc hipHostMalloc
#define cuMemFreeHost hipHostFree
#define cuMemGetAddressRange_v2 hipMemGetAddressRange
#define cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync
#define cuMemcpyDtoDAsync_v2 hipMemcpyDtoDAsync
#define cuMemcpy2DAsync_v2 hipMemcpyParam2DAsync
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamDestroy_v2 hipStreamDestroy
#define cuStreamSynchronize hipStreamSynchronize
#define cuStreamQuery hipStreamQuery
#define cuStreamWaitEvent hipStreamWaitEvent
#define cuStreamWriteValue64_v2 hipStreamWriteValue64
#define cuEventCreate hipEventCreateWithFlags
#define cuEventDestroy_v2 hipEventDestroy
#define cuEventRecord hipEventRecord
#define cuEventQuery hipEventQuery
#define cuEventSynchronize hipEventSynchronize
#define cuIpcGetMemHandle hipIpcGetMemHandle
#define cuIpcOpenMemHandle_v2 hipIpcOpenMemHandle
#define cuIpcCloseMemHandle hipIpcCloseMemHandle
#define cuMemGetHandleForAddressRange hipMemGetHandleForAddressRange
#define cuModuleLoadData hipModuleLoadData
#define cuModuleUnload hipModuleUnload
#define cuModuleGetFunction hipModuleGetFunction
#define cuLaunchKernel hipModuleLaunchKernel
enum { MAJOR = 23, MINOR = 61, MANAGED = 24, WORDS = -1, DMA_BUF = 93, ORDERING = -2 };
#else
enum { MAJOR = 75, MINOR = 76, MANAGED = 83, WORDS = 122, DMA_BUF = 124, ORDERING = 118 };
#endif

enum {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, STUB_LIBRARY = 34, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201, MAP_FAILED_CODE = 205, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
    LAUNCH_TIMEOUT = 702, PEER_ACCESS_ALREADY = 704, PEER_ACCESS_UNSUPPORTED = 217, NOT_SUPPORTED = 801
};
enum { DEVICES_MAX = 16, MEMORIES_MAX = 4096, STACK_MAX = 32 };

typedef struct { int device; } Context;
typedef struct { char data[64]; } Handle;
typedef struct { uint64_t x, y; int kind; int pad; const char *host; uint64_t device; void *array; uint64_t pitch; } End;
typedef struct { End from, to; uint64_t width, height; } Copy2D;

/* What a device or pinned allocation is. Imported ones name no file of their own. */
typedef struct {
    uint64_t start, bytes;
    char *data;
    int file, device, kind; /* kind: 0 free, 1 device, 2 managed, 3 pinned, 4 imported */
} Memory;

/* Handles of other processes: as many bytes as the driver's, with the file's number in its owner. */
typedef struct { uint64_t magic; int process, file, device; uint64_t bytes; uint64_t created; } Shared;
static const uint64_t MAGIC = 0x50454C41474F4D43;

typedef struct Event { uint64_t recorded, done; } Event;

typedef struct Operation {
    enum { COPY, COPY_2D, WRITE_VALUE, WAIT_VALUE, RECORD, WAIT_EVENT, KERNEL } what;
    char *to;
    const char *from;
    uint64_t bytes, value;
    unsigned flags;
    uint64_t rows, to_pitch, from_pitch, grid_y;
    Event *event;
    void (*kernel)(const void *);
    unsigned char arguments[4096];
    struct Operation *next;
} Operation;

typedef struct Stream { Operation *first, *last; struct Stream *next; int device; } Stream;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Context contexts[DEVICES_MAX];
static Memory memories[MEMORIES_MAX];
static Stream *streams;
static int devices = 2, ready, has_pump, failed;
static int no_device, stub, old_version, out_of_memory, ipc_refused, no_stream_values, no_load, manual, no_dma_buf, dma_buf_refused;
static int ordering = 100;
static char missing[64];
static uint64_t seed = 1, executed, kernels_run, opened, closed, staged_in_flight_max, staged_in_flight, allocated, host_waits, dma_bufs;
/* The device of the kernel that runs, its grid, and whose memory each device reaches. */
static int running, peers[DEVICES_MAX][DEVICES_MAX], no_peers;
static uint64_t grid_y;
static __thread Context *stack[STACK_MAX];
static __thread int depth;

static uint64_t random_number(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed >> 11;
}

static void set(const char *word, const char *value) {
    uint64_t number = value ? strtoull(value, NULL, 0) : 1;
    if (!strcmp(word, "no-device")) no_device = (int)number;
    else if (!strcmp(word, "stub")) stub = (int)number;
    else if (!strcmp(word, "old-version")) old_version = (int)number;
    else if (!strcmp(word, "out-of-memory")) out_of_memory = (int)number;
    else if (!strcmp(word, "ipc-refused")) ipc_refused = (int)number;
    else if (!strcmp(word, "no-stream-values")) no_stream_values = (int)number;
    else if (!strcmp(word, "no-load")) no_load = (int)number;
    else if (!strcmp(word, "no-peers")) no_peers = (int)number;
    else if (!strcmp(word, "no-dma-buf")) no_dma_buf = (int)number;
    else if (!strcmp(word, "dma-buf-refused")) dma_buf_refused = (int)number;
    else if (!strcmp(word, "ordering")) ordering = (int)number;
    else if (!strcmp(word, "manual")) manual = (int)number;
    else if (!strcmp(word, "failed")) failed = (int)number;
    else if (!strcmp(word, "devices")) devices = number < DEVICES_MAX ? (int)number : DEVICES_MAX;
    else if (!strcmp(word, "seed")) seed = number * 0x9E3779B97F4A7C15u | 1;
    else if (!strcmp(word, "missing")) snprintf(missing, sizeof missing, "%s", value ? value : "");
    else fprintf(stderr, "mock driver: PELAGO_MOCK_CUDA has no word %s\n", word), abort();
}

static void configure(void) {
    static int done;
    if (done) return;
    done = 1;
    const char *words = getenv("PELAGO_MOCK_CUDA");
    char *copy = words ? strdup(words) : NULL, *rest = NULL;
    for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        set(word, value);
    }
    free(copy);
}

void pelago_mock_set(const char *word, const char *value) {
    pthread_mutex_lock(&lock);
    configure();
    set(word, value);
    pthread_mutex_unlock(&lock);
}

uint64_t pelago_mock_count(const char *what) {
    pthread_mutex_lock(&lock);
    uint64_t count = 0;
    if (!strcmp(what, "executed")) count = executed;
    else if (!strcmp(what, "kernels")) count = kernels_run;
    else if (!strcmp(what, "opened")) count = opened;
    else if (!strcmp(what, "closed")) count = closed;
    else if (!strcmp(what, "in-flight-max")) count = staged_in_flight_max;
    else if (!strcmp(what, "allocated")) count = allocated;
    else if (!strcmp(what, "host-waits")) count = host_waits;
    else if (!strcmp(what, "dma-bufs")) count = dma_bufs;
    else for (int i = 0; i < MEMORIES_MAX; i++) count += memories[i].kind != 0;
    pthread_mutex_unlock(&lock);
    return count;
}

/* The bytes behind an address, if all are of one allocation. Pinned memory is reached by its own address too. */
static char *data_of(uint64_t address, uint64_t bytes) {
    for (int i = 0; i < MEMORIES_MAX; i++) {
        Memory *memory = &memories[i];
        if (memory->kind && address >= memory->start && address - memory->start <= memory->bytes &&
            bytes <= memory->bytes - (address - memory->start))
            return memory->data + (address - memory->start);
    }
    return NULL;
}

static Memory *memory_at(uint64_t address) {
    for (int i = 0; i < MEMORIES_MAX; i++) {
        Memory *memory = &memories[i];
        if (memory->kind && address >= memory->start && address - memory->start < memory->bytes) return memory;
    }
    return NULL;
}

static Memory *unused(void) {
    for (int i = 0; i < MEMORIES_MAX; i++)
        if (!memories[i].kind) return &memories[i];
    return NULL;
}

/* The same for a kernel: it reaches memory of its own device, and of those to which access was enabled. */
static char *reached(uint64_t address, uint64_t bytes) {
    Memory *memory = memory_at(address);
    return memory && (memory->device == running || peers[running][memory->device]) ? data_of(address, bytes) : NULL;
}

/* ---- kernels ---- */

typedef struct { uint64_t from, to, counts[3], words, from_strides[3], to_strides[3], word; } Face;
typedef struct { uint64_t count; Face faces[26]; } Faces;

static void copy_listed(const Face *faces, uint64_t count) {
    for (uint64_t f = 0; f < count; f++) {
        const Face *face = &faces[f];
        uint64_t bytes = face->words * face->word, fast = face->counts[2], middle = face->counts[1];
        for (uint64_t block = 0; block < face->counts[0] * middle * fast; block++) {
            uint64_t k = block % fast, j = block / fast % middle, i = block / fast / middle;
            char *to = reached(face->to + i * face->to_strides[0] + j * face->to_strides[1] + k * face->to_strides[2], bytes);
            const char *from = reached(face->from + i * face->from_strides[0] + j * face->from_strides[1] + k * face->from_strides[2], bytes);
            if (!to || !from || (face->from | face->to) % face->word) { failed = 700; return; }
            memmove(to, from, bytes);
        }
    }
}

static void copy_faces(const void *arguments) {
    const Faces *list = arguments;
    copy_listed(list->faces, list->count);
}

/* As many faces as the grid has in y; the list is read when the kernel runs. */
static void copy_list(const void *arguments) {
    const Face *faces = (const Face *)reached(*(const uint64_t *)arguments, grid_y * sizeof(Face));
    if (!faces) { failed = 700; return; }
    copy_listed(faces, grid_y);
}

typedef struct { uint64_t word, value; } Signal;

static void signal_word(const void *arguments) {
    const Signal *signal = arguments;
    uint64_t *word = (uint64_t *)reached(signal->word, 8);
    if (!word) { failed = 700; return; }
    __atomic_store_n(word, signal->value, __ATOMIC_SEQ_CST);
}

typedef struct { uint64_t to, from, count; } Sum;
#define COMBINE(name, type, operation)                                                                                                      \
    static void name(const void *arguments) {                                                                                               \
        const Sum *sum = arguments;                                                                                                         \
        type *to = (type *)data_of(sum->to, sum->count * sizeof(type));                                                                     \
        const type *from = (const type *)data_of(sum->from, sum->count * sizeof(type));                                                     \
        if (!to || !from) { failed = 700; return; }                                                                                         \
        for (uint64_t i = 0; i < sum->count; i++) to[i] = operation(to[i], from[i]);                                                        \
    }
#define ADDED(a, b) ((a) + (b))
#define LESS(a, b) ((b) < (a) ? (b) : (a))
#define GREATER(a, b) ((b) > (a) ? (b) : (a))
COMBINE(sum_f32, float, ADDED)
COMBINE(sum_f64, double, ADDED)
COMBINE(sum_u32, uint32_t, ADDED)
COMBINE(sum_u64, uint64_t, ADDED)
#define COMBINE_ALL(kind, type) COMBINE(min_##kind, type, LESS) COMBINE(max_##kind, type, GREATER)
COMBINE_ALL(f32, float)
COMBINE_ALL(f64, double)
COMBINE_ALL(u32, uint32_t)
COMBINE_ALL(u64, uint64_t)
COMBINE_ALL(i32, int32_t)
COMBINE_ALL(i64, int64_t)

typedef struct { uint64_t next, squares, p, coefficients, distance, first, strides[2], counts[3]; } Sweep;

static void himeno(const void *arguments) {
    const Sweep *sweep = arguments;
    uint64_t plane = sweep->strides[0], row = sweep->strides[1], d = sweep->distance;
    float *next = (float *)data_of(sweep->next, 4), *squares = (float *)data_of(sweep->squares, 4);
    const float *field = (const float *)data_of(sweep->p, 4);
    const float *coefficients = (const float *)data_of(sweep->coefficients, (11 * d + sweep->first) * 4);
    if (!next || !squares || !field || !coefficients) { failed = 700; return; }
    for (uint64_t i = 0; i < sweep->counts[0]; i++)
        for (uint64_t j = 0; j < sweep->counts[1]; j++)
            for (uint64_t k = 0; k < sweep->counts[2]; k++) {
                uint64_t at = sweep->first + i * plane + j * row + k;
                const float *p = field + at, *c = coefficients + at;
                const float *ip = p + plane, *im = p - plane, *jp = p + row, *jm = p - row;
                float s0 = c[0] * ip[0] + c[d] * jp[0] + c[2 * d] * p[1] + c[4 * d] * (ip[row] - *(ip - row) - im[row] + *(im - row)) +
                           c[5 * d] * (jp[1] - jm[1] - jp[-1] + jm[-1]) + c[6 * d] * (ip[1] - im[1] - ip[-1] + im[-1]) +
                           c[7 * d] * im[0] + c[8 * d] * jm[0] + c[9 * d] * p[-1] + c[11 * d];
                float ss = (s0 * c[3 * d] - p[0]) * c[10 * d];
                squares[at] = ss * ss;
                next[at] = p[0] + 0.8f * ss;
            }
}

static void water(const void *arguments) {
    struct Water step = *(const struct Water *)arguments;
    for (int field = 0; field < 5; field++) {
        step.before[field] = (uint64_t)data_of(step.before[field], 8);
        step.after[field] = (uint64_t)data_of(step.after[field], 8);
        if (!step.before[field] || !step.after[field]) { failed = 700; return; }
    }
    for (uint64_t i = 0; i < step.counts[0]; i++)
        for (uint64_t j = 0; j < step.counts[1]; j++) water_cell(&step, step.first[0] + i, step.first[1] + j);
}

typedef struct { const char *name; void (*run)(const void *); unsigned sizes[40]; } Kernel;
static const Kernel KERNELS[] = {
    {"pelago_copy_faces", copy_faces, {sizeof(Faces)}},
    {"pelago_copy_listed", copy_list, {8}},
    {"pelago_signal", signal_word, {8, 8}},
#define OF_NUMBERS(name) {"pelago_" #name, name, {8, 8, 8}}
    OF_NUMBERS(sum_f32), OF_NUMBERS(sum_f64), OF_NUMBERS(sum_u32), OF_NUMBERS(sum_u64),
    OF_NUMBERS(min_f32), OF_NUMBERS(min_f64), OF_NUMBERS(min_u32), OF_NUMBERS(min_u64), OF_NUMBERS(min_i32), OF_NUMBERS(min_i64),
    OF_NUMBERS(max_f32), OF_NUMBERS(max_f64), OF_NUMBERS(max_u32), OF_NUMBERS(max_u64), OF_NUMBERS(max_i32), OF_NUMBERS(max_i64),
    {"pelago_himeno", himeno, {sizeof(Sweep)}},
    {"pelago_water", water, {sizeof(struct Water)}},
};

/* ---- streams ---- */

static int is_ready(const Operation *operation) {
    if (operation->what == WAIT_EVENT) return operation->event->done >= operation->value;
    if (operation->what != WAIT_VALUE) return 1;
    uint64_t word = __atomic_load_n((const uint64_t *)operation->from, __ATOMIC_SEQ_CST);
    switch (operation->flags & 3) {
    case 0: return (int64_t)(word - operation->value) >= 0;
    case 1: return word == operation->value;
    case 2: return (word & operation->value) != 0;
    default: return ~(word | operation->value) != 0;
    }
}

static void execute(Operation *operation) {
    switch (operation->what) {
    case COPY: memmove(operation->to, operation->from, operation->bytes); break;
    case COPY_2D:
        for (uint64_t row = 0; row < operation->rows; row++)
            memmove(operation->to + row * operation->to_pitch, operation->from + row * operation->from_pitch, operation->bytes);
        break;
    case WRITE_VALUE: __atomic_store_n((uint64_t *)operation->to, operation->value, __ATOMIC_SEQ_CST); break;
    case RECORD: operation->event->done = operation->value; break;
    case KERNEL: grid_y = operation->grid_y; operation->kernel(operation->arguments); kernels_run++; break;
    default: break;
    }
    if (operation->flags == 0x80000000u) staged_in_flight--;
    executed++;
}

/* Executes the head of some queue, each as likely; 0 if no head may. */
static int step(void) {
    int count = 0;
    Stream *chosen = NULL;
    for (Stream *stream = streams; stream; stream = stream->next)
        if (stream->first && is_ready(stream->first) && random_number() % (uint64_t)++count == 0) chosen = stream;
    if (!chosen) return 0;
    Operation *operation = chosen->first;
    chosen->first = operation->next;
    if (!chosen->first) chosen->last = NULL;
    running = chosen->device;
    execute(operation);
    free(operation);
    return 1;
}

/* Mostly nothing, so that queues grow and their heads have more orders to be executed in. */
static void some_steps(void) {
    if (random_number() % 4) return;
    for (uint64_t steps = random_number() % 4; steps && step(); steps--) {}
}

static void *pump(void *nothing) {
    (void)nothing;
    for (;;) {
        pthread_mutex_lock(&lock);
        int moved = 0;
        if (!manual)
            for (uint64_t steps = random_number() % 8; steps && step(); steps--) moved = 1;
        pthread_mutex_unlock(&lock);
        usleep(moved ? (unsigned)(random_number() % 20) : 100);
    }
    return NULL;
}

static int is_stream(const Stream *stream) {
    for (Stream *other = streams; other; other = other->next)
        if (other == stream) return 1;
    return 0;
}

static int enqueue(Stream *stream, const Operation *operation) {
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (failed) return failed;
    Operation *copy = malloc(sizeof *copy);
    if (!copy) return OUT_OF_MEMORY;
    *copy = *operation;
    copy->next = NULL;
    if (stream->last) stream->last->next = copy; else stream->first = copy;
    stream->last = copy;
    some_steps();
    return OK;
}

/* Executes what there is until a queue is empty or an event is over; gives up after ten seconds in which nothing could be executed. */
static int finish(const Stream *stream, const Event *event, uint64_t ticket) {
    host_waits++;
    for (int idle = 0; (stream && stream->first) || (event && event->done < ticket);) {
        if (failed) return failed;
        if (step()) { idle = 0; continue; }
        if (++idle > 200000) return LAUNCH_TIMEOUT;
        pthread_mutex_unlock(&lock);
        usleep(50);
        pthread_mutex_lock(&lock);
    }
    return failed;
}

/* ---- the interface ---- */

#define API __attribute__((visibility("default"))) int
#define ENTER                                                                                                                               \
    pthread_mutex_lock(&lock);                                                                                                              \
    int result = OK;                                                                                                                        \
    if (!ready) { result = NOT_INITIALIZED; goto out; }
#define ENTER_CONTEXT                                                                                                                       \
    ENTER                                                                                                                                   \
    if (!depth) { result = INVALID_CONTEXT; goto out; }
#define LEAVE                                                                                                                               \
    out:                                                                                                                                    \
    pthread_mutex_unlock(&lock);                                                                                                            \
    return result;
#define FAIL(code) do { result = (code); goto out; } while (0)

API cuInit(unsigned flags) {
    pthread_mutex_lock(&lock);
    configure();
    int result = flags ? INVALID_VALUE : stub ? STUB_LIBRARY : no_device ? NO_DEVICE : OK;
    if (!result) {
        for (int i = 0; i < DEVICES_MAX; i++) contexts[i].device = i;
        ready = 1;
        pthread_t thread;
        if (!has_pump && !pthread_create(&thread, NULL, pump, NULL)) has_pump = 1, pthread_detach(thread);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

API cuDriverGetVersion(int *version) {
    pthread_mutex_lock(&lock);
    configure();
    *version = old_version ? 10020 : 12080;
    pthread_mutex_unlock(&lock);
    return OK;
}

API cuGetErrorString(int code, const char **text) {
    switch (code) {
    case INVALID_VALUE: *text = "invalid argument"; break;
    case OUT_OF_MEMORY: *text = "out of memory"; break;
    case NOT_INITIALIZED: *text = "initialization error"; break;
    case STUB_LIBRARY: *text = "CUDA driver is a stub library"; break;
    case NO_DEVICE: *text = "no CUDA-capable device is detected"; break;
    case INVALID_DEVICE: *text = "invalid device ordinal"; break;
    case INVALID_CONTEXT: *text = "invalid device context"; break;
    case MAP_FAILED_CODE: *text = "mapping of buffer object failed"; break;
    case INVALID_PTX: *text = "a PTX JIT compilation failed"; break;
    case INVALID_HANDLE: *text = "invalid resource handle"; break;
    case NOT_FOUND: *text = "named symbol not found"; break;
    case NOT_READY: *text = "device not ready"; break;
    case 700: *text = "an illegal memory access was encountered"; break;
    case LAUNCH_TIMEOUT: *text = "the launch timed out and was terminated"; break;
    case NOT_SUPPORTED: *text = "operation not supported"; break;
    default: *text = NULL; return INVALID_VALUE;
    }
    return OK;
}

API cuDeviceGetCount(int *count) { ENTER *count = devices; LEAVE }

API cuDeviceGet(int *device, int ordinal) {
    ENTER
    if (ordinal < 0 || ordinal >= devices) FAIL(INVALID_DEVICE);
    *device = ordinal;
    LEAVE
}

API cuDeviceGetName(char *name, int length, int device) {
    ENTER
    if (device < 0 || device >= devices) FAIL(INVALID_DEVICE);
    snprintf(name, (size_t)length, "mock device %d", device);
    LEAVE
}

API cuDeviceGetUuid_v2(char *uuid, int device) {
    ENTER
    if (device < 0 || device >= devices) FAIL(INVALID_DEVICE);
    memset(uuid, 0, 16);
    uuid[0] = (char)(device + 1);
    LEAVE
}

API cuDeviceTotalMem_v2(size_t *bytes, int device) { ENTER (void)device; *bytes = (size_t)1 << 30; LEAVE }

API cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER
    (void)device;
    switch (attribute) {
    case MANAGED: *value = 1; break;
    case WORDS: *value = !no_stream_values; break;
    case DMA_BUF: *value = !no_dma_buf; break;
    case ORDERING: *value = ordering; break;
    case MAJOR: *value = 9; break;
    case MINOR: *value = 0; break;
    default: *value = 0; break;
    }
    LEAVE
}

API cuDevicePrimaryCtxRetain(Context **context, int device) {
    ENTER
    if (device < 0 || device >= devices) FAIL(INVALID_DEVICE);
    *context = &contexts[device];
    LEAVE
}

API cuDevicePrimaryCtxRelease_v2(int device) { ENTER (void)device; LEAVE }

API cuCtxPushCurrent_v2(Context *context) {
    ENTER
    if (context < contexts || context >= contexts + devices || depth == STACK_MAX) FAIL(INVALID_CONTEXT);
    stack[depth++] = context;
    LEAVE
}

API cuCtxPopCurrent_v2(Context **context) { ENTER_CONTEXT *context = stack[--depth]; LEAVE }

static int allocate(uint64_t *address, size_t bytes, int kind) {
    Memory *memory = unused();
    if (!bytes) return INVALID_VALUE;
    if (out_of_memory || !memory || bytes > (size_t)1 << 30) return OUT_OF_MEMORY;
    size_t length = (bytes + 4095) & ~(size_t)4095;
    int file = memfd_create("mock-device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)length)) return OUT_OF_MEMORY;
    char *data = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void *start = kind == 3 ? data : mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED || start == MAP_FAILED) return OUT_OF_MEMORY;
    /* Whoever reads what was never written shall notice. */
    if (kind != 3) memset(data, 0xFF, length);
    *memory = (Memory){(uint64_t)start, bytes, data, file, stack[depth - 1]->device, kind};
    *address = memory->start;
    allocated++;
    return OK;
}

static int release(uint64_t address, int first_kind, int last_kind) {
    Memory *memory = memory_at(address);
    if (!memory || memory->start != address || memory->kind < first_kind || memory->kind > last_kind) return INVALID_VALUE;
    size_t length = (memory->bytes + 4095) & ~(size_t)4095;
    /* Freeing waits for what is in the queues, as the driver does. */
    while (step()) {}
    munmap(memory->data, length);
    if (memory->data != (char *)memory->start) munmap((void *)memory->start, length);
    if (memory->file >= 0) close(memory->file);
    memory->kind = 0;
    return OK;
}

API cuMemAlloc_v2(uint64_t *address, size_t bytes) { ENTER_CONTEXT result = allocate(address, bytes, 1); LEAVE }
API cuMemFree_v2(uint64_t address) { ENTER_CONTEXT result = release(address, 1, 2); LEAVE }
API cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags) {
    ENTER_CONTEXT
    result = flags == 1 || flags == 2 ? allocate(address, bytes, 2) : INVALID_VALUE;
    LEAVE
}
API cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    ENTER_CONTEXT
    (void)flags;
    uint64_t address = 0;
    result = allocate(&address, bytes, 3);
    *pointer = (void *)address;
    LEAVE
}
API cuMemFreeHost(void *pointer) { ENTER_CONTEXT result = release((uint64_t)pointer, 3, 3); LEAVE }

API cuMemGetAddressRange_v2(uint64_t *start, size_t *bytes, uint64_t address) {
    ENTER_CONTEXT
    Memory *memory = memory_at(address);
    if (!memory) FAIL(NOT_FOUND);
    if (start) *start = memory->start;
    if (bytes) *bytes = memory->bytes;
    LEAVE
}

/* A dma-buf: the memory's file, as it begins where the memory begins; so only ranges from there on are given out. As the driver, it takes whole pages. */
API cuMemGetHandleForAddressRange(int *handle, uint64_t address, size_t bytes, int type, uint64_t flags) {
    ENTER_CONTEXT
    Memory *memory = memory_at(address);
    if (type != 1 || flags || !memory || memory->kind != 1 || address % 4096 || bytes % 4096) FAIL(INVALID_VALUE);
    if (dma_buf_refused || address != memory->start || bytes > ((memory->bytes + 4095) & ~(uint64_t)4095)) FAIL(NOT_SUPPORTED);
    *handle = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
    if (*handle < 0) FAIL(OUT_OF_MEMORY);
    dma_bufs++;
    LEAVE
}

static int copy(Stream *stream, char *to, const char *from, size_t bytes, int is_staged) {
    if (!to || !from) return INVALID_VALUE;
    if (is_staged && ++staged_in_flight > staged_in_flight_max) staged_in_flight_max = staged_in_flight;
    Operation operation = {.what = COPY, .to = to, .from = from, .bytes = bytes, .flags = is_staged ? 0x80000000u : 0};
    int result = enqueue(stream, &operation);
    if (result && is_staged) staged_in_flight--;
    return result;
}

/* Host memory has to be pinned: of other memory a real driver takes a copy first, which hides mistakes. */
static char *pinned(const void *pointer, size_t bytes) {
    Memory *memory = memory_at((uint64_t)pointer);
    return memory && memory->kind == 3 ? data_of((uint64_t)pointer, bytes) : NULL;
}

API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Stream *stream) {
    ENTER_CONTEXT
    result = copy(stream, data_of(to, bytes), pinned(from, bytes), bytes, 1);
    LEAVE
}
API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Stream *stream) {
    ENTER_CONTEXT
    result = copy(stream, pinned(to, bytes), data_of(from, bytes), bytes, 1);
    LEAVE
}
API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream *stream) {
    ENTER_CONTEXT
    result = copy(stream, data_of(to, bytes), data_of(from, bytes), bytes, 0);
    LEAVE
}
#ifdef MOCK_HIP
API hipMemcpyPeerAsync(uint64_t to, int to_device, uint64_t from, int from_device, size_t bytes, Stream *stream) {
#else
API cuMemcpyPeerAsync(uint64_t to, Context *to_context, uint64_t from, Context *from_context, size_t bytes, Stream *stream) {
    int to_device = to_context->device, from_device = from_context->device;
#endif
    ENTER_CONTEXT
    Memory *target = memory_at(to), *source = memory_at(from);
    if (!target || !source || target->device != to_device || source->device != from_device) FAIL(INVALID_VALUE);
    result = copy(stream, data_of(to, bytes), data_of(from, bytes), bytes, 0);
    LEAVE
}

static char *end_of(const End *end, uint64_t width, uint64_t height) {
    uint64_t span = height ? (height - 1) * end->pitch + width : 0;
    uint64_t start = end->y * end->pitch + end->x;
    if (end->kind == 1) return pinned(end->host + start, span);
    return end->kind == 2 || end->kind == 4 ? data_of(end->device + start, span) : NULL;
}

API cuMemcpy2DAsync_v2(const Copy2D *request, Stream *stream) {
    ENTER_CONTEXT
    char *to = end_of(&request->to, request->width, request->height), *from = end_of(&request->from, request->width, request->height);
    if (!to || !from || request->width > request->to.pitch || request->width > request->from.pitch) FAIL(INVALID_VALUE);
    Operation operation = {.what = COPY_2D, .to = to, .from = from, .bytes = request->width, .rows = request->height,
                           .to_pitch = request->to.pitch, .from_pitch = request->from.pitch};
    result = enqueue(stream, &operation);
    LEAVE
}

API cuStreamCreate(Stream **stream, unsigned flags) {
    ENTER_CONTEXT
    if (flags > 1) FAIL(INVALID_VALUE);
    Stream *created = calloc(1, sizeof *created);
    if (!created) FAIL(OUT_OF_MEMORY);
    created->device = stack[depth - 1]->device;
    created->next = streams;
    streams = *stream = created;
    LEAVE
}
API cuStreamDestroy_v2(Stream *stream) {
    ENTER_CONTEXT
    if (!is_stream(stream)) FAIL(INVALID_HANDLE);
    finish(stream, NULL, 0);
    for (Stream **link = &streams; *link; link = &(*link)->next)
        if (*link == stream) { *link = stream->next; break; }
    free(stream);
    LEAVE
}
API cuStreamSynchronize(Stream *stream) {
    ENTER_CONTEXT
    result = is_stream(stream) ? finish(stream, NULL, 0) : INVALID_HANDLE;
    LEAVE
}
API cuStreamQuery(Stream *stream) {
    ENTER_CONTEXT
    /* The default streams, in which nothing is put. */
    int is_default = stream == (Stream *)1 || stream == (Stream *)2;
    if (!is_default && !is_stream(stream)) FAIL(INVALID_HANDLE);
    some_steps();
    result = failed ? failed : !is_default && stream->first ? NOT_READY : OK;
    LEAVE
}
API cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    ENTER_CONTEXT
    (void)flags;
    Operation operation = {.what = WAIT_EVENT, .event = event, .value = event->recorded};
    result = enqueue(stream, &operation);
    LEAVE
}
#ifdef MOCK_HIP
API hipStreamWaitValue64(Stream *stream, uint64_t address, uint64_t value, unsigned flags, uint64_t mask) {
#else
API cuStreamWaitValue64_v2(Stream *stream, uint64_t address, uint64_t value, unsigned flags) {
    uint64_t mask = UINT64_MAX;
#endif
    ENTER_CONTEXT
    if (mask != UINT64_MAX) FAIL(INVALID_VALUE);
    if (no_stream_values) FAIL(NOT_SUPPORTED);
    if (!is_stream(stream)) FAIL(INVALID_HANDLE);
    running = stream->device;
    char *word = reached(address, 8);
    if (!word || address % 8) FAIL(INVALID_VALUE);
    Operation operation = {.what = WAIT_VALUE, .from = word, .value = value, .flags = flags};
    result = enqueue(stream, &operation);
    LEAVE
}
API cuStreamWriteValue64_v2(Stream *stream, uint64_t address, uint64_t value, unsigned flags) {
    ENTER_CONTEXT
    (void)flags;
    if (no_stream_values) FAIL(NOT_SUPPORTED);
    if (!is_stream(stream)) FAIL(INVALID_HANDLE);
    running = stream->device;
    char *word = reached(address, 8);
    if (!word || address % 8) FAIL(INVALID_VALUE);
    Operation operation = {.what = WRITE_VALUE, .to = word, .value = value};
    result = enqueue(stream, &operation);
    LEAVE
}

API cuEventCreate(Event **event, unsigned flags) {
    ENTER_CONTEXT
    (void)flags;
    *event = calloc(1, sizeof **event);
    if (!*event) FAIL(OUT_OF_MEMORY);
    LEAVE
}
API cuEventDestroy_v2(Event *event) { ENTER_CONTEXT finish(NULL, event, event->recorded); free(event); LEAVE }
#ifndef MOCK_WITHOUT_EVENTS
API cuEventRecord(Event *event, Stream *stream) {
    ENTER_CONTEXT
    Operation operation = {.what = RECORD, .event = event, .value = ++event->recorded};
    result = enqueue(stream, &operation);
    LEAVE
}
#endif
API cuEventQuery(Event *event) {
    ENTER_CONTEXT
    some_steps();
    result = failed ? failed : event->done < event->recorded ? NOT_READY : OK;
    LEAVE
}
API cuEventSynchronize(Event *event) { ENTER_CONTEXT result = finish(NULL, event, event->recorded); LEAVE }

API cuIpcGetMemHandle(Handle *handle, uint64_t address) {
    ENTER_CONTEXT
    Memory *memory = memory_at(address);
    if (ipc_refused) FAIL(NOT_SUPPORTED);
    if (!memory || memory->kind != 1) FAIL(INVALID_VALUE);
    Shared shared = {MAGIC, getpid(), memory->file, memory->device, memory->bytes, allocated};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &shared, sizeof shared);
    LEAVE
}
API cuIpcOpenMemHandle_v2(uint64_t *address, Handle handle, unsigned flags) {
    ENTER_CONTEXT
    Shared shared;
    char path[64];
    memcpy(&shared, &handle, sizeof shared);
    if (flags != 1 || shared.magic != MAGIC) FAIL(INVALID_VALUE);
    /* The driver opens no handle of its own process. */
    if (ipc_refused || shared.process == getpid()) FAIL(INVALID_CONTEXT);
    if (no_peers && shared.device != stack[depth - 1]->device) FAIL(PEER_ACCESS_UNSUPPORTED);
    Memory *memory = unused();
    snprintf(path, sizeof path, "/proc/%d/fd/%d", shared.process, shared.file);
    int file = memory ? open(path, O_RDWR | O_CLOEXEC) : -1;
    size_t length = (shared.bytes + 4095) & ~(size_t)4095;
    struct stat found;
    if (file < 0 || fstat(file, &found) || found.st_size != (off_t)length) FAIL(MAP_FAILED_CODE);
    char *data = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void *start = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED || start == MAP_FAILED) FAIL(MAP_FAILED_CODE);
    *memory = (Memory){(uint64_t)start, shared.bytes, data, file, shared.device, 4};
    /* Access is enabled when it is needed, as the flag says. */
    peers[stack[depth - 1]->device][shared.device] = 1;
    *address = memory->start;
    opened++;
    LEAVE
}
API cuIpcCloseMemHandle(uint64_t address) {
    ENTER_CONTEXT
    result = release(address, 4, 4);
    closed += result == OK;
    LEAVE
}

API cuModuleLoadData(char **module, const void *image) {
    ENTER_CONTEXT
    if (no_load || !strstr(image, ".version") || !strstr(image, ".target")) FAIL(INVALID_PTX);
    *module = strdup(image);
    LEAVE
}
API cuModuleUnload(char *module) { ENTER_CONTEXT free(module); LEAVE }
API cuModuleGetFunction(const Kernel **function, char *module, const char *name) {
    ENTER_CONTEXT
    char entry[128];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    result = NOT_FOUND;
    for (size_t i = 0; strstr(module, entry) && i < sizeof KERNELS / sizeof *KERNELS; i++)
        if (!strcmp(KERNELS[i].name, name)) *function = &KERNELS[i], result = OK;
    LEAVE
}
API cuLaunchKernel(const Kernel *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   Stream *stream, void **parameters, void **extra) {
    ENTER_CONTEXT
    (void)shared;
    (void)extra;
    if (!gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024 || gy > 65535 || gz > 65535) FAIL(INVALID_VALUE);
    Operation operation = {.what = KERNEL, .kernel = kernel->run, .grid_y = gy};
    size_t used = 0;
    for (int i = 0; kernel->sizes[i]; i++) {
        memcpy(operation.arguments + used, parameters[i], kernel->sizes[i]);
        used += kernel->sizes[i];
    }
    result = enqueue(stream, &operation);
    LEAVE
}

API cuDeviceCanAccessPeer(int *can, int device, int other) { ENTER *can = device != other && !no_peers; LEAVE }
API cuCtxEnablePeerAccess(Context *peer, unsigned flags) {
    ENTER_CONTEXT
    int *access = &peers[stack[depth - 1]->device][peer->device];
    if (flags || no_peers) FAIL(INVALID_VALUE);
    if (*access) FAIL(PEER_ACCESS_ALREADY);
    *access = 1;
    LEAVE
}

#ifndef MOCK_WITHOUT_LOOKUP
API cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status) {
    (void)flags;
    (void)version;
    pthread_mutex_lock(&lock);
    configure();
    int is_missing = !strcmp(symbol, missing);
    pthread_mutex_unlock(&lock);
    static const char *const SUFFIXES[] = {"_v2", ""};
    Dl_info self;
    *function = NULL;
    dladdr((void *)cuInit, &self);
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; library && !is_missing && i < 2 && !*function; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", symbol, SUFFIXES[i]);
        *function = dlsym(library, name);
    }
    if (library) dlclose(library);
    if (status) *status = *function ? 0 : 1;
    return *function ? OK : NOT_FOUND;
}
#endif
