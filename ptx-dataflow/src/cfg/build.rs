//! Finds the blocks of a function and the edges between them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts, Targets};
use ptx_ir::{EntityId, InstId, LabelId, Operand, Statement, StmtId};
use ptx_isa::Directive;

use super::{Block, BlockId, Edge, EdgeKind};
use crate::tables::{self, Tables};

/// The end of a block.
#[derive(Copy, Clone)]
enum End {
    /// The next block begins.
    Next,
    /// An instruction that may leave the block.
    Inst(InstId),
    /// A statement that was not recognized.
    Opaque,
}

/// Finds the blocks of a function, then their edges.
pub(super) fn build(facts: FunctionFacts<'_>) -> Builder<'_> {
    let mut builder = Builder::new(facts);
    builder.split();
    builder.connect();
    builder.join_at_unused_labels();
    builder
}

/// The blocks and edges of a function.
pub(super) struct Builder<'a> {
    facts: FunctionFacts<'a>,
    pub(super) blocks: Vec<Block>,
    /// The end of each block with statements.
    ends: Vec<End>,
    pub(super) edges: Vec<Edge>,
    /// The first edge of each block, and after the last block the number of edges.
    pub(super) starts: Vec<u32>,
    /// The blocks of labels.
    pub(super) labels: Vec<Option<BlockId>>,
    /// The number of blocks with statements. Dispatch blocks follow them.
    block_count: usize,
    /// The uses of tables.
    tables: BTreeMap<LabelId, TableUses>,
    /// The number of blocks that end in a jump with unknown targets.
    unknown_jumps: usize,
    /// Tables that several jumps share get dispatch blocks.
    dispatches_tables: bool,
    /// Jumps with unknown targets share a dispatch block.
    dispatches_unknown: bool,
    /// The dispatch block of jumps with unknown targets.
    unknown_dispatch: Option<BlockId>,
    /// The table of each dispatch block; `None` for the block that leads to all labels.
    dispatch_tables: Vec<Option<LabelId>>,
    targets: Tables<'a>,
}

