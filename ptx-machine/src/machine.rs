//! Runs one thread through a function.
//!
//! What [`ptx_analysis::fold`] knows is computed, addresses are converted, plain loads and stores reach bytes of memory. Everything else
//! is a function nobody knows: its results follow from its words, from the values that it reads and from how many effects came before.
//! Two functions that do the same thus leave the same trace, whatever their instructions are.

use std::collections::HashMap;

use ptx_analysis::fold::{Folded, Operation, Video, conversion, fold};
use ptx_analysis::variables::Variables;
use ptx_ir::constant::ConstKind;
use ptx_ir::facts::{Facts, Flow, FunctionFacts, MemoryAccess, Place, Space, Targets, Usage};
use ptx_ir::shape::{BodyTypes, ShapeKey, Shapes, SymbolTypes};
use ptx_ir::{Binding, EntityId, FuncId, InstId, LabelId, Operand, Param, Statement};
use ptx_isa::{Modifier, Opcode, Proxy, Request, ScalarType, TypeKind};

use crate::hash::Hash;
use crate::operands::window;

/// How a run ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The function did.
    Done,
    /// There were too many steps.
    Tired,
    /// The next instruction is not understood, or may do anything.
    Lost,
}

/// What a run did that others can see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// A number for each effect, which follows from what was done and with which values; and where it was done.
    pub effects: Vec<(u64, u32)>,
    /// How it ended.
    pub end: End,
    /// How many instructions were executed.
    pub steps: usize,
}

impl Trace {
    /// Whether the rewritten function does what this one does: the same effects, as far as both were followed. It takes no more steps.
    pub fn agrees(&self, rewritten: &Self) -> bool {
        let pairs = self.effects.iter().zip(&rewritten.effects);
        let same = pairs.clone().all(|(a, b)| a.0 == b.0);
        let whole = self.end == rewritten.end && self.effects.len() == rewritten.effects.len();
        let ended = match self.end {
            End::Tired => rewritten.effects.len() >= self.effects.len(),
            _ => whole && rewritten.steps <= self.steps,
        };
        same && ended
    }
}

/// One thread in a function.
pub struct Machine<'a> {
    pub(crate) facts: FunctionFacts<'a>,
    pub(crate) variables: Variables,
    /// The bits of each variable; the carry flag behind them.
    pub(crate) registers: Vec<u128>,
    carry: bool,
    memory: HashMap<u64, u8>,
    pub(crate) seed: u64,
    pub(crate) effects: u64,
    widths: Vec<u16>,
    /// The variables in which the function returns its results.
    results: Vec<u32>,
    statements: Vec<Statement>,
    labels: HashMap<LabelId, usize>,
    symbols: SymbolTypes,
    types: BodyTypes,
    sources: HashMap<InstId, Vec<Option<u16>>>,
}

