//! Finds the blocks of a function and the edges between them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts, Targets};
use ptx_ir::{EntityId, InstId, LabelId, Operand, Statement, StmtId};
use ptx_isa::Directive;

use super::{Block, BlockId, Edge, EdgeKind};
use crate::tables::{self, Tables};

/// How a block ends.
#[derive(Copy, Clone)]
enum End {
    /// Into the next one.
    Next,
    /// With an instruction.
    Inst(InstId),
    /// With a statement that was not recognized.
    Opaque,
}

/// The blocks and edges of a function.
pub(super) struct Parts {
    pub(super) blocks: Vec<Block>,
    pub(super) edges: Vec<Edge>,
    /// Where the edges of each block start; one more at the end.
    pub(super) starts: Vec<u32>,
    pub(super) labels: Vec<Option<BlockId>>,
}

/// Finds the blocks of a function, then their edges.
pub(super) fn build(facts: FunctionFacts<'_>) -> Parts {
    let mut builder = Builder::new(facts);
    builder.split();
    builder.connect();
    Parts {
        blocks: builder.blocks,
        edges: builder.edges,
        starts: builder.starts,
        labels: builder.labels,
    }
}

struct Builder<'a> {
    facts: FunctionFacts<'a>,
    blocks: Vec<Block>,
    ends: Vec<End>,
    edges: Vec<Edge>,
    starts: Vec<u32>,
    labels: Vec<Option<BlockId>>,
    /// How many blocks have statements.
    real: usize,
    /// How often each table is used.
    tables: BTreeMap<LabelId, Uses>,
    /// How many blocks end in a jump with unknown targets.
    unknowns: usize,
    /// Whether shared tables, and whether unknown jumps, get dispatch blocks.
    dispatch_tables: bool,
    dispatch_unknown: bool,
    /// The dispatch block of unknown jumps.
    unknown: Option<BlockId>,
    /// The table of each dispatch block; `None` for all labels.
    dispatch: Vec<Option<LabelId>>,
    names: Tables<'a>,
}

#[derive(Copy, Clone)]
struct Uses {
    count: usize,
    /// Whether all of its entries are labels.
    recognized: bool,
    dispatch: Option<BlockId>,
}

impl<'a> Builder<'a> {
    fn new(facts: FunctionFacts<'a>) -> Self {
        Self {
            facts,
            blocks: Vec::new(),
            ends: Vec::new(),
            edges: Vec::new(),
            starts: Vec::new(),
            labels: vec![None; facts.body().labels().len()],
            real: 0,
            tables: BTreeMap::new(),
            unknowns: 0,
            dispatch_tables: false,
            dispatch_unknown: false,
            unknown: None,
            dispatch: Vec::new(),
            names: Tables::default(),
        }
    }

    /// Divides the statements into blocks.
    fn split(&mut self) {
        let body = self.facts.body();
        let last = StmtId::from_index(body.statement_table().len());
        let mut first = body.statements().next().map_or(last, |(id, _)| id);
        let mut label = None;
        let mut content = false;
        for (stmt, statement) in body.statements() {
            let end = match statement {
                Statement::Label(id) => {
                    if self.is_of_table(stmt) {
                        continue;
                    }
                    if label.is_some() || content {
                        self.close(first, stmt, label, End::Next);
                        (first, content) = (stmt, false);
                    }
                    label = Some(id);
                    if let Some(entry) = self.labels.get_mut(id.index()) {
                        *entry = Some(BlockId::from_index(self.blocks.len()));
                    }
                    continue;
                }
                Statement::Inst(id) => {
                    content = true;
                    let facts = self.facts.inst(id);
                    match facts.flow() {
                        Flow::Next => continue,
                        Flow::Call if !facts.never_returns() => continue,
                        _ => self.count_targets(&facts),
                    }
                    End::Inst(id)
                }
                Statement::Opaque(_) => {
                    self.unknowns += 1;
                    End::Opaque
                }
                _ => continue,
            };
            let next = body.after(stmt).unwrap_or(last);
            self.close(first, next, label, end);
            (first, label, content) = (next, None, false);
        }
        if label.is_some() || content || self.blocks.is_empty() {
            self.close(first, last, label, End::Next);
        } else if let Some(block) = self.blocks.last_mut() {
            // What comes after the last instruction does nothing.
            block.end = last;
        }
        self.real = self.blocks.len();
        self.count_edges();
    }

    /// Decides whether dispatch blocks are needed.
    fn count_edges(&mut self) {
        let body = self.facts.body();
        let budget = 8 * body.statement_table().len() + 1024;
        let edges = self.tables.iter().map(|(&label, uses)| {
            let list = self.facts.table(label).unwrap_or_default();
            uses.count.saturating_mul(tables::size(body, list))
        });
        let edges = edges.fold(0usize, usize::saturating_add);
        let unknown = self.unknowns.saturating_mul(body.labels().len());
        self.dispatch_tables = edges > budget;
        self.dispatch_unknown = unknown > budget;
    }

    fn close(&mut self, first: StmtId, end: StmtId, label: Option<LabelId>, how: End) {
        self.blocks.push(Block {
            first,
            end,
            label,
            exits: false,
            returns: false,
            unknown: false,
            is_dispatch: false,
        });
        self.ends.push(how);
    }

    /// Whether the label at `stmt` names a table instead of a position in the code.
    fn is_of_table(&self, stmt: StmtId) -> bool {
        let body = self.facts.body();
        match body.after(stmt).and_then(|s| body.statement(s)) {
            Some(Statement::Prototype(_)) => true,
            Some(Statement::Directive(id)) => matches!(
                body.directives().get(id).map(|d| d.directive),
                Some(Directive::Branchtargets | Directive::Calltargets)
            ),
            _ => false,
        }
    }

