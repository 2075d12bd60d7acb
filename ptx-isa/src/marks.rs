//! The set of marks of an operand.

/// Defines [`Marks`](crate::Marks) with a constant for each mark, whose value is the number of its bit.
macro_rules! marks {
    ($($(#[$meaning:meta])* $name:ident = $bit:literal;)*) => {
        /// Properties of an operand, as a set.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Default)]
        pub struct Marks(u64);

        impl Marks {
            /// The empty set.
            pub const EMPTY: Self = Self(0);
            $($(#[$meaning])* pub const $name: Self = Self(1 << $bit);)*

            const NAMED: &'static [(Self, &'static str)] = &[$((Self::$name, stringify!($name))),*];

            /// Whether the set contains all `marks`.
            #[inline]
            #[must_use]
            pub const fn contains(self, marks: Self) -> bool {
                self.0 & marks.0 == marks.0
            }

            /// Whether the set contains one of `marks`.
            #[inline]
            #[must_use]
            pub const fn intersects(self, marks: Self) -> bool {
                self.0 & marks.0 != 0
            }

            /// The set of the marks of both.
            #[inline]
            #[must_use]
            pub const fn union(self, marks: Self) -> Self {
                Self(self.0 | marks.0)
            }
        }

        impl core::fmt::Debug for Marks {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let names = Self::NAMED
                    .iter()
                    .filter(|(mark, _)| self.contains(*mark))
                    .map(|(_, name)| name);
                f.debug_set().entries(names).finish()
            }
        }
    };
}
