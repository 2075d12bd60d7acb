//! The terms that a function computes.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_ir::facts::{Facts, Flow, FunctionFacts, ModuleFacts, RegAccess, Space};
use ptx_ir::{
    Body, EntityId as _, FuncId, FunctionKind, Inst, InstId, LabelId, Operand, RegId, Statement,
    StmtId,
};
use ptx_isa::{Access, ScalarType, StateSpace};
use ptx_semantics::fold::{commutes, is_copy};
use smallvec::SmallVec;

use crate::code::Writer;
use crate::names::Numbers;
use crate::token::{Kind, Token, mix};

/// The number of a term.
pub(super) type Id = u32;

/// The registers that an instruction writes, with their types; `None` for `_`.
type Written = SmallVec<[Option<(u32, Token)>; 2]>;

/// The carry flag, which is treated as a register.
pub(super) const CARRY: u32 = u32::MAX;

/// What the tokens of a term begin with, where they are not an operand.
#[derive(Copy, Clone)]
enum Tag {
    /// An instruction.
    Instruction,
    /// A result of an instruction.
    Result,
    /// What a guarded instruction leaves: the guard, the new value, the old value.
    Choice,
    /// A result of an effect.
    Outcome,
    /// An operand of an instruction.
    Operand,
    /// The carry flag.
    Carry,
}

/// A value: a register at the beginning of a sequence, or an operation on other terms.
pub(super) enum Term {
    Register {
        sequence: u32,
        register: u32,
        /// Its type.
        shape: Token,
    },
    Operation {
        tokens: Vec<Token>,
        parts: Vec<Id>,
        /// Whether the first two parts may change places.
        commutes: bool,
    },
}

/// Code without jumps into it or out of it, but for its end.
#[derive(Default)]
pub(super) struct Sequence {
    pub(super) effects: Vec<Id>,
    /// The registers that it writes, with their values at its end.
    pub(super) end: HashMap<u32, Id>,
    /// The sequences before it, in ascending order.
    pub(super) before: Vec<u32>,
    /// Whether the function begins here.
    pub(super) is_entry: bool,
}

/// All terms of a function, parts before what they are part of.
#[derive(Default)]
pub(crate) struct Terms {
    pub(super) terms: Vec<Term>,
    pub(super) sequences: Vec<Sequence>,
    /// The sequence of each statement.
    of_statement: Vec<u32>,
    /// The terms of registers at the beginning of sequences.
    registers: HashMap<(u32, u32), Id>,
}

impl Terms {
    /// The terms of a function; `None` if something in it is not recognized. Linear in its length.
    pub(crate) fn new(facts: &ModuleFacts<'_>, id: FuncId, numbers: &Numbers) -> Option<Self> {
        let module = facts.module();
        let (function, facts) = (module.functions().get(id)?, facts.function(id)?);
        let interface = function.interface;
        let lists = [interface.params, interface.returns].into_iter();
        let mut params = lists.flat_map(|list| list.of(module.params()));
        if params.any(|p| p.space == StateSpace::Reg) {
            return None;
        }
        let writer = Writer::of_function(module, id, numbers)?;
        let is_kernel = function.kind == FunctionKind::Entry;
        let cfg = Cfg::new(facts);
        let sequences = Sequences::new(facts, &cfg)?;
        let mut builder = Builder {
            facts,
            cfg: &cfg,
            writer,
            is_kernel,
            sequences: &sequences,
            now: 0,
            terms: Self::default(),
        };
        let mut firsts: HashMap<StmtId, u32> = HashMap::new();
        for (now, blocks) in sequences.blocks.iter().enumerate() {
            builder.now = now as u32;
            let first = blocks.first().and_then(|b| cfg.block(*b));
            firsts.extend(first.map(|b| (b.first, now as u32)));
            builder.terms.sequences.push(Sequence {
                before: sequences.before(&cfg, now),
                is_entry: now == 0,
                ..Sequence::default()
            });
            for block in blocks {
                let block = cfg.block(*block)?;
                for (stmt, statement) in facts.body().range(block.first, block.end) {
                    builder.statement(stmt, statement)?;
                }
            }
        }
        let mut terms = builder.terms;
        terms.of_statement = of_statements(facts.body(), &firsts);
        Some(terms)
    }

