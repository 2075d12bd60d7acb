//! The tables: the columns of each one, and the rows of a module.

pub(crate) mod blocks;
pub(crate) mod diagnostics;
pub(crate) mod functions;
pub(crate) mod instructions;
pub(crate) mod lints;
pub(crate) mod loops;
pub(crate) mod memory;
pub(crate) mod modules;
pub(crate) mod requirements;
