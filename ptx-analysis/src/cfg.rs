//! The control-flow graph of a function.
//!
//! A block is a run of statements that is entered at its start and left at its end: it begins at a label or behind an
//! instruction that may go elsewhere. Calls stay inside of a block unless they never return. Unreachable code has
//! blocks like any other.
//!
//! Where control may go is what the facts say. A jump to a table has an edge for each of its labels. Of what is not
//! known (a statement that was not understood, a table that is missing) every label of the function is a target, and
//! so is the way out.
//!
//! Where many jumps share large tables, or many unknowns meet many labels, the edges would multiply. Beyond a few edges
//! for each statement they go through blocks without statements instead, *hubs*: one for each shared table, one for all
//! unknowns. A hub changes neither what is reached nor what dominates what.
//!
//! Cost: linear in statements and edges.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts, RegLane, Targets};
use ptx_ir::{Body, EntityId, InstId, LabelId, Operand, Statement, StmtId};

use ptx_isa::Directive;

use crate::graph::{Csr, Graph};
use crate::ranges::{self, Names};

/// A block of a [`Cfg`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(u32);

impl BlockId {
    /// The id of position `index`.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The position this id stands for.
    pub const fn as_u32(self) -> u32 {
        self.0
    }
}

impl EntityId for BlockId {
    fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why control may go along an edge.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EdgeKind {
    /// The next statement follows.
    Next,
    /// A jump to a label.
    Jump,
    /// The entry of a table with this number.
    Table(u32),
    /// It is not known that control does not go there.
    Unknown,
}

/// A way from one block to another.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// Where it comes from.
    pub from: BlockId,
    /// Where it goes.
    pub to: BlockId,
    /// Why.
    pub kind: EdgeKind,
    /// The value that the guard of the last instruction of `from` must have; `None` where there is no guard.
    pub when: Option<bool>,
}

/// A run of statements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its first statement.
    pub first: StmtId,
    /// One past its last statement.
    pub end: StmtId,
    /// The label it begins with.
    pub label: Option<LabelId>,
    /// Whether control may leave the function from here.
    pub exits: bool,
    /// Whether it may go back to the caller from here, who reads the results then: not where a thread ends.
    pub returns: bool,
    /// Whether its end was not understood.
    pub unknown: bool,
    /// Whether it has no statements and stands for the targets of several jumps.
    pub is_dispatch: bool,
}

/// The control-flow graph of a function. Its entry is block 0.
#[derive(Clone, Debug)]
pub struct Cfg {
    blocks: Vec<Block>,
    edges: Vec<Edge>,
    /// Where the edges of each block begin; they lie in order.
    starts: Vec<u32>,
    /// The edges into each block.
    into: Csr,
    /// The blocks behind each block, and before it.
    targets: Csr,
    sources: Csr,
    labels: Vec<Option<BlockId>>,
    /// The block of each statement, where edits changed their order.
    places: Vec<Option<BlockId>>,
}

impl Cfg {
    /// The entry of every function.
    pub const ENTRY: BlockId = BlockId(0);

    /// Builds the graph of a function.
    pub fn new(facts: FunctionFacts<'_>) -> Self {
        let mut builder = Builder::new(facts);
        builder.split();
        builder.connect();
        let Builder {
            blocks,
            edges,
            starts,
            labels,
            ..
        } = builder;
        let places = places(facts.body(), &blocks);
        let pairs = (0u32..).zip(&edges).map(|(i, e)| (e.to.0, i));
        let into = Csr::new(blocks.len(), pairs);
        let targets = edges.iter().map(|e| (e.from.0, e.to.0));
        let sources = edges.iter().map(|e| (e.to.0, e.from.0));
        let targets = Csr::new(blocks.len(), targets);
        let sources = Csr::new(blocks.len(), sources);
        Self {
            blocks,
            edges,
            starts,
            into,
            targets,
            sources,
            labels,
            places,
        }
    }