/// The jumps that use a table.
#[derive(Copy, Clone)]
struct TableUses {
    count: usize,
    /// All entries of the table are labels.
    is_recognized: bool,
    /// The dispatch block of the table.
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
            block_count: 0,
            tables: BTreeMap::new(),
            unknown_jumps: 0,
            dispatches_tables: false,
            dispatches_unknown: false,
            unknown_dispatch: None,
            dispatch_tables: Vec::new(),
            targets: Tables::default(),
        }
    }

    /// Divides the statements into blocks.
    fn split(&mut self) {
        let body = self.facts.body();
        let last = StmtId::from_index(body.statement_table().len());
        let mut first = body.statements().next().map_or(last, |(id, _)| id);
        let mut label = None;
        let mut has_insts = false;
        for (stmt, statement) in body.statements() {
            let end = match statement {
                Statement::Label(id) => {
                    if self.is_table_label(stmt) {
                        continue;
                    }
                    if label.is_some() || has_insts {
                        self.push_block(first, stmt, label, End::Next);
                        (first, has_insts) = (stmt, false);
                    }
                    label = Some(id);
                    if let Some(entry) = self.labels.get_mut(id.index()) {
                        *entry = Some(BlockId::from_index(self.blocks.len()));
                    }
                    continue;
                }
                Statement::Inst(id) => {
                    has_insts = true;
                    let facts = self.facts.inst(id);
                    match facts.flow() {
                        Flow::Next => continue,
                        Flow::Call if !facts.never_returns() => continue,
                        _ => self.count_targets(&facts),
                    }
                    End::Inst(id)
                }
                Statement::Opaque(_) => {
                    self.unknown_jumps += 1;
                    End::Opaque
                }
                _ => continue,
            };
            let next = body.after(stmt).unwrap_or(last);
            self.push_block(first, next, label, end);
            (first, label, has_insts) = (next, None, false);
        }
        if label.is_some() || has_insts || self.blocks.is_empty() {
            self.push_block(first, last, label, End::Next);
        } else if let Some(block) = self.blocks.last_mut() {
            // The statements after the last instruction have no effects.
            block.end = last;
        }
        self.block_count = self.blocks.len();
        self.limit_edges();
    }

    /// Decides which jumps get dispatch blocks, so that the number of edges is linear in the statements.
    fn limit_edges(&mut self) {
        let body = self.facts.body();
        let budget = 8 * body.statement_table().len() + 1024;
        let table_edges = self
            .tables
            .iter()
            .map(|(&label, uses)| {
                let list = self.facts.table(label).unwrap_or_default();
                uses.count.saturating_mul(tables::size(body, list))
            })
            .fold(0usize, usize::saturating_add);
        let unknown_edges = self.unknown_jumps.saturating_mul(body.labels().len());
        self.dispatches_tables = table_edges > budget;
        self.dispatches_unknown = unknown_edges > budget;
    }

    fn push_block(&mut self, first: StmtId, end: StmtId, label: Option<LabelId>, block_end: End) {
        self.blocks.push(Block {
            first,
            end,
            label,
            exits: false,
            returns: false,
            unknown: false,
            is_dispatch: false,
        });
        self.ends.push(block_end);
    }

    /// Returns whether the label at `stmt` names a table instead of a position in the code.
    fn is_table_label(&self, stmt: StmtId) -> bool {
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

    /// Counts a jump through a table, or with unknown targets.
    fn count_targets(&mut self, facts: &Facts<'_>) {
        match facts.targets() {
            Targets::List(list) => {
                let uses = self.tables.entry(list.label).or_insert_with(|| TableUses {
                    count: 0,
                    is_recognized: list
                        .operands
                        .iter()
                        .all(|o| matches!(o, Operand::Label(_) | Operand::Range(_))),
                    dispatch: None,
                });
                uses.count += 1;
                self.unknown_jumps += usize::from(!uses.is_recognized);
            }
            Targets::Unknown => self.unknown_jumps += 1,
            _ => {}
        }
    }

    /// Adds the edges, by their sources. Dispatch blocks come after the blocks with statements.
    fn connect(&mut self) {
        for index in 0..self.block_count {
            self.starts.push(self.edges.len() as u32);
            let from = BlockId::from_index(index);
            match self.ends.get(index) {
                Some(&End::Inst(inst)) => self.connect_inst(from, inst),
                Some(End::Opaque) => {
                    self.update(from, |b| b.unknown = true);
                    self.connect_to_unknown(from, None);
                    self.connect_to_next(from, None);
                }
                _ => self.connect_to_next(from, None),
            }
        }
        // A dispatch block whose table is not recognized may add another one.
        let mut index = 0;
        while let Some(&table) = self.dispatch_tables.get(index) {
            self.starts.push(self.edges.len() as u32);
            let dispatch = BlockId::from_index(self.block_count + index);
            index += 1;
            match table {
                Some(label) => self.connect_to_table(dispatch, label, None),
                None => self.connect_to_all(dispatch, None),
            }
        }
        self.starts.push(self.edges.len() as u32);
    }

    /// Adds the edges of a block that ends with an instruction.
    fn connect_inst(&mut self, from: BlockId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let condition = facts.guard_register().map(|(_, sense)| sense.holds(true));
        match facts.flow() {
            Flow::Next => {}
            Flow::Unknown => {
                self.update(from, |b| b.unknown = true);
                self.connect_to_unknown(from, None);
            }
            Flow::Return => self.set_returns(from),
            Flow::Exit | Flow::Trap | Flow::Call => self.update(from, |b| b.exits = true),
            _ => match facts.targets() {
                Targets::Label(label) => match self.labels.get(label.index()) {
                    Some(&Some(to)) => self.edge(from, to, EdgeKind::Jump, condition),
                    _ => self.connect_to_unknown(from, condition),
                },
                Targets::List(list) => {
                    let uses = self.tables.get(&list.label).copied();
                    match uses.filter(|uses| uses.count > 1 && self.dispatches_tables) {
                        Some(uses) => {
                            let dispatch = self.table_dispatch(list.label, uses);
                            self.edge(from, dispatch, EdgeKind::Table(0), condition);
                        }
                        None => self.connect_to_table(from, list.label, condition),
                    }
                }
                _ => self.connect_to_unknown(from, condition),
            },
        }
        if facts.falls_through() {
            self.connect_to_next(from, condition.map(|holds| !holds));
        }
    }

    fn update(&mut self, block: BlockId, change: impl FnOnce(&mut Block)) {
        if let Some(block) = self.blocks.get_mut(block.index()) {
            change(block);
        }
    }

    fn set_returns(&mut self, block: BlockId) {
        self.update(block, |b| (b.exits, b.returns) = (true, true));
    }

    fn edge(&mut self, from: BlockId, to: BlockId, kind: EdgeKind, when: Option<bool>) {
        self.edges.push(Edge {
            from,
            to,
            kind,
            when,
        });
    }

    /// Adds the edge to the following block. The last block returns instead.
    fn connect_to_next(&mut self, from: BlockId, when: Option<bool>) {
        if from.index() + 1 < self.block_count {
            self.edge(from, BlockId(from.0 + 1), EdgeKind::Next, when);
        } else {
            self.set_returns(from);
        }
    }

    /// The dispatch block of a table.
    fn table_dispatch(&mut self, table: LabelId, mut uses: TableUses) -> BlockId {
        let dispatch = uses
            .dispatch
            .unwrap_or_else(|| self.push_dispatch_block(Some(table)));
        uses.dispatch = Some(dispatch);
        self.tables.insert(table, uses);
        dispatch
    }

    fn push_dispatch_block(&mut self, table: Option<LabelId>) -> BlockId {
        let end = StmtId::from_index(self.facts.body().statement_table().len());
        let id = BlockId::from_index(self.blocks.len());
        self.push_block(end, end, None, End::Next);
        self.update(id, |b| b.is_dispatch = true);
        self.dispatch_tables.push(table);
        id
    }

    /// Adds the edges to all labels. The block may also return.
    fn connect_to_all(&mut self, from: BlockId, when: Option<bool>) {
        self.set_returns(from);
        for label in 0..self.labels.len() {
            if let Some(&Some(to)) = self.labels.get(label) {
                self.edge(from, to, EdgeKind::Unknown, when);
            }
        }
    }

    /// Adds the edges of a jump with unknown targets.
    fn connect_to_unknown(&mut self, from: BlockId, when: Option<bool>) {
        self.set_returns(from);
        if !self.dispatches_unknown {
            self.connect_to_all(from, when);
            return;
        }
        let dispatch = match self.unknown_dispatch {
            Some(dispatch) => dispatch,
            None => self.push_dispatch_block(None),
        };
        self.unknown_dispatch = Some(dispatch);
        self.edge(from, dispatch, EdgeKind::Unknown, when);
    }

    /// Adds the edges to the labels of a table, and to unknown targets if an entry is not recognized.
    fn connect_to_table(&mut self, from: BlockId, table: LabelId, when: Option<bool>) {
        let mut is_recognized = true;
        let targets = self.targets.targets(self.facts, table);
        for (number, label) in (0u32..).zip(targets) {
            match label.and_then(|label| *self.labels.get(label.index())?) {
                Some(to) => self.edge(from, to, EdgeKind::Table(number), when),
                None => is_recognized = false,
            }
        }
        if !is_recognized {
            self.connect_to_unknown(from, when);
        }
    }

    /// Joins blocks with the blocks before them that only lead there: nothing jumps to their labels, which, for example, only debug information uses.
    fn join_at_unused_labels(&mut self) {
        let mut has_predecessors = vec![false; self.blocks.len()];
        for edge in &self.edges {
            let is_next = edge.kind == EdgeKind::Next && edge.when.is_none();
            let ends_there = matches!(self.ends.get(edge.from.index()), Some(End::Next));
            if (!is_next || !ends_there)
                && let Some(entry) = has_predecessors.get_mut(edge.to.index())
            {
                *entry = true;
            }
        }
        let is_joined = |index: usize| {
            let follows = index > 0 && index < self.block_count;
            let leads = follows && matches!(self.ends.get(index - 1), Some(End::Next));
            leads && has_predecessors.get(index) == Some(&false)
        };
        if !(0..self.block_count).any(is_joined) {
            return;
        }
        // The number of each block after blocks are joined.
        let mut numbers = Vec::with_capacity(self.blocks.len());
        let mut count = 0u32;
        for index in 0..self.blocks.len() {
            count += u32::from(!is_joined(index));
            numbers.push(BlockId(count.saturating_sub(1)));
        }
        self.renumber(&numbers);
    }

    /// Gives blocks new numbers. Successive blocks with the same number become one, without the edges between them.
    fn renumber(&mut self, numbers: &[BlockId]) {
        let number = |id: BlockId| numbers.get(id.index()).copied().unwrap_or(id);
        let mut blocks: Vec<Block> = Vec::new();
        for (block, &id) in self.blocks.iter().zip(numbers) {
            match blocks.get_mut(id.index()) {
                Some(joined) => {
                    *joined = Block {
                        first: joined.first,
                        label: joined.label,
                        ..*block
                    }
                }
                None => blocks.push(*block),
            }
        }
        self.blocks = blocks;
        let mut edges: Vec<Edge> = Vec::with_capacity(self.edges.len());
        let mut starts = Vec::with_capacity(self.blocks.len() + 1);
        for edge in &self.edges {
            let (from, to) = (number(edge.from), number(edge.to));
            // A block that continues with the next one is not its own successor.
            if from == to && edge.kind == EdgeKind::Next {
                continue;
            }
            while starts.len() <= from.index() {
                starts.push(edges.len() as u32);
            }
            edges.push(Edge { from, to, ..*edge });
        }
        starts.resize(self.blocks.len() + 1, edges.len() as u32);
        (self.edges, self.starts) = (edges, starts);
        let is_joined = |id: BlockId| {
            let previous = id.index().checked_sub(1).map(BlockId::from_index);
            previous.is_some_and(|previous| number(previous) == number(id))
        };
        for entry in &mut self.labels {
            *entry = entry.filter(|id| !is_joined(*id)).map(number);
        }
    }
}
