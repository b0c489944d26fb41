//! The types of elements, and the sets of types of the families of routines.

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its name in the names of routines.
    pub name: &'static str,
    /// Its name in C.
    pub c: &'static str,
    /// The C type that it denotes, by which generics distinguish types.
    pub canonical: &'static str,
    /// Its size in bytes.
    pub bytes: u32,
    /// The Rust type that is passed and combined like it.
    pub rust: &'static str,
}

const fn of(name: &'static str, c: &'static str, canonical: &'static str, bytes: u32, rust: &'static str) -> Type {
    Type { name, c, canonical, bytes, rust }
}

const FLOAT: Type = of("float", "float", "float", 4, "f32");
const DOUBLE: Type = of("double", "double", "double", 8, "f64");
const LONG_DOUBLE: Type = of("longdouble", "long double", "long double", 16, "LongDouble");
// Signed on x86-64, unsigned on aarch64.
const CHAR: Type = of("char", "char", "char", 1, "c_char");
const SCHAR: Type = of("schar", "signed char", "signed char", 1, "i8");
const SHORT: Type = of("short", "short", "short", 2, "i16");
const INT: Type = of("int", "int", "int", 4, "i32");
const LONG: Type = of("long", "long", "long", 8, "i64");
const LONG_LONG: Type = of("longlong", "long long", "long long", 8, "i64");
const UCHAR: Type = of("uchar", "unsigned char", "unsigned char", 1, "u8");
const USHORT: Type = of("ushort", "unsigned short", "unsigned short", 2, "u16");
const UINT: Type = of("uint", "unsigned int", "unsigned int", 4, "u32");
const ULONG: Type = of("ulong", "unsigned long", "unsigned long", 8, "u64");
const ULONG_LONG: Type = of("ulonglong", "unsigned long long", "unsigned long long", 8, "u64");
const INT8: Type = of("int8", "int8_t", "signed char", 1, "i8");
const INT16: Type = of("int16", "int16_t", "short", 2, "i16");
const INT32: Type = of("int32", "int32_t", "int", 4, "i32");
const INT64: Type = of("int64", "int64_t", "long", 8, "i64");
const UINT8: Type = of("uint8", "uint8_t", "unsigned char", 1, "u8");
const UINT16: Type = of("uint16", "uint16_t", "unsigned short", 2, "u16");
const UINT32: Type = of("uint32", "uint32_t", "unsigned int", 4, "u32");
const UINT64: Type = of("uint64", "uint64_t", "unsigned long", 8, "u64");
const SIZE: Type = of("size", "size_t", "unsigned long", 8, "u64");
const PTRDIFF: Type = of("ptrdiff", "ptrdiff_t", "long", 8, "i64");
const COMPLEX_DOUBLE: Type = of("complexd", "sma_complexd", "sma_complexd", 16, "Complex<f64>");
const COMPLEX_FLOAT: Type = of("complexf", "sma_complexf", "sma_complexf", 8, "Complex<f32>");

/// Types of puts, gets, and other routines that move data.
pub const RMA: &[Type] = &[
    FLOAT,
    DOUBLE,
    LONG_DOUBLE,
    CHAR,
    SCHAR,
    SHORT,
    INT,
    LONG,
    LONG_LONG,
    UCHAR,
    USHORT,
    UINT,
    ULONG,
    ULONG_LONG,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    SIZE,
    PTRDIFF,
];
/// Types of the standard atomics.
pub const STANDARD: &[Type] = &[INT, LONG, LONG_LONG, UINT, ULONG, ULONG_LONG, INT32, INT64, UINT32, UINT64, SIZE, PTRDIFF];
/// Types of the extended atomics.
pub const EXTENDED: &[Type] =
    &[FLOAT, DOUBLE, INT, LONG, LONG_LONG, UINT, ULONG, ULONG_LONG, INT32, INT64, UINT32, UINT64, SIZE, PTRDIFF];
/// Types of the bitwise atomics.
pub const BITWISE: &[Type] = &[UINT, ULONG, ULONG_LONG, INT32, INT64, UINT32, UINT64];
/// Types of waits and tests.
pub const WAITS: &[Type] =
    &[SHORT, INT, LONG, LONG_LONG, USHORT, UINT, ULONG, ULONG_LONG, INT32, INT64, UINT32, UINT64, SIZE, PTRDIFF];
/// Types of bitwise reductions.
pub const REDUCED_BITS: &[Type] =
    &[UCHAR, USHORT, UINT, ULONG, ULONG_LONG, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE];
/// Types of the reductions `min` and `max`.
pub const REDUCED_ORDERED: &[Type] = &[
    CHAR,
    SCHAR,
    SHORT,
    INT,
    LONG,
    LONG_LONG,
    PTRDIFF,
    UCHAR,
    USHORT,
    UINT,
    ULONG,
    ULONG_LONG,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    SIZE,
    FLOAT,
    DOUBLE,
    LONG_DOUBLE,
];
/// Types of arithmetic reductions and of scans.
pub const REDUCED_NUMBERS: &[Type] = &[
    CHAR,
    SCHAR,
    SHORT,
    INT,
    LONG,
    LONG_LONG,
    PTRDIFF,
    UCHAR,
    USHORT,
    UINT,
    ULONG,
    ULONG_LONG,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    SIZE,
    FLOAT,
    DOUBLE,
    LONG_DOUBLE,
    COMPLEX_DOUBLE,
    COMPLEX_FLOAT,
];
/// Types of the deprecated bitwise reductions over active sets.
pub const ACTIVE_BITS: &[Type] = &[SHORT, INT, LONG, LONG_LONG];
/// Types of the deprecated reductions `min` and `max` over active sets.
pub const ACTIVE_ORDERED: &[Type] = &[SHORT, INT, LONG, LONG_LONG, FLOAT, DOUBLE, LONG_DOUBLE];
/// Types of the deprecated arithmetic reductions over active sets.
pub const ACTIVE_NUMBERS: &[Type] = &[SHORT, INT, LONG, LONG_LONG, FLOAT, DOUBLE, LONG_DOUBLE, COMPLEX_DOUBLE, COMPLEX_FLOAT];
/// Types of the deprecated atomics.
pub const OLD_ATOMICS: &[Type] = &[INT, LONG, LONG_LONG];
/// Types of the deprecated atomics that also exist for floating-point types.
pub const OLD_EXTENDED: &[Type] = &[FLOAT, DOUBLE, INT, LONG, LONG_LONG];
/// Types of the deprecated waits.
pub const OLD_WAITS: &[Type] = &[SHORT, INT, LONG, LONG_LONG];

/// Returns the types of a set, without those that denote the same C type as an earlier one.
pub fn distinct(set: &[Type]) -> Vec<Type> {
    let mut found: Vec<Type> = Vec::new();
    for one in set {
        if found.iter().all(|other| other.canonical != one.canonical) {
            found.push(*one);
        }
    }
    found
}
