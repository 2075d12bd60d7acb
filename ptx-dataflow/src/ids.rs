//! The typed numbers of blocks, edges, values and other entities of an analysis.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(u32);

        impl $name {
            /// The id of position `index`, as `EntityId::from_index`, in constants.
            #[doc(hidden)]
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

        impl ptx_ir::EntityId for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
pub(crate) use ids;
