//! Programs of several launches: what to run and what to expect.

pub mod case;
pub mod compare;
pub mod list;
#[cfg(feature = "vm")]
pub mod machine;
pub mod run;
