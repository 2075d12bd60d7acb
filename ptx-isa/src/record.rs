//! Methods that read fields.

/// Declares a struct whose fields other crates only read, by methods with the name and the documentation of the field.
/// The fields after `private` have no such method.
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

/// Declares the facts about a keyword, and for each fact a method of the keyword with the name and documentation of the fact.
/// The methods after `named` have other names than their facts; the facts after `private` have no method.
macro_rules! facts {
    (
        $(#[$meta:meta])*
        $name:ident of $keyword:ident in $module:ident { $($(#[$doc:meta])* $field:ident: $ty:ty,)* }
        $(named { $($(#[$named_doc:meta])* $method:ident = $named:ident: $named_ty:ty,)* })?
        $(private { $($private:ident: $private_ty:ty,)* })?
    ) => {
        $(#[$meta])*
        pub(crate) struct $name {
            $(pub(crate) $field: $ty,)*
            $($(pub(crate) $named: $named_ty,)*)?
            $($(pub(crate) $private: $private_ty,)*)?
        }

        impl $keyword {
            const fn facts(self) -> &'static $name {
                &crate::generated::$module::FACTS[self as usize]
            }

            $(
                $(#[$doc])*
                #[inline]
                #[must_use]
                pub const fn $field(self) -> $ty {
                    self.facts().$field
                }
            )*
            $($(
                $(#[$named_doc])*
                #[inline]
                #[must_use]
                pub const fn $method(self) -> $named_ty {
                    self.facts().$named
                }
            )*)?
        }
    };
}

/// Defines methods that set fields of constants.
macro_rules! setters {
    ($name:ident { $($set:ident $field:ident: $ty:ty),* $(,)? }) => {
        impl $name {
            $(pub(crate) const fn $set(mut self, value: $ty) -> Self {
                self.$field = value;
                self
            })*
        }
    };
}

/// Methods that copy a field or, after `&`, borrow it: `name: Type = field;`. After `const;` they are constant.
#[doc(hidden)]
#[macro_export]
macro_rules! getters {
    (const; $($(#[$doc:meta])* $name:ident: $ty:ty = $(&$borrowed:ident)? $($copied:ident)?;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[must_use]
            pub const fn $name(&self) -> $ty {
                $(&self.$borrowed)?
                $(self.$copied)?
            }
        )*
    };
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $(&$borrowed:ident)? $($copied:ident)?;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[must_use]
            pub fn $name(&self) -> $ty {
                $(&self.$borrowed)?
                $(self.$copied)?
            }
        )*
    };
}

/// Returns the text, unless it is empty.
pub(crate) const fn non_empty(text: &str) -> Option<&str> {
    if text.is_empty() { None } else { Some(text) }
}
