//! Constructors of records.

/// Defines `new` for records, which takes some fields and gives the others the values in braces.
macro_rules! constructors {
    ($($(#[$doc:meta])* $record:ident($($field:ident: $ty:ty),*) { $($other:ident: $value:expr),* })*) => {
        $(impl $record {
            $(#[$doc])*
            #[doc(hidden)]
            #[inline]
            #[must_use]
            pub const fn new($($field: $ty),*) -> Self {
                Self { $($field,)* $($other: $value),* }
            }
        })*
    };
}

pub(crate) use constructors;
