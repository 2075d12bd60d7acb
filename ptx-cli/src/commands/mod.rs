//! One module a command.

pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod parse;
pub(crate) mod requires;
pub(crate) mod retarget;
pub(crate) mod roundtrip;
pub(crate) mod stats;
pub(crate) mod tokens;