    /// The sequence that a statement is in.
    pub(super) fn sequence_of(&self, stmt: StmtId) -> usize {
        let sequence = self.of_statement.get(stmt.index());
        sequence.map_or(0, |s| *s as usize)
    }

    fn add(&mut self, term: Term) -> Id {
        self.terms.push(term);
        self.terms.len() as Id - 1
    }

    /// The value of a register at the beginning of a sequence.
    fn at_begin(&mut self, sequence: u32, register: u32, shape: Token) -> Id {
        let next = self.terms.len() as Id;
        let id = *self.registers.entry((sequence, register)).or_insert(next);
        if id == next {
            self.terms.push(Term::Register {
                sequence,
                register,
                shape,
            });
        }
        id
    }

    /// The value of a register at the end of a sequence.
    pub(super) fn at_end(&mut self, sequence: u32, register: u32, shape: Token) -> Id {
        let written = self.sequences.get(sequence as usize);
        let written = written.and_then(|s| s.end.get(&register).copied());
        written.unwrap_or_else(|| self.at_begin(sequence, register, shape))
    }

    /// Hashes of terms, for which registers are distinguished by what is written to them. Equal terms of equal functions have
    /// equal hashes, whatever registers are called.
    pub(super) fn hashes(&self) -> Vec<u64> {
        let mut of_register: HashMap<u32, u64> = HashMap::new();
        let mut hashes = Vec::new();
        for _ in 0..3 {
            hashes = self.hashes_with(&of_register);
            let mut next: HashMap<u32, u64> = HashMap::new();
            for (at, sequence) in self.sequences.iter().enumerate() {
                for (register, value) in &sequence.end {
                    let hash = hashes.get(*value as usize).copied().unwrap_or(0);
                    let sum = next.entry(*register).or_insert(0);
                    *sum = sum.wrapping_add(mix(at as u64, hash));
                }
            }
            of_register = next;
        }
        hashes
    }

    fn hashes_with(&self, of_register: &HashMap<u32, u64>) -> Vec<u64> {
        let mut hashes: Vec<u64> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let hash = match term {
                Term::Register {
                    register, shape, ..
                } => mix(
                    shape.bits(),
                    of_register.get(register).copied().unwrap_or(1),
                ),
                Term::Operation {
                    tokens,
                    parts,
                    commutes,
                } => {
                    let hash = tokens.iter().fold(2, |hash, t| mix(hash, t.shape()));
                    let of = |id: &Id| hashes.get(*id as usize).copied().unwrap_or(0);
                    match parts.as_slice() {
                        [a, b, rest @ ..] if *commutes => {
                            let (a, b) = (of(a), of(b));
                            let both = mix(mix(hash, a.min(b)), a.max(b));
                            rest.iter().fold(both, |hash, part| mix(hash, of(part)))
                        }
                        _ => parts.iter().fold(hash, |hash, part| mix(hash, of(part))),
                    }
                }
            };
            hashes.push(hash);
        }
        hashes
    }
}

/// The sequence of each statement, by the first statements of the sequences. Edits place statements in any order of their ids.
fn of_statements(body: &Body, firsts: &HashMap<StmtId, u32>) -> Vec<u32> {
    let mut found = vec![0; body.statement_table().len()];
    let mut now = 0;
    for (stmt, _) in body.statements() {
        now = firsts.get(&stmt).copied().unwrap_or(now);
        if let Some(sequence) = found.get_mut(stmt.index()) {
            *sequence = now;
        }
    }
    found
}

/// Which blocks are one sequence.
struct Sequences {
    blocks: Vec<Vec<BlockId>>,
    /// The sequence of each block.
    of_block: HashMap<u32, u32>,
}

