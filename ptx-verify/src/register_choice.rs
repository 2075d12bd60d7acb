//! Chooses the register that is probably meant where an instruction does not accept an operand. Used for errors only.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{
    Body, EntityId, Module, Operand, RegDecl, RegDeclId, RegId, SigId, Statement, StmtId,
};
use ptx_isa::{Role, ScalarType};

/// A register in an instruction.
#[derive(Copy, Clone, Debug)]
struct Mention {
    stmt: StmtId,
    register: RegId,
    is_written: bool,
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
pub(crate) struct Requirements<'a> {
    pub(crate) stmt: StmtId,
    pub(crate) purpose: Purpose,
    /// The legal types, the best first.
    pub(crate) types: &'a [ScalarType],
}

/// A register with the reason why it may be meant.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) name: String,
    /// `None` if other registers are as likely.
    pub(crate) reason: Option<&'static str>,
}

impl RegisterUses {
    pub(crate) fn new(module: &Module, body: &Body) -> Self {
        let mut mentions = Vec::new();
        for (stmt, statement) in body.statements() {
            let Statement::Inst(id) = statement else {
                continue;
            };
            let Some(inst) = body.inst(id) else { continue };
            let guard = inst
                .guard()
                .map(|guard| (body.pool().get(guard.predicate), false));
            let writes_first_operand = writes_first_operand(module, inst.sig);
            let operands = body
                .operands(id)
                .iter()
                .enumerate()
                .map(|(index, operand)| (*operand, index == 0 && writes_first_operand));
            for (operand, is_written) in guard.into_iter().chain(operands) {
                for part in body.pool().walk_operand(operand) {
                    if let Operand::Reg(register) = part {
                        mentions.push(Mention {
                            stmt,
                            register,
                            is_written,
                        });
                    }
                }
            }
        }
        Self { mentions }
    }

    /// Returns the register that is meant in a statement, apart from those in `excluded`. To be read: the nearest register that is written before
    /// it, if possible one that is not read elsewhere. To be written: the nearest register that is read after it and not written elsewhere, or else
    /// one that is not used.
    pub(crate) fn choose(
        &self,
        module: &Module,
        body: &Body,
        requirements: Requirements<'_>,
        excluded: &[String],
    ) -> Option<Choice> {
        let Requirements {
            stmt,
            purpose,
            types,
        } = requirements;
        let is_write = purpose == Purpose::Write;
        let index = self
            .mentions
            .partition_point(|mention| body.precedes(mention.stmt, stmt));
        let (earlier, later) = self.mentions.split_at_checked(index)?;
        // The registers that are used for the same purpose, also by other operands of this statement.
        let mut is_used = vec![false; body.registers().len()];
        for mention in &self.mentions {
            if mention.is_written == is_write
                && let Some(is_used) = is_used.get_mut(mention.register.index())
            {
                *is_used = true;
            }
        }
        let candidate = |(distance, mention): (usize, &Mention)| {
            let register = mention.register;
            let decl = body.reg_decl_of(register)?;
            let ty = decl.ty.known().filter(|_| is_visible(decl))?;
            let rank = types.iter().position(|other| *other == ty)?;
            let is_used = is_used.get(register.index()).is_some_and(|used| *used);
            let is_excluded = excluded.contains(&name(module, body, register));
            let is_rejected = is_excluded || is_used && is_write;
            (!is_rejected).then_some(Candidate {
                is_used,
                rank,
                distance,
                register,
            })
        };
        let best = match purpose {
            Purpose::Read => earlier
                .iter()
                .rev()
                .filter(|mention| mention.is_written)
                .enumerate()
                .filter_map(candidate)
                .min(),
            Purpose::Write => later
                .iter()
                .filter(|mention| mention.stmt != stmt && !mention.is_written)
                .enumerate()
                .filter_map(candidate)
                .min(),
        };
        let reason = match purpose {
            Purpose::Read => "which is written and not read",
            Purpose::Write => "which is read and not written",
        };
        match best {
            Some(best) => Some(Choice {
                name: name(module, body, best.register),
                reason: (!best.is_used).then_some(reason),
            }),
            None if is_write => self.choose_unused(module, body, types),
            None => None,
        }
    }

    /// Returns a register of a range that no instruction uses.
    fn choose_unused(&self, module: &Module, body: &Body, types: &[ScalarType]) -> Option<Choice> {
        let (id, decl) = types.iter().find_map(|ty| first_range(body, *ty))?;
        let mut used_numbers: Vec<u32> = self
            .mentions
            .iter()
            .filter_map(|mention| body.registers().get(mention.register))
            .filter(|register| register.decl == id)
            .map(|register| register.number)
            .collect();
        used_numbers.sort_unstable();
        let unused = (0..decl.count?).find(|number| used_numbers.binary_search(number).is_err())?;
        Some(Choice {
            name: format!("{}{unused}", module.name(decl.name)),
            reason: Some("which is not used"),
        })
    }
}

/// A register that may be meant. The best one is the least.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    is_used: bool,
    /// The index of the type among the legal types.
    rank: usize,
    /// The number of mentions between the statement and that of the register.
    distance: usize,
    register: RegId,
}

/// Returns the first range of registers of a type in the text, which in an edited body need not be that with the lowest id.
fn first_range(body: &Body, ty: ScalarType) -> Option<(RegDeclId, &RegDecl)> {
    body.reg_decls()
        .iter()
        .filter(|(_, decl)| {
            let is_removed = decl
                .stmt
                .is_some_and(|stmt| body.statement(stmt) == Some(Statement::Removed));
            decl.ty.known() == Some(ty) && decl.count.is_some() && is_visible(decl) && !is_removed
        })
        .reduce(|first, next| match (first.1.stmt, next.1.stmt) {
            (Some(a), Some(b)) if body.precedes(b, a) => next,
            _ => first,
        })
}

/// Returns `true` for scalar registers that are declared outside of blocks.
fn is_visible(decl: &RegDecl) -> bool {
    decl.scope.index() == 0 && decl.vector < 2
}

/// Returns the name of a register.
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

/// Returns `true` if the first operand of a form of the instruction is a register that is written.
fn writes_first_operand(module: &Module, sig: SigId) -> bool {
    let Some(instruction) = module.signature(sig).instruction() else {
        return false;
    };
    instruction.forms().iter().any(|form| {
        form.operands()
            .first()
            .is_some_and(|operand| matches!(operand.role(), Role::Def | Role::ReadWrite))
    })
}