    /// How many blocks there are: at least one.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Every block with its id.
    pub fn blocks(
        &self,
    ) -> impl ExactSizeIterator<Item = (BlockId, &Block)> + DoubleEndedIterator + Clone {
        let blocks = self.blocks.iter().enumerate();
        blocks.map(|(i, b)| (BlockId::from_index(i), b))
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.index())
    }

    /// The edges out of a block.
    pub fn out(&self, id: BlockId) -> &[Edge] {
        let bound = |i: usize| self.starts.get(i).map_or(0, |&s| s as usize);
        let range = bound(id.index())..bound(id.index() + 1);
        self.edges.get(range).unwrap_or_default()
    }

    /// The edges into a block.
    pub fn into(&self, id: BlockId) -> impl ExactSizeIterator<Item = &Edge> + Clone {
        let edges = self.into.row(id.0).iter();
        edges.map(|&e| &self.edges[e as usize])
    }

    /// Every edge: those out of one block lie side by side.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Which of [`Cfg::edges`] lead out of a block.
    pub fn out_ids(&self, id: BlockId) -> core::ops::Range<u32> {
        let bound = |i: usize| self.starts.get(i).copied().unwrap_or(0);
        bound(id.index())..bound(id.index() + 1)
    }

    /// Which of [`Cfg::edges`] lead into a block, in the order of [`Cfg::into`].
    pub fn into_ids(&self, id: BlockId) -> &[u32] {
        self.into.row(id.0)
    }

    /// The block that a label begins; `None` for the label of a table.
    pub fn of_label(&self, label: LabelId) -> Option<BlockId> {
        *self.labels.get(label.index())?
    }

    /// The block a statement lies in.
    pub fn of_statement(&self, stmt: StmtId) -> Option<BlockId> {
        if !self.places.is_empty() {
            return *self.places.get(stmt.index())?;
        }
        let blocks = &self.blocks;
        let at = blocks.partition_point(|b| !b.is_dispatch && b.end.as_u32() <= stmt.as_u32());
        blocks.get(at).filter(|b| !b.is_dispatch)?;
        Some(BlockId::from_index(at))
    }
}

/// The block of each statement of an edited body.
fn places(body: &Body, blocks: &[Block]) -> Vec<Option<BlockId>> {
    if body.edits().is_none() {
        return Vec::new();
    }
    let mut places = alloc::vec![None; body.statement_table().len()];
    for (at, block) in blocks.iter().enumerate().filter(|(_, b)| !b.is_dispatch) {
        for (stmt, _) in body.range(block.first, block.end) {
            if let Some(place) = places.get_mut(stmt.index()) {
                *place = Some(BlockId::from_index(at));
            }
        }
    }
    places
}

impl Graph for Cfg {
    fn node_count(&self) -> u32 {
        self.blocks.len() as u32
    }
    fn entry(&self) -> u32 {
        Self::ENTRY.0
    }
    fn successors(&self, node: u32) -> &[u32] {
        self.targets.row(node)
    }
    fn predecessors(&self, node: u32) -> &[u32] {
        self.sources.row(node)
    }
    fn exits(&self, node: u32) -> bool {
        self.blocks.get(node as usize).is_some_and(|b| b.exits)
    }
}

/// How a block ends.
#[derive(Copy, Clone)]
enum End {
    /// Into the next one.
    Next,
    /// With an instruction.
    Inst(InstId),
    /// Nobody knows.
    Opaque,
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
    /// How many ends go anywhere.
    unknowns: usize,
    /// Whether tables, and whether unknowns have hubs.
    hubs_for: (bool, bool),
    unknown: Option<BlockId>,
    /// The table of each hub; `None` for all labels.
    hubs: Vec<Option<LabelId>>,
    names: Names<'a>,
}

#[derive(Copy, Clone, Default)]
struct Uses {
    count: usize,
    hub: Option<BlockId>,
}

impl<'a> Builder<'a> {
    fn new(facts: FunctionFacts<'a>) -> Self {
        Self {
            facts,
            blocks: Vec::new(),
            ends: Vec::new(),
            edges: Vec::new(),
            starts: Vec::new(),
            labels: alloc::vec![None; facts.body().labels().len()],
            real: 0,
            tables: BTreeMap::new(),
            unknowns: 0,
            hubs_for: (false, false),
            unknown: None,
            hubs: Vec::new(),
            names: Names::default(),
        }
    }

