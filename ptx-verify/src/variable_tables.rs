//! The tables that hold a declaration: those of the module or of a body.

use ptx_ir::{Declarations, OperandPool, PrimaryMap, Var, VarId};

/// The tables that hold a declaration.
#[derive(Copy, Clone)]
pub(crate) struct Tables<'m> {
    pub(crate) declarations: &'m Declarations,
    pub(crate) pool: &'m OperandPool,
    /// The variables of the body that has the declaration.
    pub(crate) vars: Option<&'m PrimaryMap<VarId, Var>>,
}
