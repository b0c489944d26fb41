//! `shmem.h`: prototypes, accesses to words of mapped PEs, C11 generics, C++ overloads.

use crate::routines::{FAMILIES, Family, OLDEST, PLAIN, Routine, names, with_type};
use crate::types::{Type, distinct};

/// Maximum size of a word, which a processor accesses as a whole.
const WORD_BYTES_MAX: u32 = 8;

const BEGIN: &str = r#"/* OpenSHMEM 1.6. Generated from the table in bindings/shmem-interface; renew it by
 * PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-shmem-interface
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <complex>
typedef std::complex<double> sma_complexd;
typedef std::complex<float> sma_complexf;
#else
#include <complex.h>
typedef double _Complex sma_complexd;
typedef float _Complex sma_complexf;
#endif

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Pelago"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

/* Handles are numbers behind pointers of their own types. */
typedef struct sma_team *shmem_team_t;
typedef struct sma_ctx *shmem_ctx_t;

#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)
typedef struct {
    int num_contexts;
} shmem_team_config_t;

#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)
#define SHMEM_CTX_SERIALIZED (1L << 0)
#define SHMEM_CTX_PRIVATE (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)
#define SHMEM_CTX_SESSION_BATCH (1L << 0)
typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_LT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_GT 4
#define SHMEM_CMP_GE 5

/* Deprecated. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 4
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING

#ifdef __cplusplus
extern "C" {
#endif

/* A routine, and its name for tools that put themselves in its place. */
#define SMA_ROUTINE(result, name, parameters) \
    result shmem_##name parameters;           \
    result pshmem_##name parameters;
"#;

/// Accesses to one word of a PE of this host, compiled into the program. `struct sma_window` is the beginning of `pelago_memory::Window`.
const WORDS: &str = r#"
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(SHMEM_NO_INLINE)
/* With optimization for speed, a program accesses single words of PEs of its host itself, by the default context. A routine of the library is called for
 * all other words, and if its address is taken. With SHMEM_NO_INLINE it is always called. Programs do not use names that begin with sma_. */
#define SMA_INLINE extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

/* Symmetric memory of the PEs of this host. */
struct sma_window {
    uintptr_t start;
    size_t open;
    char *heaps;
    size_t span;
    char *bells;
    size_t bell_span;
    uint32_t first;
    uint32_t count;
};
struct sma_word {
    void *at;
    uint32_t *bell;
};
extern struct sma_window *sma_windows[2];
void sma_wake(const void *dest, size_t bytes, int pe);

SMA_INLINE int sma_find_by(int number, const void *address, size_t bytes, int pe, struct sma_word *word)
{
    struct sma_window *window = __atomic_load_n(&sma_windows[number], __ATOMIC_ACQUIRE);
    size_t inside;
    uint32_t local;
    if (!window)
        return 0;
    inside = (uintptr_t)address - window->start;
    local = (uint32_t)pe - window->first;
    if (inside % bytes != 0 || inside >= __atomic_load_n(&window->open, __ATOMIC_ACQUIRE) || local >= window->count)
        return 0;
    word->at = window->heaps + local * window->span + inside;
    word->bell = (uint32_t *)(void *)(window->bells + local * window->bell_span);
    return 1;
}

SMA_INLINE int sma_find(const void *address, size_t bytes, int pe, struct sma_word *word)
{
    return sma_find_by(0, address, bytes, pe, word) || sma_find_by(1, address, bytes, pe, word);
}

/* Wakes the PE if it sleeps until memory changes. */
SMA_INLINE void sma_ring(const struct sma_word *word, const void *dest, size_t bytes, int pe)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(word->bell, __ATOMIC_RELAXED) & 1, 0))
        sma_wake(dest, bytes, pe);
}

#define SMA_STORE(T, name)                                                    \
    void sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name); \
    SMA_INLINE void shmem_##name(T *dest, T value, int pe)                    \
    {                                                                         \
        struct sma_word word;                                                 \
        if (sma_find(dest, sizeof(T), pe, &word)) {                           \
            __atomic_store((T *)word.at, &value, __ATOMIC_RELEASE);           \
            sma_ring(&word, dest, sizeof(T), pe);                             \
        } else {                                                              \
            sma_called_##name(dest, value, pe);                               \
        }                                                                     \
    }

