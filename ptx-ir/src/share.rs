//! Bodies of one module share their tables: reading gathers the tables of one body behind those of
//! the body before, and gives each its stretch.

use crate::body::Body;
use crate::cow_vec::ShareOp;
use crate::decl::Declarations;
use crate::operand::OperandPool;

impl Body {
    /// Bodies share their tables with those of as many bytes of source: few allocations, and little
    /// that stands in memory twice.
    pub const SHARED_TEXT: usize = 1 << 14;

    /// An empty body with room for what `bytes` of source commonly hold.
    pub fn with_capacity(bytes: usize) -> Body {
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

    /// Takes the body just read out, and leaves the room behind it for the next one. What is taken
    /// is empty until it is [shared](Self::share).
    pub fn split_off(&mut self) -> Body {
        let mut body = Body {
            base: self.base,
            end: self.end,
            closed: self.closed,
            ..Body::default()
        };
        body.step(self, ShareOp::Cut);
        body
    }

    /// Forgets everything and keeps the room.
    pub fn clear(&mut self) {
        Body::default().step(self, ShareOp::Clear);
    }

    /// Gives `bodies`, all that were [cut](Self::split_off) off since the last time, their tables.
    pub fn share<'b>(&mut self, bodies: impl Iterator<Item = &'b mut Body>) {
        self.attach(bodies, ShareOp::Seal);
    }

    /// [`share`](Self::share) for the last time.
    pub fn finish<'b>(mut self, bodies: impl Iterator<Item = &'b mut Body>) {
        self.attach(bodies, ShareOp::Finish);
    }

    fn attach<'b>(&mut self, bodies: impl Iterator<Item = &'b mut Body>, step: ShareOp) {
        let mut all = Body::default();
        all.step(self, step);
        for body in bodies {
            body.step(&mut all, ShareOp::Share);
        }
    }

    /// Takes a step for each table.
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
