//! The families of routines, and each routine with its exact signature.

use crate::types::{self, Type};

/// A family of routines: one routine for each of its types, and for sizes or bytes.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The part of the names after the type, such as `put`.
    pub name: &'static str,
    /// The result, as a C type; `T` is the type of elements.
    pub result: &'static str,
    /// The parameters except the context; `T` is the type of elements.
    pub parameters: &'static str,
    /// The types of elements.
    pub types: &'static [Type],
    /// Whether each routine also exists with a context.
    pub has_context: bool,
    /// Position of the argument by which a generic selects the type, counted from 1 without the context; 0 if there is no generic.
    pub generic: u8,
    /// Beginning and end of the names by size in bits, and the name of the routine for bytes.
    pub by_size: Option<(&'static str, &'static str, &'static str)>,
    /// The sizes in bits.
    pub sizes: &'static [u32],
    /// The macro of the exports, and its arguments besides the type and the names.
    pub export: (&'static str, &'static str),
    /// The property of the type that the export needs.
    pub needs: Needs,
    /// The file of the exports.
    pub file: &'static str,
    /// Whether the family is deprecated.
    pub is_deprecated: bool,
}

/// The property of a type that an export needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Its size.
    Bytes,
    /// The type in Rust.
    Rust,
}

/// A routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routine {
    /// Its name without `shmem_`.
    pub name: String,
    /// Its result, as a C type.
    pub result: String,
    /// Its parameters, as C declarations.
    pub parameters: String,
}

const SIZES: &[u32] = &[8, 16, 32, 64, 128];

const fn rma(name: &'static str, result: &'static str, parameters: &'static str, export: (&'static str, &'static str)) -> Family {
    Family {
        name,
        result,
        parameters,
        types: types::RMA,
        has_context: true,
        generic: 1,
        by_size: None,
        sizes: SIZES,
        export,
        needs: Needs::Bytes,
        file: "rma",
        is_deprecated: false,
    }
}

