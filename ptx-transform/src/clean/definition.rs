//! What a clean-up consists of.

use alloc::vec::Vec;

use ptx_edit::Editor;
use ptx_ir::StmtId;

use super::function_view::View;
use super::rewrite::Step;

/// A clean-up: a constant in its file.
pub(super) struct Definition {
    /// A short name, which is also that of its option.
    pub(super) name: &'static str,
    /// What compiler engineers call it.
    pub(super) term: &'static str,
    /// What it does, in one sentence.
    pub(super) summary: &'static str,
    /// Finds the changes in a function.
    pub(super) plan: fn(&View<'_>) -> Vec<Step>,
    /// Removes what the changes made unused, if the plan does not; returns the statements and the reasons.
    pub(super) finish: Option<Finish>,
}

/// Removes statements and returns them, each with the reason.
pub(super) type Finish = fn(&mut Editor<'_>) -> Vec<(StmtId, &'static str)>;
