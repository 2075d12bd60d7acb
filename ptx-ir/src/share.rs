//! Bodies of one module share their storage: the parser appends the tables of each body to those of
//! the body before, and then gives each body its slice of one allocation per table.

use crate::body::Body;
use crate::cow_vec::ShareOp;
use crate::decl::Declarations;
use crate::operand::OperandPool;

/// Bodies share their storage with those of this many bytes of source: few allocations, and little
/// that is in memory twice.
pub const SHARED_TEXT: usize = 1 << 14;

impl Body {
    /// An empty body with capacity for what `bytes` of source commonly hold.
    pub(crate) fn with_capacity(bytes: usize) -> Body {
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

    /// Reserves capacity for four times as many statements, operands and registers as there are.
    pub(crate) fn quadruple_capacity(&mut self) {
        self.statements.rows.reserve(3 * self.statements.len());
        self.origins.reserve(3 * self.origins.len());
        self.insts.rows.reserve(3 * self.insts.len());
        self.pool.operands.reserve(3 * self.pool.operands.len());
        let addresses = &mut self.pool.addresses;
        addresses.rows.reserve(3 * addresses.len());
        self.registers.rows.reserve(3 * self.registers.len());
    }

    /// Takes the body that was just read out and keeps the storage for the next one. The result is
    /// empty until it gets its tables from [`share`](Self::share).
    pub(crate) fn split_off(&mut self) -> Body {
        let mut body = Body {
            base: self.base,
            end: self.end,
            closed: self.closed,
            ..Body::default()
        };
        body.step(self, ShareOp::Cut);
        body
    }

    /// Removes everything and keeps the capacity.
    pub(crate) fn clear(&mut self) {
        Body::default().step(self, ShareOp::Clear);
    }

    /// Gives `bodies`, all that were [split off](Self::split_off) since the last time, their tables.
    pub(crate) fn share<'b>(&mut self, bodies: impl Iterator<Item = &'b mut Body>) {
        self.attach(bodies, ShareOp::Seal);
    }

    /// [`share`](Self::share) for the last time.
    pub(crate) fn finish<'b>(mut self, bodies: impl Iterator<Item = &'b mut Body>) {
        self.attach(bodies, ShareOp::Finish);
    }

    fn attach<'b>(&mut self, bodies: impl Iterator<Item = &'b mut Body>, step: ShareOp) {
        let mut all = Body::default();
        all.step(self, step);
        all.attach_to(bodies);
    }

    /// The first half of [`share`](Self::share): the tables of all bodies that were split off since the last time.
    pub(crate) fn seal(&mut self) -> Body {
        let mut all = Body::default();
        all.step(self, ShareOp::Seal);
        all
    }

    /// The second half of [`share`](Self::share): gives `bodies` their stretches of what was [sealed](Self::seal).
    pub(crate) fn attach_to<'b>(mut self, bodies: impl Iterator<Item = &'b mut Body>) {
        for body in bodies {
            body.step(&mut self, ShareOp::Share);
        }
    }

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
