//! What forms do whose results are not a function of their operands.

/// Declares the actions, each with its meaning.
macro_rules! actions {
    ($($name:ident $results:ident $meaning:literal,)*) => {
        /// What a machine does for a form whose results are not a function of its operands.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Action {
            $(#[doc = $meaning] $name,)*
        }

        impl Action {
            /// All actions.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// What it does, as a sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }

            /// What is known of its results.
            pub(crate) const fn results(self) -> $crate::uniformity::ActionResults {
                match self {
                    $(Self::$name => $crate::uniformity::ActionResults::$results,)*
                }
            }
        }
    };
}
