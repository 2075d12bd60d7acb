//! Resolves the rules, tables and effects of a form.

use crate::bind::{Binder, Owner};
use crate::input::{Error, Result, Word};
use crate::notation as ast;
use crate::schema::{
    Availability, Cell, Cond, Effect, EffectKind, ModifierSource, Row, RuleKind, Table,
};
use crate::vocabulary::Vocabulary;

impl Binder<'_> {
    /// The resolved condition of a statement; without one the statement always applies.
    pub(crate) fn when(&mut self, cond: Option<&ast::Cond>, owner: Owner) -> Result<Cond> {
        cond.map_or(Ok(Cond::Always), |cond| self.cond(cond, owner))
    }

    fn since(&self, list: &[ast::Since]) -> Result<Vec<Availability>> {
        since(self.vocabulary, list)
    }

    /// The rule for this form; `None` where it cannot be violated.
    pub(crate) fn rule(&mut self, rule: &ast::Rule, owner: Owner) -> Result<Option<RuleKind>> {
        let kind = match &rule.kind {
            ast::RuleKind::Require(when, then) => {
                let when = self.when(when.as_ref(), owner)?;
                if when == Cond::Never {
                    return Ok(None);
                }
                RuleKind::Require(when, self.cond(then, owner)?)
            }
            ast::RuleKind::Deny(cond) => RuleKind::Deny(self.cond(cond, owner)?),
            ast::RuleKind::RequiresTarget(when, list) => {
                RuleKind::RequiresTarget(self.when(when.as_ref(), owner)?, self.since(list)?)
            }
            ast::RuleKind::RemovedIn(when, list) => {
                RuleKind::RemovedIn(self.when(when.as_ref(), owner)?, self.since(list)?)
            }
            ast::RuleKind::Deprecated(when, list, instead) => RuleKind::Deprecated(
                self.when(when.as_ref(), owner)?,
                self.since(list)?,
                instead.clone(),
            ),
            ast::RuleKind::Ordered(low, high) => {
                match (self.operand_id(&low.text), self.operand_id(&high.text)) {
                    (Some(low), Some(high)) => RuleKind::Ordered(low, high),
                    _ => return Ok(None),
                }
            }
            ast::RuleKind::MustAgree { slot, warning } => match self.slot_id(&slot.text) {
                Some(slot) => RuleKind::MustAgree {
                    slot,
                    warning: *warning,
                },
                None => return Ok(None),
            },
        };
        let is_always_satisfied = match &kind {
            RuleKind::Require(when, then) => *when == Cond::Never || *then == Cond::Always,
            RuleKind::Deny(when)
            | RuleKind::RequiresTarget(when, _)
            | RuleKind::RemovedIn(when, _)
            | RuleKind::Deprecated(when, ..) => *when == Cond::Never,
            _ => false,
        };
        Ok((!is_always_satisfied).then_some(kind))
    }

    pub(crate) fn table(&mut self, table: &ast::Table) -> Result<Table> {
        let columns = table
            .columns
            .iter()
            .map(|name| self.need_slot(name))
            .collect::<Result<Vec<_>>>()?;
        let mut operands = Vec::new();
        for name in &table.operands {
            match self.operand_id(&name.text) {
                Some(operand) => operands.push(operand),
                None => {
                    let form = &self.form.pos;
                    return name.error(format!("{name} is not an operand of the form at {form}"));
                }
            }
        }
        let mut rows = Vec::new();
        for row in &table.rows {
            rows.push(Row {
                cells: row
                    .cells
                    .iter()
                    .zip(&columns)
                    .map(|(cell, &column)| self.cell(cell, column, row))
                    .collect::<Result<_>>()?,
                lengths: row.lengths.clone(),
                since: self.since(&row.since)?,
            });
        }
        Ok(Table {
            columns,
            operands,
            rows,
        })
    }

    fn cell(&self, cell: &ast::Cell, column: usize, row: &ast::Row) -> Result<Cell> {
        Ok(match cell {
            ast::Cell::Any => Cell::Any,
            ast::Cell::Absent => Cell::Absent,
            ast::Cell::Same(slot) => Cell::Same(self.need_slot(&Word {
                text: slot.clone(),
                pos: row.pos.clone(),
            })?),
            ast::Cell::Words(list) => {
                let mut ids = Vec::new();
                for text in list {
                    let slot = &self.slots[column];
                    match self.vocabulary.modifier_id(text).filter(|&m| slot.holds(m)) {
                        Some(id) => ids.push(id),
                        None => {
                            return Err(Error::new(
                                &row.pos,
                                format!("{text} is not an alternative of {}", slot.name),
                            ));
                        }
                    }
                }
                Cell::Words(ids)
            }
        })
    }

    /// The effect for this form; `None` if the form lacks the operand or the slot of the effect.
    pub(crate) fn effect(&mut self, effect: &ast::Effect, owner: Owner) -> Result<Option<Effect>> {
        let when = self.when(effect.when.as_ref(), owner)?;
        if when == Cond::Never {
            return Ok(None);
        }
        let kind = match &effect.kind {
            ast::EffectKind::Order(word) => self.source(word)?.map(EffectKind::Order),
            ast::EffectKind::Scope(word) => self.source(word)?.map(EffectKind::Scope),
            ast::EffectKind::Proxy(proxy) => Some(EffectKind::Proxy(*proxy)),
            ast::EffectKind::Control(control) => Some(EffectKind::Control(*control)),
            ast::EffectKind::Converge(scope) => Some(EffectKind::Converge(*scope)),
            ast::EffectKind::Lanes(name) => match self.operand_id(&name.text) {
                Some(operand) => Some(EffectKind::Lanes(operand)),
                None => self.missing(name, owner).map(|()| None)?,
            },
            ast::EffectKind::Async(completion, phase) => {
                Some(EffectKind::Async(*completion, *phase))
            }
            ast::EffectKind::Memory(access, space) => Some(EffectKind::Memory(
                *access,
                self.modifier(&space.text, &space.pos)?,
            )),
            ast::EffectKind::Carry(carry) => Some(EffectKind::Carry(*carry)),
            ast::EffectKind::Plain(plain) => Some(EffectKind::Plain(*plain)),
        };
        Ok(kind.map(|kind| Effect { when, kind }))
    }

    /// A modifier or the slot that holds it; `None` for a slot that only other forms of the block have.
    fn source(&self, word: &Word) -> Result<Option<ModifierSource>> {
        if let Some(slot) = self.slot_id(&word.text) {
            return Ok(Some(ModifierSource::Slot(slot)));
        }
        if self.block_names.contains(&word.text)
            && self.vocabulary.modifier_id(&word.text).is_none()
        {
            return Ok(None);
        }
        self.modifier(&word.text, &word.pos)
            .map(|id| Some(ModifierSource::Fixed(id)))
    }
}