#define SMA_LOAD(T, name, order)                                          \
    T sma_called_##name(const T *source, int pe) __asm__("shmem_" #name); \
    SMA_INLINE T shmem_##name(const T *source, int pe)                    \
    {                                                                     \
        struct sma_word word;                                             \
        T value;                                                          \
        if (!sma_find(source, sizeof(T), pe, &word))                      \
            return sma_called_##name(source, pe);                         \
        __atomic_load((T *)word.at, &value, order);                       \
        return value;                                                     \
    }

#define SMA_UPDATE(T, name, operation)                                         \
    void sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name);  \
    SMA_INLINE void shmem_##name(T *dest, T value, int pe)                     \
    {                                                                          \
        struct sma_word word;                                                  \
        if (sma_find(dest, sizeof(T), pe, &word)) {                            \
            (void)__atomic_##operation((T *)word.at, value, __ATOMIC_SEQ_CST); \
            sma_ring(&word, dest, sizeof(T), pe);                              \
        } else {                                                               \
            sma_called_##name(dest, value, pe);                                \
        }                                                                      \
    }

#define SMA_FETCH(T, name, operation)                                        \
    T sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name);   \
    SMA_INLINE T shmem_##name(T *dest, T value, int pe)                      \
    {                                                                        \
        struct sma_word word;                                                \
        T found;                                                             \
        if (!sma_find(dest, sizeof(T), pe, &word))                           \
            return sma_called_##name(dest, value, pe);                       \
        found = __atomic_##operation((T *)word.at, value, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                                \
        return found;                                                        \
    }

