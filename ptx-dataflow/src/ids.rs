//! Typed numbers.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(u32);

        impl $name {
            /// The id of position `index`.
            #[must_use]
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// The position of the id.
            #[must_use]
            pub const fn as_u32(self) -> u32 {
                self.0
            }
        }
    )*};
}
pub(crate) use ids;
