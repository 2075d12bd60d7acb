//! What an instruction does to registers and memory.

use ptx_analysis::fold::{Folded, Operation, Video, conversion, fold};
use ptx_ir::constant::ConstKind;
use ptx_ir::facts::{Facts, MemoryAccess, RegAccess, Space};
use ptx_ir::query::{Environment, Mnemonic};
use ptx_ir::{EntityId, InstId, Operand};
use ptx_isa::{Modifier, Opcode, Proxy, ScalarType, TypeKind};

use crate::hash::Hash;
use crate::machine::{Machine, ones};
use crate::operands::window;

impl<'a> Machine<'a> {
    /// How wide the table says each operand is, as written.
    fn source_widths(&mut self, inst: InstId) -> Vec<Option<u16>> {
        if let Some(known) = self.sources.get(&inst) {
            return known.clone();
        }
        let body = self.facts.body();
        let mut widths = vec![None; body.operands(inst).len()];
        let sig = body.inst(inst).map(|i| i.sig);
        let mnemonic = sig.and_then(|sig| Mnemonic::of(self.facts.module(), sig));
        if let Some(mnemonic) = mnemonic {
            let operands = body.operands(inst);
            self.queries.ask(body, &mnemonic, operands, |query| {
                let Ok(form) = Environment::ANYWHERE.select(query) else {
                    return;
                };
                for operand in 0..form.form().operands().len() {
                    let written = form.operands().written(operand);
                    let bits = form.expected(operand).and_then(|e| e.bits());
                    if let Some(slot) = written.and_then(|w| widths.get_mut(w))
                        && slot.is_none()
                    {
                        *slot = bits;
                    }
                }
            });
        }
        self.sources.insert(inst, widths.clone());
        widths
    }

    /// Does what an instruction does besides control flow; nothing if it is unrecognized.
    pub(crate) fn compute(
        &mut self,
        inst: InstId,
        f: &Facts<'a>,
        trace: &mut Vec<(u64, u32)>,
    ) -> Option<()> {
        let body = self.facts.body();
        let signature = self.facts.module().signature(body.inst(inst)?.sig);
        let opcode = signature.opcode()?;
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        let parts: Vec<(Operand, RegAccess)> = f.parts().collect();
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
        // An unknown function: it depends on the mnemonic except for state spaces, which are part of the addresses.
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
                    let base = self.facts.body().pool().address(*id);
                    let access = accesses.iter().find(|a| a.base == base.map(|b| b.base));
                    let value = self.scalar(*operand) as u64;
                    let start = access.map_or(0, start);
                    values.push(value.wrapping_add(start).into());
                }
                _ if f.usage(index).is_some_and(RegAccess::reads) => {
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

    /// What an instruction computes, where that is known.
    fn folded(
        &self,
        opcode: Opcode,
        modifiers: &[Modifier],
        parts: &[(Operand, RegAccess)],
        f: &Facts<'a>,
    ) -> Option<Folded> {
        let pool = &self.facts.body().pool();
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
                (RegAccess::Write, _) => {}
                (RegAccess::Read, Operand::Vector(list)) => {
                    for &part in pool.list(list) {
                        operands.push(self.scalar(part));
                    }
                }
                (RegAccess::Read, operand) => operands.push(self.scalar(operand)),
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

    fn store_folded(&mut self, folded: &Folded, parts: &[(Operand, RegAccess)], f: &Facts<'a>) {
        let results = parts.iter().filter(|(_, usage)| *usage == RegAccess::Write);
        for (nth, (operand, _)) in results.enumerate() {
            match operand {
                Operand::Vector(list) => {
                    let targets = self.facts.body().pool().list(*list);
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
        parts: &[(Operand, RegAccess)],
        accesses: &[MemoryAccess],
        ty: &Option<ScalarType>,
        f: &Facts<'a>,
    ) -> bool {
        let ([access], Some(ty)) = (accesses, ty) else {
            return false;
        };
        let plain = matches!(access.proxy, Proxy::Generic | Proxy::ReadOnly);
        let space = matches!(access.space, Space::State(_) | Space::Generic);
        let [(target, RegAccess::Write), (address, RegAccess::Read), ..] = parts else {
            return false;
        };
        let targets = match target {
            Operand::Vector(list) => self.facts.body().pool().list(*list).to_vec(),
            other => vec![*other],
        };
        let bytes = u64::from(ty.bits() / 8);
        let whole = access.bytes == Some(bytes * targets.len() as u64);
        let scalar = !matches!(target, Operand::Reg(r) if self.variables.of((*r).into()).len() > 1);
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

    /// Writes what an instruction stores, or the result of an unknown function.
    fn change_memory(
        &mut self,
        hash: Hash,
        parts: &[(Operand, RegAccess)],
        accesses: &[MemoryAccess],
    ) {
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
            if let (
                [_],
                [
                    (Operand::Address(_), RegAccess::Read),
                    (source, RegAccess::Read),
                ],
            ) = (accesses, parts)
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