#define SMA_SWAP(T, name)                                                  \
    T sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name); \
    SMA_INLINE T shmem_##name(T *dest, T value, int pe)                    \
    {                                                                      \
        struct sma_word word;                                              \
        T found;                                                           \
        if (!sma_find(dest, sizeof(T), pe, &word))                         \
            return sma_called_##name(dest, value, pe);                     \
        __atomic_exchange((T *)word.at, &value, &found, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                              \
        return found;                                                      \
    }

#define SMA_INCREMENT(T, name)                                           \
    void sma_called_##name(T *dest, int pe) __asm__("shmem_" #name);     \
    SMA_INLINE void shmem_##name(T *dest, int pe)                        \
    {                                                                    \
        struct sma_word word;                                            \
        if (sma_find(dest, sizeof(T), pe, &word)) {                      \
            (void)__atomic_fetch_add((T *)word.at, 1, __ATOMIC_SEQ_CST); \
            sma_ring(&word, dest, sizeof(T), pe);                        \
        } else {                                                         \
            sma_called_##name(dest, pe);                                 \
        }                                                                \
    }

#define SMA_FETCH_INCREMENT(T, name)                                   \
    T sma_called_##name(T *dest, int pe) __asm__("shmem_" #name);      \
    SMA_INLINE T shmem_##name(T *dest, int pe)                         \
    {                                                                  \
        struct sma_word word;                                          \
        T found;                                                       \
        if (!sma_find(dest, sizeof(T), pe, &word))                     \
            return sma_called_##name(dest, pe);                        \
        found = __atomic_fetch_add((T *)word.at, 1, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                          \
        return found;                                                  \
    }

#define SMA_COMPARE_SWAP(T, name)                                                                             \
    T sma_called_##name(T *dest, T cond, T value, int pe) __asm__("shmem_" #name);                            \
    SMA_INLINE T shmem_##name(T *dest, T cond, T value, int pe)                                               \
    {                                                                                                         \
        struct sma_word word;                                                                                 \
        if (!sma_find(dest, sizeof(T), pe, &word))                                                            \
            return sma_called_##name(dest, cond, value, pe);                                                  \
        (void)__atomic_compare_exchange_n((T *)word.at, &cond, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                                                                 \
        return cond;                                                                                          \
    }

"#;

/// Returns the text of the header.
pub fn header() -> String {
    let mut text = BEGIN.to_owned();
    for (section, routines) in PLAIN {
        text += &format!("\n/* {section}. */\n");
        for (name, result, parameters) in *routines {
            text += &format!("SMA_ROUTINE({result}, {name}, ({parameters}))\n");
        }
    }
    for (name, result, parameters) in OLDEST {
        text += &format!(
            "{} {name}({parameters});\n",
            result.trim_end_matches(" *").to_owned() + if result.ends_with('*') { " *" } else { "" }
        );
    }
    for family in FAMILIES {
        let of = if family.is_deprecated { " (deprecated)" } else { "" };
        text += &format!("\n/* shmem_<TYPENAME>_{}{of}. */\n", family.name);
        for Routine { name, result, parameters } in family.all() {
            text += &format!("SMA_ROUTINE({result}, {name}, ({parameters}))\n");
        }
    }
    text += WORDS;
    text.extend(FAMILIES.iter().flat_map(accesses));
    text += "#endif\n\n#ifdef __cplusplus\n}\n#endif\n";
    text += &generics();
    text += &overloads();
    text += "\n#endif\n";
    text
}

/// Returns the calls of the macros of [`WORDS`] for the routines of a family.
fn accesses(family: &Family) -> Vec<String> {
    let (export, operator) = family.export;
    let (access, more) = match (export.strip_prefix("old_").unwrap_or(export), operator) {
        ("p", _) | ("update", "Swap") => ("STORE", ""),
        ("g", _) => ("LOAD", ", __ATOMIC_ACQUIRE"),
        ("load", _) => ("LOAD", ", __ATOMIC_SEQ_CST"),
        ("fetch", "Swap") => ("SWAP", ""),
        ("increment", _) => ("INCREMENT", ""),
        ("fetch_increment", _) => ("FETCH_INCREMENT", ""),
        ("compare_swap", _) => ("COMPARE_SWAP", ""),
        (combine @ ("update" | "fetch"), operator) => {
            let access = if combine == "update" { "UPDATE" } else { "FETCH" };
            let more = match operator {
                "Add" => ", fetch_add",
                "And" => ", fetch_and",
                "Or" => ", fetch_or",
                "Xor" => ", fetch_xor",
                _ => unreachable!("{operator} is no operator of an atomic"),
            };
            (access, more)
        }
        _ => return Vec::new(),
    };
    let words = family.types.iter().filter(|of| of.bytes <= WORD_BYTES_MAX);
    words.map(|of| format!("SMA_{access}({}, {}_{}{more})\n", of.c, of.name, family.name)).collect()
}

fn generic_families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().filter(|family| family.generic > 0)
}

/// Returns the C11 macros that select a routine by the type of an argument.
fn generics() -> String {
    let mut text = String::from(
        "\n#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(SHMEM_NO_GENERICS)\n\
         #define SMA_FIRST(a, ...) a\n\
         #define SMA_SECOND(a, b, ...) b\n\
         struct sma_no_such_type;\n\
         void sma_no_routine_for_this_type(struct sma_no_such_type *, struct sma_no_such_type *);\n",
    );
    for family in generic_families() {
        let choices = |context: &str| {
            let of = |of: &Type| {
                let name = format!("shmem_{context}{}_{}", of.name, family.name);
                let constant = if takes_constant(family) { format!(", const {} *: {name}", of.c) } else { String::new() };
                format!("{} *: {name}{constant}", of.c)
            };
            distinct(family.types).iter().map(of).collect::<Vec<_>>().join(", \\\n        ")
        };
        let (place, zeros) = if family.generic == 1 { ("SMA_FIRST", "0") } else { ("SMA_SECOND", "0, 0") };
        text += &format!("#define shmem_{}(...) \\\n    _Generic({place}(__VA_ARGS__, {zeros}), \\\n", family.name);
        if family.has_context {
            text += &format!(
                "        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \\\n        {}, \\\n        default: sma_no_routine_for_this_type), \\\n",
                choices("ctx_")
            );
        }
        text += &format!("        {})(__VA_ARGS__)\n", choices(""));
    }
    text + "#define shmem_sync(...) _Generic(SMA_FIRST(__VA_ARGS__, 0), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)\n#endif\n"
}

/// Whether the argument that determines the type points to constant elements.
fn takes_constant(family: &Family) -> bool {
    family.parameters.split(", ").nth(usize::from(family.generic) - 1).is_some_and(|parameter| parameter.starts_with("const "))
}

/// Returns the overloaded C++ functions with the names of the generics.
fn overloads() -> String {
    let mut text = String::from("\n#if defined(__cplusplus) && !defined(SHMEM_NO_GENERICS)\n");
    for family in generic_families() {
        for of in distinct(family.types) {
            // A C function already has this name and signature.
            let is_taken = family.name == "wait_until" && of.name == "long";
            for routine in family.routines(&of).into_iter().filter(|_| !is_taken) {
                let result = with_type(family.result, of.c);
                let gives = if result == "void" { "" } else { "return " };
                let arguments = names(&routine.parameters).join(", ");
                text += &format!(
                    "static inline {result} shmem_{}({}) {{ {gives}shmem_{}({arguments}); }}\n",
                    family.name, routine.parameters, routine.name
                );
            }
        }
    }
    text + "static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }\n#endif\n"
}
