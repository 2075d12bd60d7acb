//! The register that is probably meant if an instruction does not accept an operand. Computed for errors only.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Body, EntityId, Module, Operand, RegId, SigId, Statement, StmtId};
use ptx_isa::{Role, ScalarType};

/// A register in an instruction.
#[derive(Copy, Clone, Debug)]
struct Mention {
    stmt: StmtId,
    register: RegId,
    written: bool,
}

/// The registers that the instructions of a body mention, in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct RegisterUses {
    mentions: Vec<Mention>,
}

/// The access of an instruction to the register.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Read,
    Write,
}

/// The requirements of the register that is meant.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) stmt: StmtId,
    pub(crate) purpose: Purpose,
    /// The types that it may have, the best first.
    pub(crate) types: &'a [ScalarType],
}

/// A register with the reason why it may be meant.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) name: String,
    /// Why it is likely; `None` where others would do as well.
    pub(crate) reason: Option<&'static str>,
}

impl RegisterUses {
    pub(crate) fn of(module: &Module, body: &Body) -> Self {
        let mut mentions = Vec::new();
        for (stmt, statement) in body.statements() {
            let Statement::Inst(id) = statement else {
                continue;
            };
            let Some(inst) = body.inst(id) else { continue };
            let guard = inst.guard().map(|g| (body.pool().get(g.predicate), false));
            let defines = writes_first(module, inst.sig);
            let operands = body.operands(id).iter().copied().enumerate();
            let operands = operands.map(|(i, operand)| (operand, i == 0 && defines));
            for (operand, written) in guard.into_iter().chain(operands) {
                let parts = body.pool().walk_operand(operand);
                let registers = parts.filter_map(|o| match o {
                    Operand::Reg(register) => Some(register),
                    _ => None,
                });
                mentions.extend(registers.map(|register| Mention {
                    stmt,
                    register,
                    written,
                }));
            }
        }
        Self { mentions }
    }

    /// The register that is meant in a statement, apart from those that are `taken`: one that is written before and not read
    /// anywhere, or read after it and not written; else the last one that is written before it, or one that is not used.
    pub(crate) fn choose(
        &self,
        module: &Module,
        body: &Body,
        wanted: Wanted<'_>,
        taken: &[String],
    ) -> Option<Choice> {
        let writes = wanted.purpose == Purpose::Write;
        let index = self
            .mentions
            .partition_point(|m| body.precedes(m.stmt, wanted.stmt));
        let (earlier, later) = self.mentions.split_at_checked(index)?;
        let mut used = vec![false; body.registers().len()];
        for mention in &self.mentions {
            if mention.stmt != wanted.stmt
                && mention.written == writes
                && let Some(used) = used.get_mut(mention.register.index())
            {
                *used = true;
            }
        }
        let key = |(place, m): (usize, &Mention)| {
            let decl = body.reg_decl_of(m.register)?;
            let ty = decl.ty.known().filter(|_| is_visible(decl));
            let rank = wanted.types.iter().position(|t| Some(*t) == ty)?;
            let used = used.get(m.register.index()).is_some_and(|u| *u);
            let taken = taken.contains(&name(module, body, m.register)) || used && writes;
            (!taken).then_some((used, rank, place, m.register))
        };
        let best = match wanted.purpose {
            Purpose::Read => {
                let written = earlier.iter().rev().filter(|m| m.written);
                written.enumerate().filter_map(key).min()
            }
            Purpose::Write => {
                let read = later.iter().filter(|m| m.stmt != wanted.stmt && !m.written);
                read.enumerate().filter_map(key).min()
            }
        };
        let reason = match wanted.purpose {
            Purpose::Read => "which is written and not read",
            Purpose::Write => "which is read and not written",
        };
        match best {
            Some((used, .., register)) => Some(Choice {
                name: name(module, body, register),
                reason: (!used).then_some(reason),
            }),
            None if writes => self.unused(module, body, wanted.types),
            None => None,
        }
    }

    /// A register of a range that no instruction uses.
    fn unused(&self, module: &Module, body: &Body, types: &[ScalarType]) -> Option<Choice> {
        // The first declaration in the text, which in an edited body need not be that with the lowest id.
        let first_of_type = |ty: &ScalarType| {
            let ranges = body.reg_decls().iter().filter(|(_, d)| {
                let is_removed = d
                    .stmt
                    .is_some_and(|stmt| body.statement(stmt) == Some(Statement::Removed));
                d.ty.known() == Some(*ty) && d.count.is_some() && is_visible(d) && !is_removed
            });
            ranges.reduce(|first, next| match (first.1.stmt, next.1.stmt) {
                (Some(a), Some(b)) if body.precedes(b, a) => next,
                _ => first,
            })
        };
        let (id, decl) = types.iter().find_map(first_of_type)?;
        let registers = self.mentions.iter();
        let registers = registers.filter_map(|m| body.registers().get(m.register));
        let mut numbers: Vec<u32> = registers
            .filter(|r| r.decl == id)
            .map(|r| r.number)
            .collect();
        numbers.sort_unstable();
        let free = (0..decl.count?).find(|n| numbers.binary_search(n).is_err())?;
        Some(Choice {
            name: format!("{}{free}", module.name(decl.name)),
            reason: Some("which is not used"),
        })
    }
}

/// Whether statements outside of blocks see a scalar register.
fn is_visible(decl: &ptx_ir::RegDecl) -> bool {
    decl.scope.index() == 0 && decl.vector < 2
}

/// The name of a register.
pub(crate) fn name(module: &Module, body: &Body, id: RegId) -> String {
    let Some(decl) = body.reg_decl_of(id) else {
        return String::new();
    };
    let name = module.name(decl.name);
    match body.registers().get(id) {
        Some(register) if decl.count.is_some() => format!("{name}{}", register.number),
        _ => String::from(name),
    }
}

/// Whether the first operand is a register that is written.
fn writes_first(module: &Module, sig: SigId) -> bool {
    let instruction = module.signature(sig).instruction();
    let forms = instruction.map_or(&[][..], |i| i.forms());
    let mut first = forms.iter().filter_map(|f| f.operands().first());
    first.any(|o| matches!(o.role(), Role::Def | Role::ReadWrite))
}
