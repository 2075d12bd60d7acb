//! The shared storage of the bodies of a module. The parser appends the tables of each body to those of the previous one. Then each
//! body gets its part of one allocation per table.

use crate::body::Body;
use crate::cow_vec::ShareOp;
use crate::decl::Declarations;
use crate::operand::OperandPool;

/// The number of bytes of source whose bodies share their storage. More bytes need fewer allocations, and more memory while the
/// tables are copied.
pub const SHARED_TEXT: usize = 1 << 14;

/// An empty body with capacity for the usual number of records in `bytes` of source.
#[must_use]
pub fn body_with_capacity(bytes: usize) -> Body {
    let mut body = Body::default();
    body.statements.rows.reserve(bytes / 34);
    body.origins.reserve(bytes / 34);
    body.insts.rows.reserve(bytes / 40);
    body.pool.operands.reserve(bytes / 16);
    body.pool.addresses.rows.reserve(bytes / 128);
    body.registers.rows.reserve(bytes / 48);
    body.reg_decls.rows.reserve(bytes / 256);
    body.vars.rows.reserve(bytes / 256);
    body.labels.rows.reserve(bytes / 512);
    body.declarations.decls.rows.reserve(bytes / 256);
    body.declarations.declarators.reserve(bytes / 256);
    body
}

/// Removes the last body from `storage`, which keeps its capacity for the next one. The result is empty until [`share`] or
/// [`finish`] attaches its tables.
pub fn split_off(storage: &mut Body) -> Body {
    let mut body = without_tables(storage);
    body.step(storage, ShareOp::Cut);
    body
}

/// An empty body at the same place of the source.
#[must_use]
pub fn without_tables(body: &Body) -> Body {
    Body {
        base: body.base,
        end: body.end,
        closed: body.closed,
        ..Body::default()
    }
}

/// Removes all records and keeps the capacity.
pub fn clear(storage: &mut Body) {
    Body::default().step(storage, ShareOp::Clear);
}

/// Attaches the tables of `bodies`, which are all that were [split off](split_off) since the last call.
pub fn share<'b>(storage: &mut Body, bodies: impl Iterator<Item = &'b mut Body>) {
    let mut sealed = Body::default();
    sealed.step(storage, ShareOp::Seal);
    attach(sealed, bodies);
}

/// As [`share`], for the last bodies.
pub fn finish<'b>(mut storage: Body, bodies: impl Iterator<Item = &'b mut Body>) {
    let mut sealed = Body::default();
    sealed.step(&mut storage, ShareOp::Finish);
    attach(sealed, bodies);
}

/// Attaches to `bodies` their parts of the tables that all of them share.
fn attach<'b>(mut sealed: Body, bodies: impl Iterator<Item = &'b mut Body>) {
    for body in bodies {
        body.step(&mut sealed, ShareOp::Share);
    }
}

impl Body {
    /// Applies the operation to each table.
    fn step(&mut self, other: &mut Body, step: ShareOp) {
        self.statements.rows.step(&mut other.statements.rows, step);
        self.origins.step(&mut other.origins, step);
        self.insts.rows.step(&mut other.insts.rows, step);
        self.pool.step(&mut other.pool, step);
        self.registers.rows.step(&mut other.registers.rows, step);
        self.reg_decls.rows.step(&mut other.reg_decls.rows, step);
        self.vars.rows.step(&mut other.vars.rows, step);
        self.labels.rows.step(&mut other.labels.rows, step);
        self.inner_scopes.step(&mut other.inner_scopes, step);
        self.declarations.step(&mut other.declarations, step);
        self.directives.rows.step(&mut other.directives.rows, step);
        self.prototypes.rows.step(&mut other.prototypes.rows, step);
        self.opaques.rows.step(&mut other.opaques.rows, step);
    }
}

impl OperandPool {
    fn step(&mut self, other: &mut Self, step: ShareOp) {
        self.operands.step(&mut other.operands, step);
        self.lists.rows.step(&mut other.lists.rows, step);
        self.addresses.rows.step(&mut other.addresses.rows, step);
        self.immediates.rows.step(&mut other.immediates.rows, step);
    }
}

impl Declarations {
    fn step(&mut self, other: &mut Self, step: ShareOp) {
        self.decls.rows.step(&mut other.decls.rows, step);
        self.declarators.step(&mut other.declarators, step);
        self.attributes.step(&mut other.attributes, step);
    }
}
