//! The output of the parser: the module, the body being parsed, and operands of unfinished statements.

use alloc::vec::Vec;
use ptx_ir::raw::{self, RawBody, RawModule, StmtSpan};
use ptx_ir::{
    Body, BodyId, Declarations, Item, ListId, Module, NameId, Opaque, Operand, OperandPool,
    OperandRange, SourceText, Span, Statement, StmtId,
};

/// The tables in which statements and their operands are stored.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Level {
    Module,
    Body,
}

/// The output of the parser.
pub(crate) struct Output {
    pub(crate) module: Module,
    /// The body being parsed; its storage is shared with the bodies before it.
    pub(crate) body: Body,
    pub(crate) level: Level,
    /// A stack of the operands of unfinished lists and statements.
    pub(crate) scratch: Vec<Operand>,
    /// The index of the first body that has no tables yet.
    first_pending: usize,
    /// The end of the body before the first pending one.
    pending_start: usize,
}

impl Output {
    pub(crate) fn new(source: SourceText) -> Self {
        let len = source.len();
        let body = raw::body_with_capacity(len.min(raw::SHARED_TEXT));
        Self::with(raw::module_with_source(source), body, 0)
    }

    /// An output that appends to a module. The source is parsed from the offset `start` on.
    pub(crate) fn with(module: Module, body: Body, start: usize) -> Self {
        Self {
            first_pending: module.bodies().len(),
            pending_start: start,
            module,
            body,
            level: Level::Module,
            scratch: Vec::new(),
        }
    }

    /// Returns the module at the end of the source.
    pub(crate) fn finish(self) -> Module {
        let Self {
            mut module,
            body,
            scratch,
            first_pending,
            ..
        } = self;
        drop(scratch);
        raw::finish(body, module.bodies_mut().values_mut().skip(first_pending));
        module
    }

    #[inline(always)]
    pub(crate) fn in_body(&self) -> bool {
        self.level == Level::Body
    }

    /// Adds the body that ends at `pos`. Bodies whose text is long enough in sum get their tables together.
    pub(crate) fn keep_body(&mut self, body: Body, pos: usize) -> BodyId {
        let id = self.module.bodies_mut().push(body);
        if pos - self.pending_start >= raw::SHARED_TEXT {
            self.share_tables(pos);
        }
        id
    }

    /// Adds the body that ends at `pos` without its tables, with its extent only.
    pub(crate) fn keep_extent(&mut self, pos: usize) -> BodyId {
        let id = self
            .module
            .bodies_mut()
            .push(raw::without_tables(&self.body));
        self.first_pending = self.module.bodies().len();
        self.pending_start = pos;
        id
    }

    /// Creates the tables of the pending bodies, which end before `pos`.
    fn share_tables(&mut self, pos: usize) {
        let bodies = self
            .module
            .bodies_mut()
            .values_mut()
            .skip(self.first_pending);
        raw::share(&mut self.body, bodies);
        self.first_pending = self.module.bodies().len();
        self.pending_start = pos;
    }

    /// The id of the spelling `text`, which is in the source at `start`.
    #[inline]
    pub(crate) fn intern(&mut self, text: &[u8], start: usize) -> NameId {
        NameId::new(self.module.names_mut().intern_at(text, start as u32).0)
    }

    /// The pool to which operands of the current level are added.
    #[inline(always)]
    pub(crate) fn pool(&mut self) -> &mut OperandPool {
        match self.level {
            Level::Body => self.body.pool_mut(),
            Level::Module => self.module.pool_mut(),
        }
    }

    /// The tables that the declaration being parsed belongs to.
    pub(crate) fn declarations(&mut self) -> &mut Declarations {
        match self.level {
            Level::Body => self.body.declarations_mut(),
            Level::Module => self.module.declarations_mut(),
        }
    }

    /// Moves the operands from `mark` on from the scratch stack into a list of the pool.
    #[inline]
    pub(crate) fn list_from(&mut self, mark: usize) -> ListId {
        let pool = match self.level {
            Level::Body => self.body.pool_mut(),
            Level::Module => self.module.pool_mut(),
        };
        let id = pool.add_list(&self.scratch[mark..]);
        self.scratch.truncate(mark);
        id
    }

    /// Moves the operands from `mark` on from the scratch stack into the pool.
    #[inline]
    pub(crate) fn range_from(&mut self, mark: usize) -> OperandRange {
        let pool = match self.level {
            Level::Body => self.body.pool_mut(),
            Level::Module => self.module.pool_mut(),
        };
        let range = pool.extend(&self.scratch[mark..]);
        self.scratch.truncate(mark);
        range
    }

    /// Adds a statement of the body that is at `start..end` of the source.
    #[inline(always)]
    pub(crate) fn push_statement(
        &mut self,
        statement: Statement,
        start: usize,
        end: usize,
        has_comments: bool,
    ) -> StmtId {
        let base = self.body.base() as usize;
        let span = StmtSpan::new(Span::at(start - base, end - base), has_comments);
        raw::push_statement(&mut self.body, statement, span)
    }

    /// Adds an item that is at `start..end` of the source.
    pub(crate) fn push_item(&mut self, item: Item, start: usize, end: usize, has_comments: bool) {
        let span = StmtSpan::new(Span::at(start, end), has_comments);
        raw::push_item(&mut self.module, item, span);
    }

    /// Adds an item that could not be parsed.
    pub(crate) fn push_opaque_item(&mut self, mentions: OperandRange, start: usize, end: usize) {
        let id = self.module.opaques_mut().push(Opaque::new(mentions));
        self.push_item(Item::Opaque(id), start, end, false);
    }

    /// The end of the previous statement or item of the current level, or of the `{` of the body.
    pub(crate) fn end_of_previous(&self) -> usize {
        if !self.in_body() {
            let last = self.module.items().next_back();
            return last.map_or(0, |(id, _)| self.module.span(id).end as usize);
        }
        match self.body.statements().next_back() {
            Some((id, _)) => self.body.source_span(id).end as usize,
            None => self.body.base() as usize + 1,
        }
    }
}
