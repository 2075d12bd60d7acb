//! Every load from global memory whose neighbouring threads do not read neighbouring elements.
//!
//! The *stride* of a value is how much larger it is in the next thread of a warp, which is taken to go the same way:
//! 1 for `%tid.x`, 0 for what is the same everywhere. Sums, differences, products with constants, shifts and
//! conversions are followed, through loops too. What is unknown, such as an index loaded from memory, is not
//! reported; neither are loads where all threads read the same.
//!
//! `cargo run -p ptx-examples --bin uncoalesced -- FILE`

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reaching::Reaching;
use ptx_ir::facts::{FunctionFacts, ModuleFacts, RegLane, Space};
use ptx_ir::{InstId, LineIndex, Operand, Statement, StmtId};
use ptx_isa::{Access, Modifier, Opcode, SpecialReg, StateSpace};

/// What is known of a value. It only ever moves down this list.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Stride {
    /// Nothing has come here yet.
    Unseen,
    Known(i64),
    Unknown,
}
use Stride::{Known, Unknown, Unseen};

impl Stride {
    /// Where two definitions meet.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Unseen, other) => other,
            (this, Unseen) => this,
            (a, b) if a == b => a,
            _ => Unknown,
        }
    }

    fn with(self, other: Self, f: impl Fn(i64, i64) -> Option<i64>) -> Self {
        match (self, other) {
            (Unknown, _) | (_, Unknown) => Unknown,
            (Known(a), Known(b)) => f(a, b).map_or(Unknown, Known),
            _ => Unseen,
        }
    }
}

struct Strides<'a> {
    of: FunctionFacts<'a>,
    analysis: &'a FunctionAnalysis<'a>,
    reaching: &'a Reaching,
    /// Of each definition.
    defs: Vec<Stride>,
}

impl Strides<'_> {
    /// Looks at all definitions until nothing changes.
    fn solve(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (id, site) in self.reaching.defs() {
                let nth = id.as_u32() as usize;
                let new = match self.of.body().statement(site.stmt) {
                    Some(Statement::Inst(inst)) => self.result(site.stmt, inst),
                    _ => Unknown,
                };
                let joined = self.defs[nth].join(new);
                changed |= std::mem::replace(&mut self.defs[nth], joined) != joined;
            }
        }
    }

    /// Of what a statement reads.
    fn operand(&self, at: StmtId, operand: Operand) -> Stride {
        match operand {
            Operand::Small(_) | Operand::Imm(_) | Operand::Var(_) | Operand::Symbol(_) => Known(0),
            Operand::Special(SpecialReg::Laneid) => Known(1),
            Operand::Special(r) if r.is_volatile() || r.text().contains("lanemask") => Unknown,
            Operand::Special(_) => Known(0),
            Operand::Lane(selector, inner) => match self.of.body().pool().get(inner) {
                Operand::Special(SpecialReg::Tid) => {
                    Known(i64::from(selector.element() == Some(0)))
                }
                Operand::Special(_) => Known(0),
                _ => Unknown,
            },
            Operand::Reg(register) => self.register(at, register.into()),
            _ => Unknown,
        }
    }

    /// Of the definitions that reach a read.
    fn register(&self, at: StmtId, place: RegLane) -> Stride {
        let mut variables = self.analysis.variables().of(place);
        let read = variables.next().and_then(|v| self.reaching.read(at, v));
        match read {
            Some(read) if !self.reaching.may_be_uninitialized(read) => {
                let defs = self.reaching.defs_of(read).iter();
                defs.fold(Unseen, |all, d| all.join(self.defs[d.as_u32() as usize]))
            }
            _ => Unknown,
        }
    }

    /// What an instruction makes of its operands.
    fn result(&self, at: StmtId, inst: InstId) -> Stride {
        let (body, module) = (self.of.body(), self.of.module());
        let operands = body.operands(inst);
        let of = |n: usize| operands.get(n).map_or(Unknown, |&o| self.operand(at, o));
        let number = |n: usize| match operands.get(n) {
            Some(&Operand::Small(value)) => Some(i64::from(value)),
            Some(&Operand::Imm(id)) => body.pool().immediate(id)?.value.as_int(),
            _ => None,
        };
        // Equal factors of all threads make equal products; a number scales a stride.
        let product = || {
            of(1).with(of(2), |a, b| match (a, b) {
                (0, 0) => Some(0),
                (0, b) => b.checked_mul(number(1)?),
                (a, 0) => a.checked_mul(number(2)?),
                _ => None,
            })
        };
        let signature = body.inst(inst).map(|i| module.signature(i.sig));
        let Some((opcode, signature)) = signature.and_then(|s| Some((s.opcode()?, s))) else {
            return Unknown;
        };
        let high = signature.modifiers().any(|m| m == Modifier::Hi);
        let facts = self.of.inst(inst);
        match opcode {
            Opcode::Mov | Opcode::Cvta | Opcode::Cvt => of(1),
            Opcode::Add => of(1).with(of(2), i64::checked_add),
            Opcode::Sub => of(1).with(of(2), i64::checked_sub),
            Opcode::Shl => of(1).with(of(2), |a, _| a.checked_mul(1 << number(2)?.clamp(0, 62))),
            Opcode::Mul if !high => product(),
            Opcode::Mad if !high => product().with(of(3), i64::checked_add),
            Opcode::Ld if signature.state_space() == Some(StateSpace::Param) => Known(0),
            // Whatever it computes, it computes the same of the same.
            _ if facts.may_be_moved() && facts.memory().next().is_none() => {
                let same = |a, b| (a == 0 && b == 0).then_some(0);
                (1..operands.len()).fold(Known(0), |all, n| all.with(of(n), same))
            }
            _ => Unknown,
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let source = std::fs::read(path)?;
    let lines = LineIndex::new(&source);
    let module = ptx_parse::parse(&source).module;
    let facts = ModuleFacts::new(&module);
    for (id, function, body) in module.definitions() {
        let Some(of) = facts.function(id) else {
            continue;
        };
        let analysis = FunctionAnalysis::new(of);
        let reaching = analysis.reaching();
        let mut strides = Strides {
            of,
            analysis: &analysis,
            reaching,
            defs: vec![Unseen; reaching.defs().len()],
        };
        strides.solve();
        for (stmt, statement) in body.statements() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            for access in of.inst(inst).memory() {
                let global = access.space == Space::State(StateSpace::Global);
                let (Some(base), Some(bytes)) = (access.base, access.bytes) else {
                    continue;
                };
                if access.access != Access::Read || !global {
                    continue;
                }
                if let Known(stride) = strides.operand(stmt, base)
                    && stride != 0
                    && stride.unsigned_abs() != bytes
                {
                    println!(
                        "{}:{}: {bytes} bytes each, {stride} bytes from thread to thread",
                        module.name(function.name),
                        lines.position(body.source_span(stmt).start).line
                    );
                }
            }
        }
    }
    Ok(())
}
