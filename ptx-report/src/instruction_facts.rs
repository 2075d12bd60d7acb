//! The facts of instructions with the names of registers and variables, for JSON and for bindings.

use std::borrow::Cow;
use std::cell::RefCell;

use ptx_analysis::reg_lanes::Variables;
use ptx_ir::facts::{Facts, MemoryAccess, Mentions, RegUse, RegisterComponent, Space};
use ptx_ir::{Body, EntityId as _, Module, NameId, Operand};
use ptx_isa::{self, Modifier};
use serde::Serialize;
use smallvec::SmallVec;

use crate::labels::{Labeled, without_dot};
use crate::register_names::RegisterNames;

/// The facts of an instruction, or of an unrecognized statement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InstructionFacts<'a> {
    /// The registers that are read, including the guard.
    pub reads: Names<'a>,
    /// The registers that are always written.
    pub writes: Names<'a>,
    /// The registers that may be written: under a guard, or by an unrecognized statement.
    pub cond_writes: Names<'a>,
    /// The accesses to memory.
    pub memory: Vec<Access<'a>>,
    /// The instruction has effects other than writing its registers.
    pub side_effects: bool,
    /// The instruction is legal; otherwise it may read and write every register that it mentions.
    pub known: bool,
}

/// Names of registers, each once.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Names<'a>(
    #[cfg_attr(feature = "schema", schemars(with = "Vec<&str>"))] SmallVec<[&'a str; 4]>,
);

impl<'a> FromIterator<&'a str> for Names<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

/// An access to memory.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Access<'a> {
    /// The memory; `any` if the instruction does not state it.
    pub space: Labeled<Space>,
    /// The largest number of bytes that a thread accesses, if it is known.
    pub bytes: Option<u64>,
    /// The kind of the access.
    pub access: Labeled<ptx_isa::Access>,
    /// The memory order, such as `relaxed`.
    pub order: Option<&'static str>,
    /// The scope, such as `gpu`.
    pub scope: Option<&'static str>,
    /// The register or variable that the address starts from.
    pub base: Option<Cow<'a, str>>,
    /// The constant that is added to it, in bytes.
    pub offset: Option<i64>,
}

/// The names in the facts of the instructions of a function.
#[derive(Debug)]
pub struct FactNames<'a> {
    module: &'a Module,
    body: &'a Body,
    variables: Variables,
    registers: RegisterNames,
    /// For each variable the number of the last list that contains it, and the number of the current list.
    seen: RefCell<(Vec<u32>, u32)>,
}

impl<'a> FactNames<'a> {
    /// The names of the function with this body.
    #[must_use]
    pub fn new(module: &'a Module, body: &'a Body) -> Self {
        let variables = Variables::new(body);
        Self {
            registers: RegisterNames::new(module, body, &variables),
            seen: RefCell::new((vec![0; variables.len()], 0)),
            module,
            body,
            variables,
        }
    }

    /// The names of the registers, by variable.
    #[must_use]
    pub fn registers(&self) -> &RegisterNames {
        &self.registers
    }

    /// The name of a register; of a whole vector register, that of its first element.
    #[inline]
    #[must_use]
    pub fn register(&self, place: RegisterComponent) -> &str {
        self.registers.get(self.variables.of(place).first())
    }

    /// The names of the registers of a place: several for a whole vector register.
    pub fn names_of(&self, place: RegisterComponent) -> impl Iterator<Item = &str> {
        self.variables.of(place).map(|v| self.registers.get(v))
    }

    /// The name that an operand is; `None` for other operands.
    #[must_use]
    pub fn name(&self, operand: Operand) -> Option<Cow<'_, str>> {
        Some(match operand {
            Operand::Reg(register) => Cow::Borrowed(self.register(register.into())),
            Operand::Symbol(id) => {
                let symbol = self.module.symbols().get(id)?;
                numbered_name(self.module, symbol.name, symbol.number)
            }
            Operand::Var(id) => {
                let variable = self.body.vars().get(id)?;
                numbered_name(self.module, variable.name, variable.number)
            }
            _ => return None,
        })
    }

    /// The register of the guard, after `!` if it is inverted; `None` without a guard.
    #[must_use]
    pub fn guard(&self, facts: &Facts<'_>) -> Option<Cow<'_, str>> {
        let guard = facts.guard()?;
        let predicate = self.body.pool().get(guard.predicate);
        let name = match (facts.guard_register(), predicate) {
            (Some((place, _)), _) => Cow::Borrowed(self.register(place)),
            (None, Operand::Name(name)) => Cow::Borrowed(self.module.name(name)),
            (None, other) => self.name(other).unwrap_or_default(),
        };
        Some(if guard.sense.is_negated() {
            Cow::Owned(format!("!{name}"))
        } else {
            name
        })
    }

    /// The facts of an instruction.
    #[must_use]
    pub fn facts(&self, facts: &Facts<'_>) -> InstructionFacts<'_> {
        InstructionFacts {
            memory: facts.memory().map(|access| self.access(&access)).collect(),
            side_effects: facts.has_side_effects(),
            known: facts.is_known(),
            ..self.mentions(facts.registers())
        }
    }

    /// The facts of an unrecognized statement that mentions these registers.
    #[must_use]
    pub fn unrecognized(&self, mentions: Mentions<'_>) -> InstructionFacts<'_> {
        InstructionFacts {
            memory: vec![self.access(&MemoryAccess::ANY)],
            side_effects: true,
            known: false,
            ..self.mentions(mentions)
        }
    }

    fn mentions(&self, mentions: Mentions<'_>) -> InstructionFacts<'_> {
        let mentions: SmallVec<[RegUse; 8]> = mentions.collect();
        let select = |is_selected: fn(&RegUse) -> bool| {
            let mut names = Names::default();
            self.each_register(mentions.iter().copied(), is_selected, |name| {
                names.0.push(name);
            });
            names
        };
        InstructionFacts {
            reads: select(|mention| mention.usage.reads()),
            writes: select(|mention| mention.usage.writes()),
            cond_writes: select(|mention| mention.usage.may_write()),
            memory: Vec::new(),
            side_effects: false,
            known: false,
        }
    }

    /// Calls `each` with the name of each register whose mention `is_selected`, once per register.
    #[inline]
    pub fn each_register<'s>(
        &'s self,
        mentions: impl Iterator<Item = RegUse>,
        is_selected: impl Fn(&RegUse) -> bool,
        mut each: impl FnMut(&'s str),
    ) {
        let (seen, list) = &mut *self.seen.borrow_mut();
        *list += 1;
        for mention in mentions.filter(is_selected) {
            for variable in self.variables.of(mention.place) {
                let last = seen.get_mut(variable.index());
                if last.is_some_and(|last| std::mem::replace(last, *list) != *list) {
                    each(self.registers.get(variable));
                }
            }
        }
    }

    fn access(&self, access: &MemoryAccess) -> Access<'_> {
        let word = |modifier: Modifier| without_dot(modifier.text());
        Access {
            space: Labeled(access.space),
            bytes: access.bytes,
            access: Labeled(access.access),
            order: access.order.map(word),
            scope: access.scope.map(word),
            base: access.base.and_then(|base| self.name(base)),
            offset: access.offset,
        }
    }
}

/// The name of a variable or function, with the number of one that was declared together with others.
pub(crate) fn numbered_name(module: &Module, name: NameId, number: Option<u32>) -> Cow<'_, str> {
    let name = String::from_utf8_lossy(module.name_bytes(name));
    match number {
        Some(number) => Cow::Owned(format!("{name}{number}")),
        None => name,
    }
}