/// The lowest `bits` bits.
pub(crate) fn ones(bits: u16) -> u128 {
    match bits {
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}

impl<'a> Machine<'a> {
    /// A thread at the start of a function. What registers and memory hold follows from the seed and their names.
    pub fn new(facts: FunctionFacts<'a>, function: FuncId, seed: u64) -> Self {
        let (module, body) = (facts.module(), facts.body());
        let variables = Variables::new(body);
        let widths: Vec<u16> = (0..variables.len() as u32)
            .map(|v| variables.class(body, v).map_or(64, |c| c.bits()))
            .collect();
        let interface = module.functions.get(function).map(|f| f.interface.returns);
        let returns = interface.map_or(&[][..], |r| r.of(&module.params));
        let is_result = |v: &u32| {
            let register = body.registers.get(variables.place(*v).register);
            let bound =
                |p: &Param| register.is_some_and(|r| p.binding == Binding::Register(r.decl));
            returns.iter().any(bound)
        };
        let results = (0..variables.len() as u32).filter(is_result).collect();
        let mut statements = Vec::new();
        let mut labels = HashMap::new();
        for (_, statement) in body.statements() {
            if let Statement::Label(label) = statement {
                labels.insert(label, statements.len());
            }
            statements.push(statement);
        }
        let mut types = BodyTypes::new();
        types.fill(module, function, body);
        let mut machine = Self {
            facts,
            registers: vec![0; variables.len()],
            variables,
            carry: seed & 1 == 1,
            memory: HashMap::new(),
            seed,
            effects: 0,
            widths,
            results,
            statements,
            labels,
            symbols: SymbolTypes::new(module),
            types,
            sources: HashMap::new(),
        };
        for variable in 0..machine.variables.len() as u32 {
            let name = machine.name(variable);
            machine.registers[variable as usize] =
                Hash::new(seed).text(&name).bits() & ones(machine.width(variable));
        }
        machine
    }

    pub(crate) fn width(&self, variable: u32) -> u16 {
        self.widths.get(variable as usize).copied().unwrap_or(64)
    }

    fn name(&self, variable: u32) -> String {
        let (module, body) = (self.facts.module(), self.facts.body());
        let place = self.variables.place(variable);
        let register = body.registers.get(place.register);
        let decl = register.and_then(|r| body.reg_decls.get(r.decl));
        let name = decl.map_or("", |d| module.name(d.name));
        let number = register.map_or(0, |r| r.number);
        let number = decl.and_then(|d| d.count).map(|_| number.to_string());
        let lane = place.lane.map(|l| format!(".{l}"));
        format!(
            "{name}{}{}",
            number.unwrap_or_default(),
            lane.unwrap_or_default()
        )
    }

    fn named(&self, name: &str) -> Option<usize> {
        (0..self.variables.len()).find(|&v| self.name(v as u32) == name)
    }

    /// Gives a register a value, if the function mentions it.
    pub fn set(&mut self, name: &str, bits: u128) {
        if let Some(variable) = self.named(name) {
            self.registers[variable] = bits & ones(self.width(variable as u32));
        }
    }

    /// The value of a register.
    pub fn get(&self, name: &str) -> Option<u128> {
        Some(self.registers[self.named(name)?])
    }

    /// Sets the carry flag.
    pub fn set_carry(&mut self, carry: bool) {
        self.carry = carry;
    }

    /// Puts bytes to a generic address.
    pub fn poke(&mut self, address: u64, bytes: &[u8]) {
        for (at, &byte) in (0u64..).zip(bytes) {
            self.memory.insert(address.wrapping_add(at), byte);
        }
    }

    /// The bytes at a generic address, at most 16.
    pub fn peek(&self, address: u64, bytes: u64) -> u128 {
        let byte = |at: u64| {
            let address = address.wrapping_add(at);
            let first = || Hash::new(self.seed).number(address).value() as u8;
            u128::from(self.memory.get(&address).copied().unwrap_or_else(first)) << (8 * at)
        };
        (0..bytes.min(16)).map(byte).sum()
    }

    /// Runs up to so many instructions.
    pub fn run(&mut self, most: usize) -> Trace {
        let mut trace = Trace {
            effects: Vec::new(),
            end: End::Tired,
            steps: 0,
        };
        let mut at = 0;
        while trace.steps < most {
            let next = match self.statements.get(at) {
                None => {
                    self.tell_results(&mut trace.effects);
                    trace.end = End::Done;
                    return trace;
                }
                Some(Statement::Opaque(_)) => None,
                Some(&Statement::Inst(inst)) => {
                    trace.steps += 1;
                    self.instruction(inst, at, &mut trace.effects)
                }
                Some(_) => Some(at + 1),
            };
            let Some(next) = next else {
                trace.end = End::Lost;
                return trace;
            };
            at = next;
        }
        trace
    }

    /// Executes an instruction; gives the next statement.
    fn instruction(
        &mut self,
        inst: InstId,
        at: usize,
        trace: &mut Vec<(u64, u32)>,
    ) -> Option<usize> {
        let f = self.facts.inst(inst);
        if !f.is_known() {
            return None;
        }
        if f.guard().is_some() {
            let (place, negated) = f.guard_register()?;
            if (self.register(place) == 1) == negated {
                return Some(at + 1);
            }
        }
        let end = self.statements.len();
        match f.flow() {
            Flow::Next => self.compute(inst, &f, trace)?,
            Flow::Jump => {
                let Targets::Label(label) = f.targets() else {
                    return None;
                };
                return self.labels.get(&label).copied();
            }
            Flow::Table => {
                let Targets::List(list) = f.targets() else {
                    return None;
                };
                let (index, _) = f.parts().next()?;
                let target = usize::try_from(self.scalar(index)).ok()?;
                let Operand::Label(label) = *list.operands.get(target)? else {
                    return None;
                };
                return self.labels.get(&label).copied();
            }
            Flow::Call => {
                self.compute(inst, &f, trace)?;
                if f.never_returns() {
                    return Some(end);
                }
            }
            Flow::Return | Flow::Exit | Flow::Trap => {
                self.compute(inst, &f, trace)?;
                self.tell_results(trace);
                return Some(end);
            }
            _ => return None,
        }
        Some(at + 1)
    }

    /// What the registers hold that the caller reads.
    fn tell_results(&self, trace: &mut Vec<(u64, u32)>) {
        let results = self.results.iter();
        let hash = results.fold(Hash::new(self.effects), |h, &v| {
            h.wide(self.registers[v as usize])
        });
        trace.push((hash.value(), u32::MAX));
    }

    /// How wide the table says each operand is, as written.
    fn source_widths(&mut self, inst: InstId) -> Vec<Option<u16>> {
        if let Some(known) = self.sources.get(&inst) {
            return known.clone();
        }
        let body = self.facts.body();
        let shapes = Shapes::new(body, &self.symbols, &self.types);
        let mut key = ShapeKey::new();
        let mut widths = vec![None; body.operands(inst).len()];
        let signature = body
            .insts
            .get(inst)
            .map(|i| self.facts.module().signature(i.sig));
        if let Some(signature) = signature
            && let Some(opcode) = signature.opcode()
            && shapes.write(inst, true, &mut key)
        {
            let modifiers: Vec<Modifier> = signature.modifiers().collect();
            key.read(|operands, in_entry| {
                let request = Request {
                    opcode,
                    modifiers: &modifiers,
                    operands,
                    in_entry,
                };
                if let Ok(selection) = request.select_anywhere() {
                    for operand in 0..selection.form.operands().len() {
                        let written = selection.operands.written(operand);
                        let bits = selection.expected(operand).and_then(|e| e.bits());
                        if let Some(slot) = written.and_then(|w| widths.get_mut(w))
                            && slot.is_none()
                        {
                            *slot = bits;
                        }
                    }
                }
            });
        }
        self.sources.insert(inst, widths.clone());
        widths
    }

    fn compute(&mut self, inst: InstId, f: &Facts<'a>, trace: &mut Vec<(u64, u32)>) -> Option<()> {
        let body = self.facts.body();
        let signature = self.facts.module().signature(body.insts.get(inst)?.sig);
        let opcode = signature.opcode()?;
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        let parts: Vec<(Operand, Usage)> = f.parts().collect();
        let accesses: Vec<MemoryAccess> = f.memory().collect();
        let mut sources = Vec::new();
        for (operand, _) in parts.iter().filter(|(_, u)| u.reads()) {
            self.read(*operand, &mut sources);
        }
        if let Some(folded) = self.folded(opcode, &modifiers, &parts, f) {
            self.store_folded(&folded, &parts, f);
            return Some(());
        }
        if let Some(made) = conversion(opcode, &modifiers) {
            let value = *sources.first()? as u64;
            let base = window(made.space);
            let value = match made.to_generic {
                true => value.wrapping_add(base),
                false => value.wrapping_sub(base),
            };
            let (target, _) = *parts.first()?;
            self.write(f.place(target)?, value.into());
            return Some(());
        }
        let has_effect = f.has_side_effects();
        if !has_effect && self.load(&parts, &accesses, &signature.types().last(), f) {
            return Some(());
        }
        // A function that nobody knows: of its words, the spaces of its memory aside, which are in the addresses.
        let mut hash = Hash::new(self.seed).text(opcode.text());
        let words = modifiers.iter().filter(|m| m.state_space().is_none());
        let mut words: Vec<&str> = words.map(|m| m.text()).collect();
        // They may be written in several orders.
        words.sort_unstable();
        for word in words {
            hash = hash.text(word);
        }
        hash = self.with_operands(hash, inst, f, &accesses);
        if f.reads_carry() {
            hash = hash.number(self.carry.into());
        }
        if has_effect || !accesses.is_empty() {
            hash = hash.number(self.effects);
        }
        if has_effect {
            self.effects += 1;
            trace.push((hash.value(), inst.index() as u32));
        }
        self.change_memory(hash, &parts, &accesses);
        let mut nth = 0;
        for (operand, usage) in parts {
            if usage.reads() && !usage.writes() && !usage.may_write() {
                continue;
            }
            for place in f.places(&operand).collect::<Vec<_>>() {
                nth += 1;
                if !matches!(operand, Operand::Address(_)) {
                    self.write(place, hash.number(nth).bits());
                }
            }
        }
        if f.writes_carry() {
            self.carry = hash.number(99).value() & 1 == 1;
        }
        Some(())
    }

    /// Mixes in what an instruction reads, memory by its generic address.
    fn with_operands(
        &mut self,
        mut hash: Hash,
        inst: InstId,
        f: &Facts<'a>,
        accesses: &[MemoryAccess],
    ) -> Hash {
        let widths = self.source_widths(inst);
        let operands = self.facts.body().operands(inst);
        for (index, (operand, width)) in operands.iter().zip(widths).enumerate() {
            let mut values = Vec::new();
            match operand {
                Operand::Address(id) => {
                    let base = self.facts.body().pool.address(*id);
                    let access = accesses.iter().find(|a| a.base == base.map(|b| b.base));
                    let value = self.scalar(*operand) as u64;
                    let start = access.map_or(0, |a| start(a));
                    values.push(value.wrapping_add(start).into());
                }
                _ if f.usage(index).is_some_and(Usage::reads) => {
                    self.read(*operand, &mut values);
                }
                _ => continue,
            }
            for value in values {
                hash = hash.wide(value & ones(width.unwrap_or(128)));
            }
            hash = hash.number(index as u64);
        }
        hash
    }

    /// Writes a register, or an element of one.
    fn write(&mut self, place: Place, bits: u128) {
        let mut bits = bits;
        for variable in self.variables.of(place) {
            let width = self.width(variable);
            if let Some(register) = self.registers.get_mut(variable as usize) {
                *register = bits & ones(width);
            }
            bits = bits.checked_shr(width.into()).unwrap_or(0);
        }
    }

    /// What an instruction computes, where that is known.
    fn folded(
        &self,
        opcode: Opcode,
        modifiers: &[Modifier],
        parts: &[(Operand, Usage)],
        f: &Facts<'a>,
    ) -> Option<Folded> {
        let pool = &self.facts.body().pool;
        let mut operands = Vec::new();
        for &(operand, usage) in parts {
            let selects = |o: &Operand| match *o {
                Operand::Lane(selector, _) => selector.element().is_none(),
                Operand::Neg(_) | Operand::Special(_) => true,
                // A decimal fraction is rounded to the type that is wanted.
                Operand::Imm(id) => pool.immediate(id).is_none_or(|i| {
                    let text = self.facts.module().name(i.text).to_ascii_lowercase();
                    i.value.kind() == ConstKind::Double && !text.starts_with("0d")
                }),
                _ => false,
            };
            match (usage, operand) {
                (_, operand) if selects(&operand) => return None,
                (Usage::Write, _) => {}
                (Usage::Read, Operand::Vector(list)) => {
                    for &part in pool.list(list) {
                        operands.push(self.scalar(part));
                    }
                }
                (Usage::Read, operand) => operands.push(self.scalar(operand)),
                _ => return None,
            }
        }
        fold(&Operation {
            opcode,
            modifiers,
            operands: &operands,
            carry: f.reads_carry().then_some(self.carry),
            video: Video::default(),
        })
    }

    fn store_folded(&mut self, folded: &Folded, parts: &[(Operand, Usage)], f: &Facts<'a>) {
        let results = parts.iter().filter(|(_, usage)| *usage == Usage::Write);
        for (nth, (operand, _)) in results.enumerate() {
            match operand {
                Operand::Vector(list) => {
                    let targets = self.facts.body().pool.list(*list);
                    let width = folded.ty.bits() / targets.len().max(1) as u16;
                    for (i, &target) in targets.iter().enumerate() {
                        if let Some(place) = f.place(target) {
                            self.write(
                                place,
                                folded.value >> (i * usize::from(width)) & ones(width),
                            );
                        }
                    }
                }
                operand => {
                    let Some(place) = f.place(*operand) else {
                        continue;
                    };
                    let bits = match nth {
                        0 => extended(folded.value, folded.ty),
                        _ => u128::from(folded.second == Some(true)),
                    };
                    self.write(place, bits);
                }
            }
        }
        if let Some(carry) = folded.carry {
            self.carry = carry;
        }
    }

    /// A load of bytes into registers; false where it is more than that.
    fn load(
        &mut self,
        parts: &[(Operand, Usage)],
        accesses: &[MemoryAccess],
        ty: &Option<ScalarType>,
        f: &Facts<'a>,
    ) -> bool {
        let ([access], Some(ty)) = (accesses, ty) else {
            return false;
        };
        let plain = matches!(access.proxy, Proxy::Generic | Proxy::ReadOnly);
        let space = matches!(access.space, Space::State(_) | Space::Generic);
        let [(target, Usage::Write), (address, Usage::Read), ..] = parts else {
            return false;
        };
        let targets = match target {
            Operand::Vector(list) => self.facts.body().pool.list(*list).to_vec(),
            other => vec![*other],
        };
        let bytes = u64::from(ty.bits() / 8);
        let whole = access.bytes == Some(bytes * targets.len() as u64);
        let scalar = !matches!(target, Operand::Reg(r) if self.variables.of(Place { register: *r, lane: None }).len() > 1);
        if !(plain && space && whole && scalar && access.offset.is_some() && parts.len() == 2) {
            return false;
        }
        let address = (self.scalar(*address) as u64).wrapping_add(start(access));
        for (at, target) in (0..).zip(targets) {
            if let Some(place) = f.place(target) {
                let bits = self.peek(address.wrapping_add(at * bytes), bytes);
                self.write(place, extended(bits, *ty));
            }
        }
        true
    }

    /// Puts what an instruction stores, or what nobody knows, where it writes.
    fn change_memory(&mut self, hash: Hash, parts: &[(Operand, Usage)], accesses: &[MemoryAccess]) {
        let written = accesses.iter().filter(|a| a.writes());
        for access in written.filter(|a| a.base.is_some()) {
            let base = access.base.unwrap_or(Operand::Absent);
            let offset = access.offset.unwrap_or(0) as u64;
            let address = (self.scalar(base) as u64)
                .wrapping_add(offset)
                .wrapping_add(start(access));
            let bytes = access.bytes.unwrap_or(64).min(256);
            let mut data = Vec::new();
            // A store says what it stores.
            if let ([_], [(Operand::Address(_), Usage::Read), (source, Usage::Read)]) =
                (accesses, parts)
                && access.bytes.is_some()
            {
                let mut values = Vec::new();
                self.read(*source, &mut values);
                let each = bytes as usize / values.len().max(1);
                for value in values {
                    data.extend(value.to_le_bytes().into_iter().take(each));
                }
            }
            let unknown = |at: u64| hash.number(1000 + at).value() as u8;
            let known = data.len() as u64;
            data.extend((known..bytes).map(unknown));
            data.truncate(bytes as usize);
            self.poke(address, &data);
        }
    }
}

/// Where the space of an access begins among the generic addresses.
fn start(access: &MemoryAccess) -> u64 {
    match access.space {
        Space::State(space) => window(space),
        _ => 0,
    }
}

/// A value in a register that may be wider.
fn extended(bits: u128, ty: ScalarType) -> u128 {
    let bits = bits & ones(ty.bits());
    let negative = ty.kind() == TypeKind::Signed && bits >> (ty.bits().max(1) - 1) & 1 == 1;
    if negative {
        bits | !ones(ty.bits())
    } else {
        bits
    }
}
