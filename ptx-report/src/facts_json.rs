//! What is known of the instructions of a function, as JSON.

use std::borrow::Cow;
use std::io::Write as _;

use ptx_analysis::reg_lanes::Variables;
use ptx_ir::facts::{Facts, MemoryAccess, Mentions, RegLane, RegUse};
use ptx_ir::{Body, Module, NameId, Operand};
use ptx_isa::Modifier;

use crate::json_text::{comma, flag, optional, raw, string, word};
use crate::labels;
use crate::register_names::RegisterNames;

/// Writes the facts of the instructions of a function.
pub struct FactsWriter<'a> {
    module: &'a Module,
    body: &'a Body,
    variables: Variables,
    names: RegisterNames,
    /// For each variable the last list that it was added to.
    seen: Vec<u32>,
    list: u32,
}

impl<'a> FactsWriter<'a> {
    pub fn new(module: &'a Module, body: &'a Body) -> Self {
        let variables = Variables::new(body);
        Self {
            names: RegisterNames::new(module, body, &variables),
            seen: vec![0; variables.len()],
            list: 0,
            module,
            body,
            variables,
        }
    }

    pub fn names(&self) -> &RegisterNames {
        &self.names
    }

    /// The name of a register.
    #[inline]
    pub fn register(&self, place: RegLane) -> &str {
        self.names.get(self.variables.of(place).start)
    }

    /// The name that an operand is; `None` for other operands.
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

    /// The register of the guard, after `!` if it is inverted; `null` without a guard.
    pub fn guard(&self, facts: &Facts<'_>, out: &mut Vec<u8>) {
        let Some(guard) = facts.guard() else {
            return raw(out, "null");
        };
        raw(out, if guard.negated { "\"!" } else { "\"" });
        match (
            facts.guard_register(),
            self.body.pool().get(guard.predicate),
        ) {
            (Some((place, _)), _) => raw(out, self.register(place)),
            (None, Operand::Name(name)) => raw(out, self.module.name(name)),
            (None, other) => raw(out, &self.name(other).unwrap_or_default()),
        }
        out.push(b'"');
    }

    /// The other facts of an instruction, a comma before each.
    pub fn effects(&mut self, facts: &Facts<'_>, out: &mut Vec<u8>) {
        self.mentions(&facts.registers(), out);
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
    pub fn unknown(&mut self, mentions: &Mentions<'_>, out: &mut Vec<u8>) {
        self.mentions(mentions, out);
        raw(out, ",\"memory\":[");
        self.access(&MemoryAccess::ANY, out);
        raw(out, "],\"side_effects\":true,\"known\":false");
    }

    fn mentions(&mut self, mentions: &Mentions<'_>, out: &mut Vec<u8>) {
        raw(out, ",\"reads\":[");
        self.registers(mentions, |m| m.usage.reads(), out);
        raw(out, "],\"writes\":[");
        self.registers(mentions, |m| m.usage.writes(), out);
        raw(out, "],\"cond_writes\":[");
        self.registers(mentions, |m| m.usage.may_write(), out);
        out.push(b']');
    }

    /// The names of the mentions that `belong`, each once.
    fn registers(
        &mut self,
        mentions: &Mentions<'_>,
        belong: impl Fn(&RegUse) -> bool,
        out: &mut Vec<u8>,
    ) {
        self.list += 1;
        let mut first = true;
        for mention in mentions.clone().filter(belong) {
            for variable in self.variables.of(mention.place) {
                let seen = self.seen.get_mut(variable as usize);
                if seen.is_some_and(|seen| std::mem::replace(seen, self.list) != self.list) {
                    comma(out, &mut first);
                    word(out, self.names.get(variable));
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
