//! `shmem.h`: prototypes, C11 generics, C++ overloads.

use crate::routines::{FAMILIES, Family, OLDEST, PLAIN, Routine, names, with_type};
use crate::types::{Type, distinct};

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
    text += "\n#ifdef __cplusplus\n}\n#endif\n";
    text += &generics();
    text += &overloads();
    text += "\n#endif\n";
    text
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
