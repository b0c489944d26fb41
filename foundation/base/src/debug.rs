//! `Debug` of types whose contents other ranks may write, or whose fields have no `Debug`.

/// Implements `Debug` for types: their names and the values that are listed, such as sizes. Nothing else of them is read.
///
/// ```
/// struct Table<'a, T>(&'a [T]);
///
/// pelago_base::debug! {
///     Table['a, T]['a, T] { len: |it| it.0.len() }
/// }
/// assert_eq!(format!("{:?}", Table(&[1, 2])), "Table { len: 2, .. }");
/// ```
#[macro_export]
macro_rules! debug {
    ($($name:ident[$($parameters:tt)*][$($arguments:tt)*] { $($field:ident: |$it:ident| $value:expr),* })*) => {$(
        impl<$($parameters)*> ::core::fmt::Debug for $name<$($arguments)*> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &{ let $it = self; $value }))*.finish_non_exhaustive()
            }
        }
    )*};
}