/// Alternatives of versions and targets.
pub(crate) fn since(vocabulary: &Vocabulary, list: &[ast::Since]) -> Result<Vec<Availability>> {
    list.iter()
        .map(|since| availability(vocabulary, since))
        .collect()
}

fn availability(vocabulary: &Vocabulary, since: &ast::Since) -> Result<Availability> {
    let (major, minor) = since.version;
    if !vocabulary
        .versions
        .iter()
        .any(|v| v.version == since.version)
    {
        return Err(Error::new(
            &since.pos,
            format!("there is no version {major}.{minor}"),
        ));
    }
    let mut targets = if since.targets.is_empty() {
        u128::MAX >> (128 - vocabulary.targets.len())
    } else {
        0
    };
    for name in &since.targets {
        if let Some((first, end)) = name.text.split_once("..") {
            let (Some(first), Some(end)) = (vocabulary.target(first), vocabulary.target(end))
            else {
                return name.error(format!("{name} is not a range of targets"));
            };
            targets |= vocabulary.targets_with(first) & !vocabulary.targets_with(end);
            continue;
        }
        let target_name = name.text.trim_end_matches('+');
        let Some(target) = vocabulary.target(target_name) else {
            return name.error(format!("{target_name} is not a target of targets.isa"));
        };
        if name.text.ends_with('+') != (target.suffix == Some('f')) {
            return name
                .error("a family target is written sm_Nf+, other targets without a plus sign");
        }
        targets |= vocabulary.targets_with(target);
    }
    let text: Vec<&str> = since.targets.iter().map(|t| t.text.as_str()).collect();
    Ok(Availability {
        version: since.version,
        targets,
        text: text.join(" "),
    })
}
