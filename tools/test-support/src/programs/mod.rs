//! Programs of several launches with their expected results.

pub mod case;
pub mod compare;
pub mod list;
#[cfg(feature = "vm")]
pub mod machine;
pub mod run;
