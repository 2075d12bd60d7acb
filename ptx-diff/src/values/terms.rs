//! The terms that a function computes.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_ir::facts::{Facts, Flow, FunctionFacts, MemoryAccess, ModuleFacts, RegAccess, Space};
use ptx_ir::{
    Body, EntityId as _, FuncId, FunctionKind, Guard, Inst, InstId, LabelId, Operand, RegId,
    Statement, StmtId,
};
use ptx_isa::{Access, ScalarType, StateSpace};
use ptx_semantics::internals::{commutes, is_copy};
use smallvec::SmallVec;

use crate::code::Writer;
use crate::numbers::Numbers;
use crate::token::{Kind, LABEL, Local, REGISTER, Token, mix};

/// The number of a term.
pub(super) type Id = u32;

/// A register that an instruction writes.
#[derive(Copy, Clone)]
struct TypedRegister {
    register: u32,
    /// The type of the register.
    shape: Token,
}

/// The registers that an instruction writes; `None` for `_`.
type Destinations = SmallVec<[Option<TypedRegister>; 2]>;

/// The guard of an instruction.
#[derive(Copy, Clone)]
struct GuardTerm {
    predicate: Id,
    is_negated: bool,
}

/// The carry flag, which is treated as a register.
pub(super) const CARRY: u32 = u32::MAX;

/// The first token of a term that is not an operand.
#[derive(Copy, Clone)]
enum Tag {
    /// An instruction.
    Instruction,
    /// A result of an instruction.
    Result,
    /// The value of a register after a guarded instruction, with the guard, the new value and the old value as parts.
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
        /// The type of the register.
        shape: Token,
    },
    Operation {
        tokens: Vec<Token>,
        parts: Vec<Id>,
        /// Whether the first two parts may be swapped.
        commutes: bool,
    },
}

/// Code that jumps neither enter nor leave, except at its beginning and its end.
#[derive(Default)]
pub(super) struct Sequence {
    pub(super) effects: Vec<Id>,
    /// The registers that the sequence writes, with their values at its end.
    pub(super) end: HashMap<u32, Id>,
    /// The sequences from which control comes, in ascending order.
    pub(super) predecessors: Vec<u32>,
    /// Whether the function begins with this sequence.
    pub(super) is_entry: bool,
}

/// All terms of a function. The parts of a term precede the term.
#[derive(Default)]
pub(crate) struct Terms {
    pub(super) terms: Vec<Term>,
    pub(super) sequences: Vec<Sequence>,
    /// The sequence of each statement.
    statement_sequences: Vec<u32>,
    /// The terms of registers at the beginning of sequences, by sequence and register.
    initial_values: HashMap<(u32, u32), Id>,
}

