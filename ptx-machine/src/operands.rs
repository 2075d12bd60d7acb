//! What operands are worth.

use ptx_ir::constant::ConstKind;
use ptx_ir::facts::RegLane;
use ptx_ir::{Operand, SymbolKind};
use ptx_isa::StateSpace;

use crate::hash::Hash;
use crate::machine::{Machine, ones};

/// Where the window of a space begins among the generic addresses.
pub(crate) fn window(space: StateSpace) -> u64 {
    match space.base() {
        StateSpace::Shared => 0x0100_0000,
        StateSpace::Local => 0x0200_0000,
        StateSpace::Const => 0x0300_0000,
        StateSpace::Param | StateSpace::ParamEntry => 0x0400_0000,
        _ => 0,
    }
}

impl Machine<'_> {
    /// The value of a register, or of an element of one.
    pub(crate) fn register(&self, place: RegLane) -> u128 {
        let mut bits = 0;
        let mut shift = 0;
        for variable in self.variables.of(place) {
            if shift < 128 {
                bits |= self.registers[variable as usize] << shift;
            }
            shift += u32::from(self.width(variable));
        }
        bits
    }

    /// The address of a variable in its space.
    fn address(&self, operand: Operand) -> Option<u64> {
        let body = self.facts.body();
        let module = self.facts.module();
        let (name, space) = match operand {
            Operand::Var(id) => (body.vars().get(id)?.name, body.vars().get(id)?.space),
            Operand::Symbol(id) => {
                let symbol = module.symbols().get(id)?;
                let space = match symbol.kind {
                    SymbolKind::Variable(_, id) => module.declarations().decls.get(id)?.space,
                    _ => StateSpace::Global,
                };
                (symbol.name, space)
            }
            Operand::Name(name) => (name, StateSpace::Global),
            _ => return None,
        };
        let slot = Hash::new(1).text(module.name(name)).value() & 0x3fff;
        Some(slot * 256 + window(space) / 0x1000)
    }

    /// The bits of an operand; those of vectors one after the other in `values`.
    pub(crate) fn read(&self, operand: Operand, values: &mut Vec<u128>) {
        let pool = &self.facts.body().pool();
        match operand {
            Operand::Vector(list) | Operand::Bracket(list) | Operand::List(list) => {
                for &part in pool.list(list) {
                    self.read(part, values);
                }
            }
            Operand::Pair(at) => {
                let (a, b) = pool.pair(at);
                self.read(a, values);
                self.read(b, values);
            }
            other => values.push(self.scalar(other)),
        }
    }

    /// The bits of an operand that has no parts.
    pub(crate) fn scalar(&self, operand: Operand) -> u128 {
        let pool = &self.facts.body().pool();
        match operand {
            Operand::Reg(register) => self.register(register.into()),
            Operand::Lane(selector, at) => match (pool.get(at), selector.element()) {
                (Operand::Reg(register), lane @ Some(_)) => {
                    self.register(RegLane { register, lane })
                }
                (inner, _) => Hash::new(selector.bits().into())
                    .wide(self.scalar(inner))
                    .bits(),
            },
            Operand::Special(register) => {
                let hash = Hash::new(self.seed).text(register.text());
                let changes = if register.is_volatile() {
                    self.effects
                } else {
                    0
                };
                (hash.number(changes).value() & 0xffff_ffff).into()
            }
            Operand::Small(value) => i128::from(value) as u128,
            Operand::Imm(id) => pool.immediate(id).map_or(0, |i| match i.value.kind() {
                ConstKind::Signed => i128::from(i.value.bits() as i64) as u128,
                _ => i.value.bits().into(),
            }),
            Operand::Not(at) => self.scalar(pool.get(at)) ^ 1,
            Operand::Neg(at) => self.scalar(pool.get(at)).wrapping_neg(),
            Operand::Address(id) => pool.address(id).map_or(0, |a| {
                let offset = match a.offset {
                    Operand::Absent => 0,
                    other => self.scalar(other),
                };
                self.scalar(a.base).wrapping_add(offset) & ones(64)
            }),
            Operand::Label(id) => {
                let name = self.facts.body().labels().get(id).map(|l| l.name);
                let name = name.map_or("", |n| self.facts.module().name(n));
                Hash::new(2).text(name).bits()
            }
            other => self.address(other).unwrap_or(0).into(),
        }
    }
}