    fn count_targets(&mut self, facts: &Facts<'_>) {
        match facts.targets() {
            Targets::List(list) => {
                let recognized = |o: &Operand| matches!(o, Operand::Label(_) | Operand::Range(_));
                let uses = self.tables.entry(list.label).or_insert_with(|| Uses {
                    count: 0,
                    recognized: list.operands.iter().all(recognized),
                    dispatch: None,
                });
                uses.count += 1;
                self.unknowns += usize::from(!uses.recognized);
            }
            Targets::Unknown => self.unknowns += 1,
            _ => {}
        }
    }

    /// Adds the edges. Dispatch blocks come after the blocks with statements, and their edges last.
    fn connect(&mut self) {
        for index in 0..self.real {
            self.starts.push(self.edges.len() as u32);
            let from = BlockId::from_index(index);
            match self.ends.get(index) {
                Some(&End::Inst(inst)) => self.connect_inst(from, inst),
                Some(End::Opaque) => {
                    self.set(from, |b| b.unknown = true);
                    self.unknown_from(from, None);
                    self.next(from, None);
                }
                _ => self.next(from, None),
            }
        }
        // A dispatch block whose table is not recognized may add another one.
        let mut nth = 0;
        while let Some(&table) = self.dispatch.get(nth) {
            self.starts.push(self.edges.len() as u32);
            let dispatch = BlockId::from_index(self.real + nth);
            nth += 1;
            match table {
                Some(label) => self.table_from(dispatch, label, None),
                None => self.all_from(dispatch, None),
            }
        }
        self.starts.push(self.edges.len() as u32);
    }

    fn connect_inst(&mut self, from: BlockId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let taken = facts.guard_register().map(|(_, sense)| sense.holds(true));
        match facts.flow() {
            Flow::Next => {}
            Flow::Unknown => {
                self.set(from, |b| b.unknown = true);
                self.unknown_from(from, None);
            }
            Flow::Return => self.returns(from),
            Flow::Exit | Flow::Trap | Flow::Call => self.set(from, |b| b.exits = true),
            _ => match facts.targets() {
                Targets::Label(label) => match self.labels.get(label.index()) {
                    Some(&Some(to)) => self.edge(from, to, EdgeKind::Jump, taken),
                    _ => self.unknown_from(from, taken),
                },
                Targets::List(list) => {
                    let shared = self.tables.get(&list.label).copied();
                    match shared.filter(|uses| uses.count > 1 && self.dispatch_tables) {
                        Some(uses) => {
                            let dispatch = self.table_dispatch(list.label, uses);
                            self.edge(from, dispatch, EdgeKind::Table(0), taken);
                        }
                        None => self.table_from(from, list.label, taken),
                    }
                }
                _ => self.unknown_from(from, taken),
            },
        }
        if facts.falls_through() {
            self.next(from, taken.map(|t| !t));
        }
    }

    fn set(&mut self, block: BlockId, change: impl FnOnce(&mut Block)) {
        if let Some(block) = self.blocks.get_mut(block.index()) {
            change(block);
        }
    }

    fn returns(&mut self, block: BlockId) {
        self.set(block, |b| (b.exits, b.returns) = (true, true));
    }

    fn edge(&mut self, from: BlockId, to: BlockId, kind: EdgeKind, when: Option<bool>) {
        self.edges.push(Edge {
            from,
            to,
            kind,
            when,
        });
    }

    /// To the following block; from the last one out of the function.
    fn next(&mut self, from: BlockId, when: Option<bool>) {
        if from.index() + 1 < self.real {
            self.edge(from, BlockId(from.0 + 1), EdgeKind::Next, when);
        } else {
            self.returns(from);
        }
    }

    /// The dispatch block of a table.
    fn table_dispatch(&mut self, table: LabelId, mut uses: Uses) -> BlockId {
        let dispatch = uses
            .dispatch
            .unwrap_or_else(|| self.dispatch_block(Some(table)));
        uses.dispatch = Some(dispatch);
        self.tables.insert(table, uses);
        dispatch
    }

    fn dispatch_block(&mut self, table: Option<LabelId>) -> BlockId {
        let end = StmtId::from_index(self.facts.body().statement_table().len());
        let id = BlockId::from_index(self.blocks.len());
        self.close(end, end, None, End::Next);
        self.set(id, |b| b.is_dispatch = true);
        self.dispatch.push(table);
        id
    }

    /// To every label, and out.
    fn all_from(&mut self, from: BlockId, when: Option<bool>) {
        self.returns(from);
        for label in 0..self.labels.len() {
            if let Some(&Some(to)) = self.labels.get(label) {
                self.edge(from, to, EdgeKind::Unknown, when);
            }
        }
    }

    /// To unknown targets.
    fn unknown_from(&mut self, from: BlockId, when: Option<bool>) {
        self.returns(from);
        if !self.dispatch_unknown {
            self.all_from(from, when);
            return;
        }
        let dispatch = match self.unknown {
            Some(dispatch) => dispatch,
            None => self.dispatch_block(None),
        };
        self.unknown = Some(dispatch);
        self.edge(from, dispatch, EdgeKind::Unknown, when);
    }

    /// To the labels of a table, and to unknown targets if one of them is not recognized.
    fn table_from(&mut self, from: BlockId, table: LabelId, when: Option<bool>) {
        let mut recognized = true;
        let targets = self.names.targets(self.facts, table);
        for (number, label) in (0u32..).zip(targets) {
            let to = label.and_then(|l| self.labels.get(l.index()).copied().flatten());
            match to {
                Some(to) => self.edge(from, to, EdgeKind::Table(number), when),
                None => recognized = false,
            }
        }
        if !recognized {
            self.unknown_from(from, when);
        }
    }
}
