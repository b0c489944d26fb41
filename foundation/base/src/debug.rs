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

/// Implements `Debug` for errors with the text of `Display`, because a `main` that returns an error prints `Debug`.
///
/// ```
/// #[derive(thiserror::Error)]
/// #[error("rank {0} appears twice in the team")]
/// struct Repeated(u32);
///
/// pelago_base::debug_as_display! { Repeated }
/// assert_eq!(format!("{:#?}", Repeated(3)), "rank 3 appears twice in the team");
/// ```
#[macro_export]
macro_rules! debug_as_display {
    ($($name:ident),*) => {$(
        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }
    )*};
}