impl Terms {
    /// Builds the terms of a function; `None` if a statement of it is not recognized. Linear in its length.
    pub(crate) fn new(facts: &ModuleFacts<'_>, id: FuncId, numbers: &Numbers) -> Option<Self> {
        let module = facts.module();
        let (function, facts) = (module.functions().get(id)?, facts.function(id)?);
        let interface = function.interface;
        let params = [interface.params, interface.returns].map(|list| list.of(module.params()));
        if params.concat().iter().any(|p| p.space == StateSpace::Reg) {
            return None;
        }
        let writer = Writer::for_function(module, id, numbers)?;
        let is_kernel = function.kind == FunctionKind::Entry;
        let cfg = Cfg::new(facts);
        let sequences = Sequences::new(facts, &cfg)?;
        let mut builder = Builder {
            facts,
            cfg: &cfg,
            writer,
            is_kernel,
            sequences: &sequences,
            current: 0,
            terms: Self::default(),
        };
        // The sequences that begin with statements.
        let mut starts: HashMap<StmtId, u32> = HashMap::new();
        for (index, blocks) in sequences.blocks.iter().enumerate() {
            builder.current = index as u32;
            let first = blocks.first().and_then(|b| cfg.block(*b));
            starts.extend(first.map(|b| (b.first, index as u32)));
            builder.terms.sequences.push(Sequence {
                predecessors: sequences.predecessors(&cfg, index),
                is_entry: index == 0,
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
        terms.statement_sequences = statement_sequences(facts.body(), &starts);
        Some(terms)
    }

    /// The index of the sequence that contains a statement.
    pub(super) fn sequence_of(&self, stmt: StmtId) -> usize {
        self.statement_sequences
            .get(stmt.index())
            .map_or(0, |sequence| *sequence as usize)
    }

    fn add(&mut self, term: Term) -> Id {
        self.terms.push(term);
        self.terms.len() as Id - 1
    }

    /// The value of a register at the beginning of a sequence.
    fn value_at_start(&mut self, sequence: u32, register: u32, shape: Token) -> Id {
        let next = self.terms.len() as Id;
        let id = *self
            .initial_values
            .entry((sequence, register))
            .or_insert(next);
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
    pub(super) fn value_at_end(&mut self, sequence: u32, register: u32, shape: Token) -> Id {
        self.sequences
            .get(sequence as usize)
            .and_then(|s| s.end.get(&register).copied())
            .unwrap_or_else(|| self.value_at_start(sequence, register, shape))
    }

    /// Hashes of terms. Registers are distinguished by the values that are written to them: equal terms of equal functions have
    /// equal hashes, whatever the names of registers are.
    pub(super) fn hashes(&self) -> Vec<u64> {
        let mut register_hashes: HashMap<u32, u64> = HashMap::new();
        let mut hashes = Vec::new();
        for _ in 0..3 {
            hashes = self.hashes_with(&register_hashes);
            register_hashes = HashMap::new();
            for (index, sequence) in self.sequences.iter().enumerate() {
                for (register, value) in &sequence.end {
                    let hash = hashes.get(*value as usize).copied().unwrap_or(0);
                    let sum = register_hashes.entry(*register).or_insert(0u64);
                    *sum = sum.wrapping_add(mix(index as u64, hash));
                }
            }
        }
        hashes
    }

    /// Hashes of terms, given the hashes of the registers.
    fn hashes_with(&self, register_hashes: &HashMap<u32, u64>) -> Vec<u64> {
        let mut hashes: Vec<u64> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let hash = match term {
                Term::Register {
                    register, shape, ..
                } => mix(
                    shape.bits(),
                    register_hashes.get(register).copied().unwrap_or(1),
                ),
                Term::Operation {
                    tokens,
                    parts,
                    commutes,
                } => {
                    let hash = tokens.iter().fold(2, |hash, t| mix(hash, t.shape()));
                    let part_hash = |id: &Id| hashes.get(*id as usize).copied().unwrap_or(0);
                    let mix_parts = |hash, parts: &[Id]| {
                        parts.iter().fold(hash, |hash, id| mix(hash, part_hash(id)))
                    };
                    match parts.as_slice() {
                        [first, second, remaining @ ..] if *commutes => {
                            let (first, second) = (part_hash(first), part_hash(second));
                            let hash = mix(mix(hash, first.min(second)), first.max(second));
                            mix_parts(hash, remaining)
                        }
                        parts => mix_parts(hash, parts),
                    }
                }
            };
            hashes.push(hash);
        }
        hashes
    }
}

/// The sequence of each statement. `starts` are the sequences that begin with statements. The ids of the statements of an edited function are not in
/// the order of the text.
fn statement_sequences(body: &Body, starts: &HashMap<StmtId, u32>) -> Vec<u32> {
    let mut sequences = vec![0; body.statement_table().len()];
    let mut current = 0;
    for (stmt, _) in body.statements() {
        current = starts.get(&stmt).copied().unwrap_or(current);
        if let Some(slot) = sequences.get_mut(stmt.index()) {
            *slot = current;
        }
    }
    sequences
}

/// The division of the blocks of a function into sequences.
struct Sequences {
    blocks: Vec<Vec<BlockId>>,
    /// The sequence of each block.
    block_sequences: HashMap<u32, u32>,
}

impl Sequences {
    /// Divides a function into sequences. A block continues the sequence of the preceding block in the text if control comes only from that block,
    /// and not by a jump. `None` if the successors of a block are unknown.
    fn new(facts: FunctionFacts<'_>, cfg: &Cfg) -> Option<Self> {
        let mut sequences = Self {
            blocks: Vec::new(),
            block_sequences: HashMap::new(),
        };
        let mut previous: Option<BlockId> = None;
        for (id, block) in cfg.blocks().filter(|(_, b)| !b.is_dispatch) {
            if block.unknown {
                return None;
            }
            let continues = previous.is_some_and(|previous| {
                cfg.predecessors(id) == [previous]
                    && cfg.successors(previous) == [id]
                    && cfg
                        .block(previous)
                        .is_some_and(|b| !b.exits && !ends_with_jump(facts, b.first, b.end))
            });
            match sequences.blocks.last_mut() {
                Some(blocks) if continues => blocks.push(id),
                _ => sequences.blocks.push(vec![id]),
            }
            sequences
                .block_sequences
                .insert(id.as_u32(), sequences.blocks.len() as u32 - 1);
            previous = Some(id);
        }
        Some(sequences)
    }

    /// The sequences from which control comes to a sequence, in ascending order.
    fn predecessors(&self, cfg: &Cfg, sequence: usize) -> Vec<u32> {
        let first = self.blocks.get(sequence).and_then(|blocks| blocks.first());
        let mut predecessors = Vec::new();
        let mut worklist: Vec<BlockId> = first
            .map(|b| cfg.predecessors(*b).to_vec())
            .unwrap_or_default();
        while let Some(block) = worklist.pop() {
            match self.block_sequences.get(&block.as_u32()) {
                Some(sequence) => predecessors.push(*sequence),
                // A dispatch block is in no sequence.
                None => worklist.extend(cfg.predecessors(block)),
            }
        }
        predecessors.sort_unstable();
        predecessors.dedup();
        predecessors
    }
}

/// Whether the last instruction of a range jumps.
fn ends_with_jump(facts: FunctionFacts<'_>, first: StmtId, end: StmtId) -> bool {
    facts
        .body()
        .range(first, end)
        .rev()
        .find_map(|(_, statement)| match statement {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        })
        .is_some_and(|inst| !matches!(facts.inst(inst).flow(), Flow::Next | Flow::Call))
}

/// Builds the terms of a function, statement by statement. Its methods return `None` if a statement is not recognized.
struct Builder<'a> {
    facts: FunctionFacts<'a>,
    cfg: &'a Cfg,
    writer: Writer<'a>,
    is_kernel: bool,
    sequences: &'a Sequences,
    /// The index of the current sequence.
    current: u32,
    terms: Terms,
}

impl<'a> Builder<'a> {
    fn statement(&mut self, stmt: StmtId, statement: Statement) -> Option<()> {
        match statement {
            Statement::Inst(id) => self.instruction(id),
            Statement::Opaque(_) | Statement::Function(_) => None,
            // The entries of a table are a part of the instruction that names the table.
            Statement::Directive(_) => {
                let mut operands = self.facts.body().walk(statement);
                let tokens = self.writer.statement_tokens(stmt, statement);
                if !tokens.is_empty() && !operands.any(|o| matches!(o, Operand::Label(_))) {
                    self.effect(tokens, Vec::new());
                }
                Some(())
            }
            _ => Some(()),
        }
    }

    fn guard(&mut self, body: &Body, guard: Guard) -> Option<GuardTerm> {
        let predicate = self.writer.operand_tokens(body.pool().get(guard.predicate));
        Some(GuardTerm {
            predicate: self.operand(&predicate)?,
            is_negated: guard.sense.is_negated(),
        })
    }

    fn instruction(&mut self, id: InstId) -> Option<()> {
        let (body, facts) = (self.facts.body(), self.facts.inst(id));
        let inst = body.inst(id)?;
        if !facts.is_known() {
            return None;
        }
        let mnemonic = self.writer.mnemonic(inst.sig);
        let operands = body.operands(id);
        // The capacities include the guard.
        let mut tokens = Vec::with_capacity(operands.len() + 3);
        let mut parts = Vec::with_capacity(operands.len() + 1);
        tokens.extend([tag(Tag::Instruction, 0), mnemonic]);
        let mut sources = SmallVec::<[Operand; 4]>::new();
        let mut destinations = Destinations::new();
        for (index, operand) in operands.iter().enumerate() {
            let operand_tokens = self.writer.operand_tokens(*operand);
            let has_register = operand_tokens
                .iter()
                .any(|t| t.local().is_some_and(|local| local.kind == REGISTER));
            let is_sink = operand_tokens.iter().any(|t| t.is_sink());
            let usage = match facts.usage(index) {
                None if has_register => return None,
                // A variable that a call writes.
                Some(_) if !has_register && !is_sink => RegAccess::Read,
                usage => usage.unwrap_or(RegAccess::Read),
            };
            if usage.reads() {
                tokens.push(tag(Tag::Operand, index as u32));
                parts.push(self.operand(&operand_tokens)?);
                sources.push(*operand);
            }
            match usage {
                RegAccess::Read => {}
                RegAccess::Write | RegAccess::ReadWrite => {
                    add_destinations(&operand_tokens, &mut destinations)?;
                }
                _ => return None,
            }
            self.writer.reuse(operand_tokens);
        }
        let carry = TypedRegister {
            register: CARRY,
            shape: tag(Tag::Carry, 0),
        };
        if facts.reads_carry() {
            parts.push(self.read(carry));
        }
        if facts.writes_carry() {
            destinations.push(Some(carry));
        }
        let guard = match facts.guard() {
            None => None,
            Some(guard) => Some(self.guard(body, guard)?),
        };
        if !self.is_pure(&facts) {
            // The guard decides whether there is an effect.
            if let Some(guard) = guard {
                tokens.push(tag(Tag::Choice, guard.is_negated.into()));
                parts.push(guard.predicate);
            }
            let number = self.effect(tokens, parts);
            let outcome = [tag(Tag::Outcome, self.current), tag(Tag::Outcome, number)];
            self.write(&destinations, guard, &outcome, &[]);
            return Some(());
        }
        if let Some(value) = self.copied_value(inst, &sources, &destinations, &parts) {
            let [Some(destination)] = destinations[..] else {
                return None;
            };
            let value = self.guarded(value, destination, guard);
            self.set(destination.register, value);
            return Some(());
        }
        let signature = self.facts.module().signature(inst.sig);
        let modifiers: SmallVec<[_; 8]> = signature.modifiers().collect();
        let commutes = commutes(signature.opcode()?, &modifiers);
        let operation = self.terms.add(Term::Operation {
            tokens,
            parts,
            commutes,
        });
        self.write(&destinations, guard, &[], &[operation]);
        Some(())
    }

    /// Whether an instruction computes its results from its operands only, and has no other effect.
    fn is_pure(&self, facts: &Facts<'_>) -> bool {
        facts.may_be_duplicated()
            && facts.flow() == Flow::Next
            && facts.asynchronous().is_empty()
            && facts.memory().all(|access| self.reads_constant(access))
    }

    /// Whether an access reads memory that nothing writes: constant memory, or a parameter of a kernel.
    fn reads_constant(&self, access: MemoryAccess) -> bool {
        let vars = self.facts.body().vars();
        let is_kernel_parameter = self.is_kernel
            && matches!(access.base, Some(Operand::Var(id)) if vars.get(id).is_some_and(|v| v.stmt.is_none()));
        access.access == Access::Read
            && match access.space {
                Space::State(StateSpace::Const) => true,
                Space::State(space) => space.base() == StateSpace::Param && is_kernel_parameter,
                _ => false,
            }
    }

    /// The source of an instruction that copies a register to a register of the same width; `None` for other instructions.
    fn copied_value(
        &self,
        inst: &Inst,
        sources: &[Operand],
        destinations: &Destinations,
        parts: &[Id],
    ) -> Option<Id> {
        let signature = self.facts.module().signature(inst.sig);
        let ([Operand::Reg(source)], [Some(destination)], [part]) =
            (sources, &destinations[..], parts)
        else {
            return None;
        };
        let bits = |register: RegId| {
            let decl = self.facts.body().reg_decl_of(register)?;
            (decl.vector <= 1).then_some(decl.ty.known()?.bits())
        };
        let width = signature.types().next().map(ScalarType::bits)?;
        let keeps_width =
            bits(*source) == Some(width) && bits(RegId::new(destination.register)) == Some(width);
        (is_copy(signature.opcode()?) && keeps_width).then_some(*part)
    }

    // --- operands ---

    /// The term of an operand: the value of a register, or an operation on the values of all registers in the operand.
    fn operand(&mut self, operand: &[Token]) -> Option<Id> {
        if let [token] = operand
            && let Some(register) = register(*token)
        {
            return Some(self.read(register));
        }
        let (mut tokens, mut parts) = (vec![tag(Tag::Operand, u32::MAX)], Vec::new());
        for token in operand {
            if let Some(register) = register(*token) {
                parts.push(self.read(register));
                tokens.push(register.shape);
            } else if let Some(Local { kind: LABEL, id }) = token.local() {
                self.label(LabelId::new(id), &mut tokens)?;
            } else {
                tokens.push(*token);
            }
        }
        Some(self.terms.add(Term::Operation {
            tokens,
            parts,
            commutes: false,
        }))
    }

    /// Adds the tokens of a label: the sequence that begins with it, or the sequences of its table.
    fn label(&self, label: LabelId, tokens: &mut Vec<Token>) -> Option<()> {
        let sequence = |label: LabelId| {
            let block = self.cfg.of_label(label)?;
            let sequence = *self.sequences.block_sequences.get(&block.as_u32())?;
            let first = self.sequences.blocks.get(sequence as usize)?.first()?;
            (*first == block).then(|| Token::new(Kind::Paired, 1, sequence))
        };
        match self.facts.table(label) {
            Some(table) => {
                tokens.push(Token::new(Kind::Paired, 2, table.len() as u32));
                for operand in table {
                    let Operand::Label(label) = operand else {
                        return None;
                    };
                    tokens.push(sequence(*label)?);
                }
            }
            None => tokens.push(sequence(label)?),
        }
        Some(())
    }

    // --- registers and effects ---

    /// The current value of a register.
    fn read(&mut self, register: TypedRegister) -> Id {
        self.terms
            .value_at_end(self.current, register.register, register.shape)
    }

    fn set(&mut self, register: u32, value: Id) {
        if let Some(sequence) = self.terms.sequences.get_mut(self.current as usize) {
            sequence.end.insert(register, value);
        }
    }

    /// Adds an effect, and returns its number in the current sequence.
    fn effect(&mut self, tokens: Vec<Token>, parts: Vec<Id>) -> u32 {
        let id = self.terms.add(Term::Operation {
            tokens,
            parts,
            commutes: false,
        });
        let Some(sequence) = self.terms.sequences.get_mut(self.current as usize) else {
            return 0;
        };
        sequence.effects.push(id);
        sequence.effects.len() as u32
    }

    /// The value of a register after an instruction with a guard has assigned `new`.
    fn guarded(&mut self, new: Id, destination: TypedRegister, guard: Option<GuardTerm>) -> Id {
        let Some(guard) = guard else {
            return new;
        };
        let old = self.read(destination);
        self.terms.add(Term::Operation {
            tokens: vec![tag(Tag::Choice, guard.is_negated.into())],
            parts: vec![guard.predicate, new, old],
            commutes: false,
        })
    }

    /// Assigns the results of an instruction, each with these tokens and parts. All values are computed before the first one is assigned.
    fn write(
        &mut self,
        destinations: &Destinations,
        guard: Option<GuardTerm>,
        tokens: &[Token],
        parts: &[Id],
    ) {
        let mut values: SmallVec<[_; 2]> = SmallVec::new();
        for (index, destination) in (0..).zip(destinations) {
            let Some(destination) = *destination else {
                continue;
            };
            // The type of the register decides how the result is extended.
            let new = self.terms.add(Term::Operation {
                tokens: [tokens, &[tag(Tag::Result, index), destination.shape]].concat(),
                parts: parts.to_vec(),
                commutes: false,
            });
            values.push((destination.register, self.guarded(new, destination, guard)));
        }
        for (register, value) in values {
            self.set(register, value);
        }
    }
}

fn tag(tag: Tag, number: u32) -> Token {
    Token::new(Kind::Term, tag as u32, number)
}

/// The register that a token denotes.
fn register(token: Token) -> Option<TypedRegister> {
    let local = token.local().filter(|local| local.kind == REGISTER)?;
    Some(TypedRegister {
        register: local.id,
        shape: token.with_number(Kind::Type, 0),
    })
}

/// Adds the registers in an operand that is written; `None` for an operand with other parts, such as an element of a register.
fn add_destinations(operand: &[Token], destinations: &mut Destinations) -> Option<()> {
    for token in operand {
        if let Some(register) = register(*token) {
            destinations.push(Some(register));
        } else if token.is_sink() {
            destinations.push(None);
        } else if !token.is_list() {
            return None;
        }
    }
    Some(())
}