    /// Cuts the statements into blocks.
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
            // What stands behind the last instruction does nothing.
            block.end = last;
        }
        self.real = self.blocks.len();
        let budget = 8 * body.statement_table().len() + 1024;
        let edges = self.tables.iter().map(|(&label, uses)| {
            let list = self.facts.table(label).unwrap_or_default();
            uses.count.saturating_mul(ranges::size(body, list))
        });
        let edges = edges.fold(0usize, usize::saturating_add);
        let unknown = self.unknowns.saturating_mul(body.labels().len());
        self.hubs_for = (edges > budget, unknown > budget);
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

    /// Whether the label at `stmt` names a table and not a place in the code.
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
                self.tables.entry(list.label).or_default().count += 1;
                let understood = |o: &Operand| matches!(o, Operand::Label(_) | Operand::Range(_));
                self.unknowns += usize::from(!list.operands.iter().all(understood));
            }
            Targets::Unknown => self.unknowns += 1,
            _ => {}
        }
    }

    /// Draws the edges; hubs are added behind the blocks with statements, and their edges last.
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
        // A hub whose table is not understood may make one more.
        let mut nth = 0;
        while let Some(&table) = self.hubs.get(nth) {
            self.starts.push(self.edges.len() as u32);
            let hub = BlockId::from_index(self.real + nth);
            nth += 1;
            match table {
                Some(label) => self.table_from(hub, label, None),
                None => self.all_from(hub, None),
            }
        }
        self.starts.push(self.edges.len() as u32);
    }

    fn connect_inst(&mut self, from: BlockId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let guard: Option<(RegLane, bool)> = facts.guard_register();
        let taken = guard.map(|(_, negated)| !negated);
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
                    let uses = self.tables.get(&list.label).copied().unwrap_or_default();
                    if uses.count > 1 && self.hubs_for.0 {
                        let hub = uses
                            .hub
                            .unwrap_or_else(|| self.dispatch_block(Some(list.label)));
                        self.tables.entry(list.label).or_default().hub = Some(hub);
                        self.edge(from, hub, EdgeKind::Table(0), taken);
                    } else {
                        self.table_from(from, list.label, taken);
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

    /// To the block behind; from the last one out of the function.
    fn next(&mut self, from: BlockId, when: Option<bool>) {
        if from.index() + 1 < self.real {
            self.edge(from, BlockId(from.0 + 1), EdgeKind::Next, when);
        } else {
            self.returns(from);
        }
    }

    fn dispatch_block(&mut self, table: Option<LabelId>) -> BlockId {
        let end = StmtId::from_index(self.facts.body().statement_table().len());
        let id = BlockId::from_index(self.blocks.len());
        self.close(end, end, None, End::Next);
        self.set(id, |b| b.is_dispatch = true);
        self.hubs.push(table);
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

    /// Anywhere.
    fn unknown_from(&mut self, from: BlockId, when: Option<bool>) {
        self.returns(from);
        if !self.hubs_for.1 {
            self.all_from(from, when);
            return;
        }
        let hub = match self.unknown {
            Some(hub) => hub,
            None => self.dispatch_block(None),
        };
        self.unknown = Some(hub);
        self.edge(from, hub, EdgeKind::Unknown, when);
    }

    /// To the labels of a table, and anywhere if one of them is not understood.
    fn table_from(&mut self, from: BlockId, table: LabelId, when: Option<bool>) {
        let mut understood = true;
        let targets = self.names.targets(self.facts, table);
        for (number, label) in (0u32..).zip(targets) {
            let to = label.and_then(|l| self.labels.get(l.index()).copied().flatten());
            match to {
                Some(to) => self.edge(from, to, EdgeKind::Table(number), when),
                None => understood = false,
            }
        }
        if !understood {
            self.unknown_from(from, when);
        }
    }
}