const fn by(family: Family, by_size: (&'static str, &'static str, &'static str)) -> Family {
    Family { by_size: Some(by_size), ..family }
}

const PUT: &str = "T *dest, const T *source, size_t nelems, int pe";
const STRIDED: &str = "T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe";
const BLOCKS: &str = "T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe";
const SIGNAL: &str = "T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe";

const fn atomic(
    name: &'static str,
    result: &'static str,
    parameters: &'static str,
    types: &'static [Type],
    export: (&'static str, &'static str),
) -> Family {
    Family { types, needs: Needs::Rust, file: "atomics", ..rma(name, result, parameters, export) }
}

const fn wait(
    name: &'static str,
    result: &'static str,
    parameters: &'static str,
    export: (&'static str, &'static str),
) -> Family {
    Family { types: types::WAITS, has_context: false, needs: Needs::Rust, file: "waits", ..rma(name, result, parameters, export) }
}

const fn collective(name: &'static str, parameters: &'static str, export: &'static str, bytes: &'static str) -> Family {
    let family = rma(name, "int", parameters, (export, ""));
    Family { has_context: false, generic: 2, by_size: Some(("", "", bytes)), sizes: &[], file: "collectives", ..family }
}

const fn reduction(name: &'static str, types: &'static [Type], export: (&'static str, &'static str)) -> Family {
    let family = rma(name, "int", "shmem_team_t team, T *dest, const T *source, size_t nreduce", export);
    Family { types, has_context: false, generic: 2, needs: Needs::Rust, file: "reductions", ..family }
}

const fn deprecated(family: Family) -> Family {
    Family { has_context: false, generic: 0, file: "deprecated", is_deprecated: true, ..family }
}

const fn to_all(name: &'static str, types: &'static [Type], operator: &'static str) -> Family {
    let parameters = "T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, int PE_size, T *pWrk, long *pSync";
    deprecated(Family { types, needs: Needs::Rust, ..rma(name, "void", parameters, ("to_all", operator)) })
}

const ONE: &str = "T *dest, T value, int pe";
const FETCH_ONE: &str = "T *fetch, T *dest, T value, int pe";
const WAIT: &str = "T *ivar, int cmp, T cmp_value";
const WAITS: &str = "T *ivars, size_t nelems, const int *status, int cmp, T cmp_value";
const WAITS_SOME: &str = "T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value";
const VECTOR: &str = "T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values";
const VECTOR_SOME: &str = "T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values";
const TEAM: &str = "shmem_team_t team, T *dest, const T *source, size_t nelems";
const SETS: &str = "int PE_start, int logPE_stride, int PE_size, long *pSync";

/// Every family.
pub const FAMILIES: &[Family] = &[
    by(rma("put", "void", PUT, ("put", "Blocking")), ("put", "", "putmem")),
    rma("p", "void", ONE, ("p", "")),
    by(rma("get", "void", PUT, ("get", "Blocking")), ("get", "", "getmem")),
    rma("g", "T", "const T *source, int pe", ("g", "")),
    by(rma("put_nbi", "void", PUT, ("put", "Later")), ("put", "_nbi", "putmem_nbi")),
    by(rma("get_nbi", "void", PUT, ("get", "Later")), ("get", "_nbi", "getmem_nbi")),
    by(rma("iput", "void", STRIDED, ("iput", "put_blocks")), ("iput", "", "")),
    by(rma("iget", "void", STRIDED, ("iput", "get_blocks")), ("iget", "", "")),
    by(rma("ibput", "void", BLOCKS, ("ibput", "put_blocks")), ("ibput", "", "")),
    by(rma("ibget", "void", BLOCKS, ("ibput", "get_blocks")), ("ibget", "", "")),
    Family { file: "signals", ..by(rma("put_signal", "void", SIGNAL, ("put_signal", "")), ("put", "_signal", "putmem_signal")) },
    Family {
        file: "signals",
        ..by(rma("put_signal_nbi", "void", SIGNAL, ("put_signal", "")), ("put", "_signal_nbi", "putmem_signal_nbi"))
    },
    atomic("atomic_add", "void", ONE, types::STANDARD, ("update", "Add")),
    atomic("atomic_inc", "void", "T *dest, int pe", types::STANDARD, ("increment", "")),
    atomic("atomic_fetch_add", "T", ONE, types::STANDARD, ("fetch", "Add")),
    atomic("atomic_fetch_inc", "T", "T *dest, int pe", types::STANDARD, ("fetch_increment", "")),
    atomic("atomic_compare_swap", "T", "T *dest, T cond, T value, int pe", types::STANDARD, ("compare_swap", "")),
    atomic("atomic_fetch_add_nbi", "void", FETCH_ONE, types::STANDARD, ("fetch_later", "Add")),
    atomic("atomic_fetch_inc_nbi", "void", "T *fetch, T *dest, int pe", types::STANDARD, ("fetch_increment_later", "")),
    atomic(
        "atomic_compare_swap_nbi",
        "void",
        "T *fetch, T *dest, T cond, T value, int pe",
        types::STANDARD,
        ("compare_swap_later", ""),
    ),
    atomic("atomic_fetch", "T", "const T *source, int pe", types::EXTENDED, ("load", "")),
    atomic("atomic_fetch_nbi", "void", "T *fetch, const T *source, int pe", types::EXTENDED, ("load_later", "")),
    atomic("atomic_set", "void", ONE, types::EXTENDED, ("update", "Swap")),
    atomic("atomic_swap", "T", ONE, types::EXTENDED, ("fetch", "Swap")),
    atomic("atomic_swap_nbi", "void", FETCH_ONE, types::EXTENDED, ("fetch_later", "Swap")),
    atomic("atomic_and", "void", ONE, types::BITWISE, ("update", "And")),
    atomic("atomic_or", "void", ONE, types::BITWISE, ("update", "Or")),
    atomic("atomic_xor", "void", ONE, types::BITWISE, ("update", "Xor")),
    atomic("atomic_fetch_and", "T", ONE, types::BITWISE, ("fetch", "And")),
    atomic("atomic_fetch_or", "T", ONE, types::BITWISE, ("fetch", "Or")),
    atomic("atomic_fetch_xor", "T", ONE, types::BITWISE, ("fetch", "Xor")),
    atomic("atomic_fetch_and_nbi", "void", FETCH_ONE, types::BITWISE, ("fetch_later", "And")),
    atomic("atomic_fetch_or_nbi", "void", FETCH_ONE, types::BITWISE, ("fetch_later", "Or")),
    atomic("atomic_fetch_xor_nbi", "void", FETCH_ONE, types::BITWISE, ("fetch_later", "Xor")),
    wait("wait_until", "void", WAIT, ("wait_one", "")),
    wait("wait_until_all", "void", WAITS, ("wait_all", "One")),
    wait("wait_until_any", "size_t", WAITS, ("wait_any", "One, wait_any")),
    wait("wait_until_some", "size_t", WAITS_SOME, ("wait_some", "One, wait_some")),
    wait("wait_until_all_vector", "void", VECTOR, ("wait_all", "Each")),
    wait("wait_until_any_vector", "size_t", VECTOR, ("wait_any", "Each, wait_any")),
    wait("wait_until_some_vector", "size_t", VECTOR_SOME, ("wait_some", "Each, wait_some")),
    wait("test", "int", WAIT, ("test_one", "")),
    wait("test_all", "int", WAITS, ("test_all", "One")),
    wait("test_any", "size_t", WAITS, ("wait_any", "One, test_any")),
    wait("test_some", "size_t", WAITS_SOME, ("wait_some", "One, test_some")),
    wait("test_all_vector", "int", VECTOR, ("test_all", "Each")),
    wait("test_any_vector", "size_t", VECTOR, ("wait_any", "Each, test_any")),
    wait("test_some_vector", "size_t", VECTOR_SOME, ("wait_some", "Each, test_some")),
    collective(
        "broadcast",
        "shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root",
        "broadcast",
        "broadcastmem",
    ),
    Family { export: ("collect", "collect"), ..collective("collect", TEAM, "", "collectmem") },
    Family { export: ("collect", "fcollect"), ..collective("fcollect", TEAM, "", "fcollectmem") },
    Family { export: ("collect", "alltoall"), ..collective("alltoall", TEAM, "", "alltoallmem") },
    collective(
        "alltoalls",
        "shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems",
        "alltoalls",
        "alltoallsmem",
    ),
    reduction("and_reduce", types::REDUCED_BITS, ("reduce", "And")),
    reduction("or_reduce", types::REDUCED_BITS, ("reduce", "Or")),
    reduction("xor_reduce", types::REDUCED_BITS, ("reduce", "Xor")),
    reduction("max_reduce", types::REDUCED_ORDERED, ("reduce", "Max")),
    reduction("min_reduce", types::REDUCED_ORDERED, ("reduce", "Min")),
    reduction("sum_reduce", types::REDUCED_NUMBERS, ("reduce", "Sum")),
    reduction("prod_reduce", types::REDUCED_NUMBERS, ("reduce", "Product")),
    Family { parameters: TEAM, ..reduction("sum_inscan", types::REDUCED_NUMBERS, ("scan", "true")) },
    Family { parameters: TEAM, ..reduction("sum_exscan", types::REDUCED_NUMBERS, ("scan", "false")) },
    deprecated(atomic("add", "void", ONE, types::OLD_ATOMICS, ("old_update", "Add"))),
    deprecated(atomic("inc", "void", "T *dest, int pe", types::OLD_ATOMICS, ("old_increment", ""))),
    deprecated(atomic("fadd", "T", ONE, types::OLD_ATOMICS, ("old_fetch", "Add"))),
    deprecated(atomic("finc", "T", "T *dest, int pe", types::OLD_ATOMICS, ("old_fetch_increment", ""))),
    deprecated(atomic("cswap", "T", "T *dest, T cond, T value, int pe", types::OLD_ATOMICS, ("old_compare_swap", ""))),
    deprecated(atomic("fetch", "T", "const T *source, int pe", types::OLD_EXTENDED, ("old_load", ""))),
    deprecated(atomic("set", "void", ONE, types::OLD_EXTENDED, ("old_update", "Swap"))),
    deprecated(atomic("swap", "T", ONE, types::OLD_EXTENDED, ("old_fetch", "Swap"))),
    deprecated(Family { types: types::OLD_WAITS, ..wait("wait", "void", "T *ivar, T cmp_value", ("old_wait", "")) }),
    to_all("and_to_all", types::ACTIVE_BITS, "And"),
    to_all("or_to_all", types::ACTIVE_BITS, "Or"),
    to_all("xor_to_all", types::ACTIVE_BITS, "Xor"),
    to_all("max_to_all", types::ACTIVE_ORDERED, "Max"),
    to_all("min_to_all", types::ACTIVE_ORDERED, "Min"),
    to_all("sum_to_all", types::ACTIVE_NUMBERS, "Sum"),
    to_all("prod_to_all", types::ACTIVE_NUMBERS, "Product"),
];

/// Name, result and parameters of a routine, in the syntax of C.
pub type Signature = (&'static str, &'static str, &'static str);

/// Routines without types, by sections of the header. Their exports are written by hand.
pub const PLAIN: &[(&str, &[Signature])] = &[
    (
        "Initialization, end, queries",
        &[
            ("init", "void", "void"),
            ("init_thread", "int", "int requested, int *provided"),
            ("query_thread", "void", "int *provided"),
            ("query_initialized", "void", "int *initialized"),
            ("finalize", "void", "void"),
            ("global_exit", "void", "int status"),
            ("my_pe", "int", "void"),
            ("n_pes", "int", "void"),
            ("pe_accessible", "int", "int pe"),
            ("addr_accessible", "int", "const void *addr, int pe"),
            ("ptr", "void *", "const void *dest, int pe"),
            ("info_get_version", "void", "int *major, int *minor"),
            ("info_get_name", "void", "char *name"),
            ("pcontrol", "void", "int level, ..."),
        ],
    ),
    (
        "Symmetric heap",
        &[
            ("malloc", "void *", "size_t size"),
            ("calloc", "void *", "size_t count, size_t size"),
            ("align", "void *", "size_t alignment, size_t size"),
            ("realloc", "void *", "void *ptr, size_t size"),
            ("free", "void", "void *ptr"),
            ("malloc_with_hints", "void *", "size_t size, long hints"),
        ],
    ),
    (
        "Teams",
        &[
            ("team_my_pe", "int", "shmem_team_t team"),
            ("team_n_pes", "int", "shmem_team_t team"),
            ("team_get_config", "int", "shmem_team_t team, long config_mask, shmem_team_config_t *config"),
            ("team_translate_pe", "int", "shmem_team_t src_team, int src_pe, shmem_team_t dest_team"),
            (
                "team_split_strided",
                "int",
                "shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team",
            ),
            (
                "team_split_2d",
                "int",
                "shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team, \
                 const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team",
            ),
            ("team_destroy", "void", "shmem_team_t team"),
            ("team_ptr", "void *", "shmem_team_t team, const void *dest, int pe"),
            ("team_sync", "int", "shmem_team_t team"),
        ],
    ),
    (
        "Contexts and sessions",
        &[
            ("ctx_create", "int", "long options, shmem_ctx_t *ctx"),
            ("team_create_ctx", "int", "shmem_team_t team, long options, shmem_ctx_t *ctx"),
            ("ctx_destroy", "void", "shmem_ctx_t ctx"),
            ("ctx_get_team", "int", "shmem_ctx_t ctx, shmem_team_t *team"),
            (
                "ctx_session_start",
                "void",
                "shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask",
            ),
            ("ctx_session_stop", "void", "shmem_ctx_t ctx"),
        ],
    ),
    (
        "Order, signals, locks",
        &[
            ("fence", "void", "void"),
            ("ctx_fence", "void", "shmem_ctx_t ctx"),
            ("quiet", "void", "void"),
            ("ctx_quiet", "void", "shmem_ctx_t ctx"),
            ("pe_quiet", "void", "const int *target_pes, size_t npes"),
            ("ctx_pe_quiet", "void", "shmem_ctx_t ctx, const int *target_pes, size_t npes"),
            ("signal_add", "void", "uint64_t *sig_addr, uint64_t signal, int pe"),
            ("ctx_signal_add", "void", "shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe"),
            ("signal_set", "void", "uint64_t *sig_addr, uint64_t signal, int pe"),
            ("ctx_signal_set", "void", "shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe"),
            ("signal_fetch", "uint64_t", "const uint64_t *sig_addr"),
            ("signal_wait_until", "uint64_t", "uint64_t *sig_addr, int cmp, uint64_t cmp_value"),
            ("barrier_all", "void", "void"),
            ("sync_all", "void", "void"),
            ("clear_lock", "void", "long *lock"),
            ("set_lock", "void", "long *lock"),
            ("test_lock", "int", "long *lock"),
        ],
    ),
    (
        "Deprecated",
        &[
            ("barrier", "void", SETS),
            ("sync", "void", SETS),
            (
                "broadcast32",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "broadcast64",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "collect32",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "collect64",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "fcollect32",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "fcollect64",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "alltoall32",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "alltoall64",
                "void",
                "void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "alltoalls32",
                "void",
                "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            (
                "alltoalls64",
                "void",
                "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync",
            ),
            ("wait_until", "void", "long *ivar, int cmp, long cmp_value"),
            ("wait", "void", "long *ivar, long cmp_value"),
            ("clear_cache_inv", "void", "void"),
            ("clear_cache_line_inv", "void", "void *dest"),
            ("set_cache_inv", "void", "void"),
            ("set_cache_line_inv", "void", "void *dest"),
            ("udcflush", "void", "void"),
            ("udcflush_line", "void", "void *dest"),
        ],
    ),
];

/// Routines of the first versions of the interface, whose names do not begin with `shmem_`.
pub const OLDEST: &[Signature] = &[
    ("start_pes", "void", "int npes"),
    ("_my_pe", "int", "void"),
    ("_num_pes", "int", "void"),
    ("shmalloc", "void *", "size_t size"),
    ("shfree", "void", "void *ptr"),
    ("shmemalign", "void *", "size_t alignment, size_t size"),
    ("shrealloc", "void *", "void *ptr, size_t size"),
];

impl Family {
    /// Returns the routine for a type, without and with a context.
    pub fn routines(&self, of: &Type) -> Vec<Routine> {
        self.named(&format!("{}_{}", of.name, self.name), of.c)
    }

    /// Returns the routines for a size in bits.
    pub fn routines_by_size(&self, bits: u32) -> Vec<Routine> {
        let Some((before, after, _)) = self.by_size else { return Vec::new() };
        self.named(&format!("{before}{bits}{after}"), "void")
    }

    /// Returns the routines for bytes.
    pub fn routines_of_bytes(&self) -> Vec<Routine> {
        match self.by_size {
            Some((_, _, name)) if !name.is_empty() => self.named(name, "void"),
            _ => Vec::new(),
        }
    }

    fn named(&self, name: &str, c: &str) -> Vec<Routine> {
        let (result, parameters) = (with_type(self.result, c), with_type(self.parameters, c));
        let mut routines = vec![Routine { name: name.to_owned(), result: result.clone(), parameters: parameters.clone() }];
        if self.has_context {
            routines.push(Routine { name: format!("ctx_{name}"), result, parameters: format!("shmem_ctx_t ctx, {parameters}") });
        }
        routines
    }

    /// Returns all routines of the family.
    pub fn all(&self) -> Vec<Routine> {
        let mut all: Vec<_> = self.types.iter().flat_map(|of| self.routines(of)).collect();
        all.extend(self.sizes.iter().flat_map(|&bits| self.routines_by_size(bits)));
        all.extend(self.routines_of_bytes());
        all
    }
}

/// Returns every routine whose name begins with `shmem_`.
pub fn all() -> Vec<Routine> {
    let typed = FAMILIES.iter().flat_map(Family::all);
    let plain = PLAIN.iter().flat_map(|(_, routines)| routines.iter());
    let plain = plain.map(|&(name, result, parameters)| Routine {
        name: name.into(),
        result: result.into(),
        parameters: parameters.into(),
    });
    typed.chain(plain).collect()
}

/// Replaces `T` by a C type.
pub fn with_type(text: &str, c: &str) -> String {
    let is_letter = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let mut replaced = String::new();
    for (at, letter) in text.char_indices() {
        let alone = letter == 'T' && !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + 1..].chars().next());
        if alone { replaced.push_str(c) } else { replaced.push(letter) }
    }
    replaced
}

/// Returns the names of the parameters of a declaration.
pub fn names(parameters: &str) -> Vec<String> {
    let name = |parameter: &str| parameter.rsplit([' ', '*']).next().unwrap_or_default().to_owned();
    parameters.split(", ").map(name).collect()
}
