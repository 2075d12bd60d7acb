//! What a clean-up consists of. Each clean-up is a constant in its file; `passes.rs` lists them.

use alloc::vec::Vec;

use ptx_edit::Editor;
use ptx_ir::StmtId;

use super::function_view::View;
use super::rewrite::Step;

/// A clean-up: a constant in its file.
pub(super) struct Definition {
    /// A short name, which is also that of its option.
    pub(super) name: &'static str,
    /// The standard term.
    pub(super) term: &'static str,
    /// The effect, in one sentence.
    pub(super) summary: &'static str,
    /// Finds the changes in a function.
    pub(super) plan: fn(&View<'_>) -> Vec<Step>,
    /// Removes statements that the changes made unused, if the plan does not.
    pub(super) finish: Option<Finish>,
}

/// Removes statements and returns each with the reason.
pub(super) type Finish = fn(&mut Editor<'_>) -> Vec<(StmtId, &'static str)>;
