//! The facts of the instructions of a function as JSON.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Write as _;

use ptx_analysis::reg_lanes::Variables;
use ptx_ir::facts::{Facts, MemoryAccess, Mentions, RegLane, RegUse};
use ptx_ir::{Body, Module, NameId, Operand};
use ptx_isa::Modifier;
use smallvec::SmallVec;

use crate::json_text::{comma, flag, optional, raw, string, word};
use crate::labels;
use crate::register_names::RegisterNames;

/// Writes the facts of the instructions of a function.
#[derive(Debug)]
pub struct FactsWriter<'a> {
    module: &'a Module,
    body: &'a Body,
    variables: Variables,
    names: RegisterNames,
    /// For each variable the last list that it was added to, and the number of that list.
    seen: RefCell<(Vec<u32>, u32)>,
}

impl<'a> FactsWriter<'a> {
    /// For the function with this body.
    #[must_use]
    pub fn new(module: &'a Module, body: &'a Body) -> Self {
        let variables = Variables::new(body);
        Self {
            names: RegisterNames::new(module, body, &variables),
            seen: RefCell::new((vec![0; variables.len()], 0)),
            module,
            body,
            variables,
        }
    }

    /// The names of the registers.
    #[must_use]
    pub fn names(&self) -> &RegisterNames {
        &self.names
    }

    /// The name of a register.
    #[inline]
    #[must_use]
    pub fn register(&self, place: RegLane) -> &str {
        self.names.get(self.variables.of(place).start)
    }

    /// The names of the registers of a place: several for a whole vector register.
    pub fn names_of(&self, place: RegLane) -> impl Iterator<Item = &str> {
        self.variables.of(place).map(|v| self.names.get(v))
    }

    /// The name that an operand is; `None` for other operands.
    #[must_use]
    pub fn name(&self, operand: Operand) -> Option<Cow<'_, str>> {
        let numbered = |name: NameId, number: Option<u32>| {
            let name = self.module.name(name);
            match number {
                Some(number) => Cow::Owned(format!("{name}{number}")),
                None => Cow::Borrowed(name),
            }
        };
        Some(match operand {
            Operand::Reg(register) => Cow::Borrowed(self.register(register.into())),
            Operand::Symbol(id) => {
                let symbol = self.module.symbols().get(id)?;
                numbered(symbol.name, symbol.number)
            }
            Operand::Var(id) => {
                let var = self.body.vars().get(id)?;
                numbered(var.name, var.number)
            }
            _ => return None,
        })
    }

    /// The register of the guard, after `!` if it is inverted; nothing without a guard.
    pub fn guard_text(&self, facts: &Facts<'_>, each: &mut dyn FnMut(&str)) {
        let Some(guard) = facts.guard() else { return };
        let predicate = self.body.pool().get(guard.predicate);
        let name = match (facts.guard_register(), predicate) {
            (Some((place, _)), _) => Cow::Borrowed(self.register(place)),
            (None, Operand::Name(name)) => Cow::Borrowed(self.module.name(name)),
            (None, other) => self.name(other).unwrap_or_default(),
        };
        match guard.negated {
            true => each(&format!("!{name}")),
            false => each(&name),
        }
    }

    /// The same as JSON; `null` without a guard.
    pub fn guard(&self, facts: &Facts<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        self.guard_text(facts, &mut |text| word(out, text));
        if out.len() == start {
            raw(out, "null");
        }
    }

    /// The other facts of an instruction, a comma before each.
    pub fn effects(&self, facts: &Facts<'_>, out: &mut Vec<u8>) {
        self.mentions(facts.registers(), out);
        raw(out, ",\"memory\":[");
        let mut first = true;
        for access in facts.memory() {
            comma(out, &mut first);
            self.access(&access, out);
        }
        raw(out, "],\"side_effects\":");
        flag(out, facts.has_side_effects());
        raw(out, ",\"known\":");
        flag(out, facts.is_known());
    }

    /// Those of a statement that was not recognized.
    pub fn unknown(&self, mentions: Mentions<'_>, out: &mut Vec<u8>) {
        self.mentions(mentions, out);
        raw(out, ",\"memory\":[");
        self.access(&MemoryAccess::ANY, out);
        raw(out, "],\"side_effects\":true,\"known\":false");
    }

    fn mentions(&self, mentions: Mentions<'_>, out: &mut Vec<u8>) {
        let mentions: SmallVec<[RegUse; 8]> = mentions.collect();
        raw(out, ",\"reads\":[");
        self.registers(&mentions, |m| m.usage.reads(), out);
        raw(out, "],\"writes\":[");
        self.registers(&mentions, |m| m.usage.writes(), out);
        raw(out, "],\"cond_writes\":[");
        self.registers(&mentions, |m| m.usage.may_write(), out);
        out.push(b']');
    }

    fn registers(&self, mentions: &[RegUse], belong: impl Fn(&RegUse) -> bool, out: &mut Vec<u8>) {
        let mut first = true;
        let mentions = mentions.iter().copied();
        self.each_register(mentions, belong, |name: &str| {
            comma(out, &mut first);
            word(out, name);
        });
    }

    /// The names of the mentions that `belong`, each once.
    #[inline]
    pub fn each_register(
        &self,
        mentions: impl Iterator<Item = RegUse>,
        belong: impl Fn(&RegUse) -> bool,
        mut each: impl FnMut(&str),
    ) {
        let (seen, list) = &mut *self.seen.borrow_mut();
        *list += 1;
        for mention in mentions.filter(belong) {
            for variable in self.variables.of(mention.place) {
                let last = seen.get_mut(variable as usize);
                if last.is_some_and(|last| std::mem::replace(last, *list) != *list) {
                    each(self.names.get(variable));
                }
            }
        }
    }

    fn access(&self, access: &MemoryAccess, out: &mut Vec<u8>) {
        raw(out, "{\"space\":");
        word(out, labels::space(access.space));
        raw(out, ",\"bytes\":");
        number_or_null(out, access.bytes);
        raw(out, ",\"access\":");
        word(out, labels::access(access.access));
        let mut modifier = |key: &str, modifier: Option<Modifier>| {
            raw(out, key);
            optional(out, modifier.map(|m| m.text().trim_start_matches('.')));
        };
        modifier(",\"order\":", access.order);
        modifier(",\"scope\":", access.scope);
        raw(out, ",\"base\":");
        match access.base.and_then(|base| self.name(base)) {
            Some(name) => string(out, &name),
            None => raw(out, "null"),
        }
        raw(out, ",\"offset\":");
        number_or_null(out, access.offset);
        out.push(b'}');
    }
}

fn number_or_null(out: &mut Vec<u8>, value: Option<impl std::fmt::Display>) {
    match value {
        Some(value) => drop(write!(out, "{value}")),
        None => raw(out, "null"),
    }
}
