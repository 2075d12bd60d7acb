//! Records of the tables.

/// Declares a struct whose fields other crates only read, by methods with the name and the documentation of the field.
/// Those after `private` have no such method.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $ty:ty,)* }
        $(private { $($private:ident: $private_ty:ty,)* })?
    ) => {
        $(#[$meta])*
        pub struct $name {
            $(pub(crate) $field: $ty,)*
            $($(pub(crate) $private: $private_ty,)*)?
        }

        impl $name {
            $(
                $(#[$doc])*
                #[inline]
                #[must_use]
                pub const fn $field(&self) -> $ty {
                    self.$field
                }
            )*
        }
    };
}
