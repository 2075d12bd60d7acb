//! One module per command.

pub(crate) mod analyze;
pub(crate) mod callgraph;
pub(crate) mod cfg;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod explain;
pub(crate) mod extract;
pub(crate) mod flatten;
pub(crate) mod fmt;
pub(crate) mod grep;
pub(crate) mod instrument;
pub(crate) mod link;
pub(crate) mod minify;
pub(crate) mod parse;
pub(crate) mod rename;
pub(crate) mod renumber;
pub(crate) mod requires;
pub(crate) mod retarget;
mod rewrite;
pub(crate) mod roundtrip;
pub(crate) mod stats;
pub(crate) mod strip;
pub(crate) mod tokens;