impl Sequences {
    /// A block continues the one before it in the text if nothing else leads to it and no jump does. `None` if a block may go
    /// anywhere.
    fn new(facts: FunctionFacts<'_>, cfg: &Cfg) -> Option<Self> {
        let mut all = Self {
            blocks: Vec::new(),
            of_block: HashMap::new(),
        };
        let mut last: Option<BlockId> = None;
        for (id, block) in cfg.blocks().filter(|(_, b)| !b.is_dispatch) {
            if block.unknown {
                return None;
            }
            let continues = last.is_some_and(|last| {
                cfg.predecessors(id) == [last]
                    && cfg.successors(last) == [id]
                    && cfg
                        .block(last)
                        .is_some_and(|b| !b.exits && !jumps(facts, b.first, b.end))
            });
            match all.blocks.last_mut() {
                Some(blocks) if continues => blocks.push(id),
                _ => all.blocks.push(vec![id]),
            }
            all.of_block
                .insert(id.as_u32(), all.blocks.len() as u32 - 1);
            last = Some(id);
        }
        Some(all)
    }

    /// The sequences from which control comes to one.
    fn before(&self, cfg: &Cfg, sequence: usize) -> Vec<u32> {
        let first = self.blocks.get(sequence).and_then(|blocks| blocks.first());
        let mut found = Vec::new();
        let mut open: Vec<BlockId> = first
            .map(|b| cfg.predecessors(*b).to_vec())
            .unwrap_or_default();
        while let Some(block) = open.pop() {
            match self.of_block.get(&block.as_u32()) {
                Some(sequence) => found.push(*sequence),
                // The block of a table of labels.
                None => open.extend(cfg.predecessors(block)),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whether the last instruction jumps.
fn jumps(facts: FunctionFacts<'_>, first: StmtId, end: StmtId) -> bool {
    let mut instructions = facts.body().range(first, end).filter_map(|(_, s)| match s {
        Statement::Inst(inst) => Some(inst),
        _ => None,
    });
    instructions
        .next_back()
        .is_some_and(|inst| !matches!(facts.inst(inst).flow(), Flow::Next | Flow::Call))
}

struct Builder<'a> {
    facts: FunctionFacts<'a>,
    cfg: &'a Cfg,
    writer: Writer<'a>,
    is_kernel: bool,
    sequences: &'a Sequences,
    /// The current sequence.
    now: u32,
    terms: Terms,
}

impl<'a> Builder<'a> {
    fn statement(&mut self, stmt: StmtId, statement: Statement) -> Option<()> {
        match statement {
            Statement::Inst(id) => self.instruction(id),
            Statement::Opaque(_) | Statement::Function(_) => None,
            // What a table says is part of the instruction that names it.
            Statement::Directive(_) => {
                let body = self.facts.body();
                let mut operands = body.walk(statement);
                let tokens = self.writer.of_statement(stmt, statement);
                if !tokens.is_empty() && !operands.any(|o| matches!(o, Operand::Label(_))) {
                    self.effect(tokens, Vec::new());
                }
                Some(())
            }
            _ => Some(()),
        }
    }

    fn instruction(&mut self, id: InstId) -> Option<()> {
        let (body, f) = (self.facts.body(), self.facts.inst(id));
        let inst = body.inst(id)?;
        if !f.is_known() {
            return None;
        }
        let mnemonic = self.writer.mnemonic(inst.sig);
        let carry = tag(Tag::Carry, 0);
        let operands = body.operands(id);
        // With the guard.
        let (mut tokens, mut parts) = (
            Vec::with_capacity(operands.len() + 3),
            Vec::with_capacity(operands.len() + 1),
        );
        tokens.extend([tag(Tag::Instruction, 0), mnemonic]);
        let (mut sources, mut written) = (SmallVec::<[Operand; 4]>::new(), Written::new());
        for (index, operand) in operands.iter().enumerate() {
            let of_operand = self.writer.of_operand(*operand);
            let has_register = of_operand
                .iter()
                .any(|t| t.renamed().is_some_and(|(k, _)| k == 0));
            let is_sink = of_operand.iter().any(|t| t.is_sink());
            let usage = match f.usage(index) {
                None if has_register => return None,
                // A variable that a call writes.
                Some(_) if !has_register && !is_sink => RegAccess::Read,
                usage => usage.unwrap_or(RegAccess::Read),
            };
            if usage.reads() {
                tokens.push(tag(Tag::Operand, index as u32));
                parts.push(self.operand(&of_operand)?);
                sources.push(*operand);
            }
            match usage {
                RegAccess::Read => {}
                RegAccess::Write | RegAccess::ReadWrite => results(&of_operand, &mut written)?,
                _ => return None,
            }
            self.writer.reuse(of_operand);
        }
        if f.reads_carry() {
            parts.push(self.read(CARRY, carry));
        }
        if f.writes_carry() {
            written.push(Some((CARRY, carry)));
        }
        let guard = match f.guard() {
            None => None,
            Some(guard) => {
                let predicate = self.writer.of_operand(body.pool().get(guard.predicate));
                Some((self.operand(&predicate)?, guard.sense.is_negated()))
            }
        };
        if !self.is_pure(&f) {
            // The guard decides whether there is an effect.
            if let Some((predicate, negated)) = guard {
                tokens.push(tag(Tag::Choice, negated.into()));
                parts.push(predicate);
            }
            let number = self.effect(tokens, parts);
            let outcome = [tag(Tag::Outcome, self.now), tag(Tag::Outcome, number)];
            self.write(&written, guard, &outcome, &[]);
            return Some(());
        }
        if let Some(value) = self.copied(inst, &sources, &written, &parts) {
            let [Some((register, shape))] = written[..] else {
                return None;
            };
            let value = self.guarded(value, register, shape, guard);
            self.set(register, value);
            return Some(());
        }
        let signature = self.facts.module().signature(inst.sig);
        let modifiers: SmallVec<[_; 8]> = signature.modifiers().collect();
        let commutes = commutes(signature.opcode()?, &modifiers);
        let made = self.terms.add(Term::Operation {
            tokens,
            parts,
            commutes,
        });
        self.write(&written, guard, &[], &[made]);
        Some(())
    }

    /// Whether the results depend on the operands only, and nothing else happens.
    fn is_pure(&self, f: &Facts<'_>) -> bool {
        let body = self.facts.body();
        // A kernel cannot write its parameters, and nothing writes constant memory.
        let is_constant = |access: ptx_ir::facts::MemoryAccess| {
            let of_kernel = match access.base {
                Some(Operand::Var(id)) => body.vars().get(id).is_some_and(|v| v.stmt.is_none()),
                _ => false,
            };
            access.access == Access::Read
                && match access.space {
                    Space::State(StateSpace::Const) => true,
                    Space::State(space) => {
                        space.base() == StateSpace::Param && of_kernel && self.is_kernel
                    }
                    _ => false,
                }
        };
        f.may_be_duplicated()
            && f.flow() == Flow::Next
            && f.asynchronous().is_empty()
            && f.memory().all(is_constant)
    }

    /// The source of an instruction that copies a register to one of the same width.
    fn copied(
        &self,
        inst: &Inst,
        sources: &[Operand],
        written: &Written,
        parts: &[Id],
    ) -> Option<Id> {
        let signature = self.facts.module().signature(inst.sig);
        let ([Operand::Reg(source)], [Some((register, _))], [part]) =
            (sources, &written[..], parts)
        else {
            return None;
        };
        let bits = |register: RegId| {
            let decl = self.facts.body().reg_decl_of(register)?;
            (decl.vector <= 1).then_some(decl.ty.known()?.bits())
        };
        let width = signature.types().next().map(ScalarType::bits);
        let target = bits(RegId::new(*register));
        let same = bits(*source) == target && width == target && target.is_some();
        (is_copy(signature.opcode()?) && same).then_some(*part)
    }

    // --- operands ---

    /// The term of an operand: that of a register, or one made of all the registers in it.
    fn operand(&mut self, tokens: &[Token]) -> Option<Id> {
        if let [token] = tokens
            && let Some((0, register)) = token.renamed()
        {
            return Some(self.read(register, shape(*token)));
        }
        let (mut found, mut parts) = (vec![tag(Tag::Operand, u32::MAX)], Vec::new());
        for token in tokens {
            match token.renamed() {
                Some((0, register)) => {
                    parts.push(self.read(register, shape(*token)));
                    found.push(shape(*token));
                }
                Some((1, label)) => self.label(LabelId::new(label), &mut found)?,
                _ => found.push(*token),
            }
        }
        Some(self.terms.add(Term::Operation {
            tokens: found,
            parts,
            commutes: false,
        }))
    }

    /// A label as the sequence that it begins, or as those of its table.
    fn label(&self, label: LabelId, found: &mut Vec<Token>) -> Option<()> {
        let sequence = |label: LabelId| {
            let block = self.cfg.of_label(label)?;
            let sequence = *self.sequences.of_block.get(&block.as_u32())?;
            let first = self.sequences.blocks.get(sequence as usize)?.first()?;
            (*first == block).then(|| Token::new(Kind::Paired, 1, sequence))
        };
        match self.facts.table(label) {
            Some(table) => {
                found.push(Token::new(Kind::Paired, 2, table.len() as u32));
                for operand in table {
                    let Operand::Label(label) = operand else {
                        return None;
                    };
                    found.push(sequence(*label)?);
                }
            }
            None => found.push(sequence(label)?),
        }
        Some(())
    }

    // --- registers and effects ---

    fn read(&mut self, register: u32, shape: Token) -> Id {
        self.terms.at_end(self.now, register, shape)
    }

    fn set(&mut self, register: u32, value: Id) {
        if let Some(sequence) = self.terms.sequences.get_mut(self.now as usize) {
            sequence.end.insert(register, value);
        }
    }

    /// Adds an effect and gives its number in the sequence.
    fn effect(&mut self, tokens: Vec<Token>, parts: Vec<Id>) -> u32 {
        let id = self.terms.add(Term::Operation {
            tokens,
            parts,
            commutes: false,
        });
        let now = self.now;
        let Some(sequence) = self.terms.sequences.get_mut(now as usize) else {
            return 0;
        };
        sequence.effects.push(id);
        sequence.effects.len() as u32
    }

    /// What a guarded instruction leaves in a register.
    fn guarded(&mut self, new: Id, register: u32, shape: Token, guard: Option<(Id, bool)>) -> Id {
        let Some((predicate, negated)) = guard else {
            return new;
        };
        let old = self.read(register, shape);
        self.terms.add(Term::Operation {
            tokens: vec![tag(Tag::Choice, negated.into())],
            parts: vec![predicate, new, old],
            commutes: false,
        })
    }

    /// Writes results, which are made of the tokens and parts of their instruction; all are made before the first is written.
    fn write(
        &mut self,
        written: &Written,
        guard: Option<(Id, bool)>,
        tokens: &[Token],
        parts: &[Id],
    ) {
        let mut values: SmallVec<[_; 2]> = SmallVec::new();
        for (i, result) in (0..).zip(written) {
            let Some((register, shape)) = *result else {
                continue;
            };
            // The type of the register decides how the result is extended.
            let of_result = [tokens, &[tag(Tag::Result, i), shape]].concat();
            let new = self.terms.add(Term::Operation {
                tokens: of_result,
                parts: parts.to_vec(),
                commutes: false,
            });
            values.push((register, self.guarded(new, register, shape, guard)));
        }
        for (register, value) in values {
            self.set(register, value);
        }
    }
}

fn tag(tag: Tag, number: u32) -> Token {
    Token::new(Kind::Term, tag as u32, number)
}

/// The type of a register.
fn shape(register: Token) -> Token {
    register.with_number(Kind::Type, 0)
}

/// The registers in an operand that is written; `None` for anything else, such as a part of a register.
fn results(tokens: &[Token], written: &mut Written) -> Option<()> {
    for token in tokens {
        match token.renamed() {
            Some((0, register)) => written.push(Some((register, shape(*token)))),
            None if token.is_sink() => written.push(None),
            None if token.is_list() => {}
            _ => return None,
        }
    }
    Some(())
}
