//! Binds the rules, tables and effects of a form.

use std::fmt::Write as _;

use super::condition::Cond;
use super::emit_vocabulary::target_set;
use super::naming::{access_variant, variant};
use super::notation::{Cell, Effect, Floor, Rule, RuleKind, Table};
use super::resolve::{Binder, Bound, error};
use super::source::Result;
use super::vocabulary::Vocabulary;

impl Binder<'_> {
    fn when(&mut self, cond: Option<&Cond>, own: bool) -> Result<Option<String>> {
        match cond {
            None => Ok(Some(Bound::True.text().into())),
            Some(cond) => Ok(match self.cond(cond, own)? {
                Bound::False => None,
                bound => Some(bound.text().to_string()),
            }),
        }
    }

    pub(crate) fn rule(&mut self, rule: &Rule, own: bool) -> Result<Option<String>> {
        Ok(match &rule.kind {
            RuleKind::Require(when, then) => {
                let Some(when) = self.when(when.as_ref(), own)? else {
                    return Ok(None);
                };
                match self.cond(then, own)? {
                    Bound::True => None,
                    then => Some(format!("RuleKind::Require({when}, {})", then.text())),
                }
            }
            RuleKind::Deny(cond) => match self.cond(cond, own)? {
                Bound::False => None,
                cond => Some(format!("RuleKind::Deny({})", cond.text())),
            },
            RuleKind::Since(when, floors) => {
                let Some(when) = self.when(when.as_ref(), own)? else {
                    return Ok(None);
                };
                Some(format!(
                    "RuleKind::RequiresTarget({when}, {})",
                    self.floors(floors)?
                ))
            }
            RuleKind::Until(when, floors) => {
                let Some(when) = self.when(when.as_ref(), own)? else {
                    return Ok(None);
                };
                Some(format!(
                    "RuleKind::RemovedIn({when}, {})",
                    self.floors(floors)?
                ))
            }
            RuleKind::Deprecated(when, floors, instead) => {
                let Some(when) = self.when(when.as_ref(), own)? else {
                    return Ok(None);
                };
                let floors = self.floors(floors)?;
                Some(format!(
                    "RuleKind::Deprecated({when}, {floors}, {instead:?})"
                ))
            }
            RuleKind::Default(slot, word, cond) => match self.slot_index(slot) {
                None => {
                    self.missing(slot, &rule.pos, own)?;
                    None
                }
                Some(slot) => {
                    self.known(word, &rule.pos)?;
                    let cond = self.cond(cond, own)?;
                    Some(format!(
                        "RuleKind::Default({slot}, Modifier::{}, {})",
                        variant(word),
                        cond.text()
                    ))
                }
            },
            RuleKind::AtMostOne(names, mark) => {
                let operands: Vec<String> = names
                    .iter()
                    .filter_map(|n| self.operands.iter().position(|o| o == n))
                    .map(|i| i.to_string())
                    .collect();
                if operands.len() != names.len() {
                    return error(&rule.pos, "an operand of this rule is not in the form");
                }
                Some(format!(
                    "RuleKind::AtMostOne(&[{}], Marks::{})",
                    operands.join(", "),
                    mark.to_uppercase()
                ))
            }
            RuleKind::Limit(low, high) => {
                let index = |name: &String| self.operands.iter().position(|o| o == name);
                match (index(low), index(high)) {
                    (Some(low), Some(high)) => Some(format!("RuleKind::Ordered({low}, {high})")),
                    _ => None,
                }
            }
            RuleKind::Same(slot, warning) => self
                .slot_index(slot)
                .map(|slot| format!("RuleKind::MustAgree({slot}, {warning})")),
        })
    }

    fn floors(&self, list: &[Floor]) -> Result<String> {
        floors(self.vocabulary, list)
    }

    pub(crate) fn table(&mut self, table: &Table) -> Result<String> {
        let mut columns = Vec::new();
        for name in &table.columns {
            columns.push(self.need_slot(name, &table.pos)?.to_string());
        }
        let mut operands = Vec::new();
        for name in &table.operands {
            match self.operands.iter().position(|o| o == name) {
                Some(i) => operands.push(i.to_string()),
                None => {
                    return error(
                        &table.pos,
                        format!("{name} is no operand of the form at {}", self.form.pos),
                    );
                }
            }
        }
        let mut rows = String::new();
        for row in &table.rows {
            let mut cells = Vec::new();
            for (cell, column) in row.cells.iter().zip(&table.columns) {
                cells.push(match cell {
                    Cell::Any => "Cell::Any".to_string(),
                    Cell::Absent => "Cell::Absent".to_string(),
                    Cell::Same(slot) => {
                        let slot = if slot.starts_with('.') {
                            slot.clone()
                        } else {
                            format!(".{slot}")
                        };
                        format!("Cell::Same({})", self.need_slot(&slot, &row.pos)?)
                    }
                    Cell::Words(words) => {
                        let slot = self.need_slot(column, &row.pos)?;
                        for word in words {
                            if !self.slots[slot].words.contains(word) {
                                return error(
                                    &row.pos,
                                    format!("{word} is no alternative of {column}"),
                                );
                            }
                        }
                        format!("Cell::Words({})", self.tables.set(words))
                    }
                });
            }
            let floors = self.floors(&row.floors)?;
            let lengths: Vec<String> = row.lengths.iter().map(|l| format!("&{l:?}")).collect();
            writeln!(
                rows,
                "Row {{ cells: &[{}], lengths: &[{}], floors: {floors} }},",
                cells.join(", "),
                lengths.join(", ")
            )
            .ok();
        }
        Ok(format!(
            "Table {{ columns: &[{}], operands: &[{}], rows: &[{rows}] }}",
            columns.join(", "),
            operands.join(", ")
        ))
    }

    pub(crate) fn effect(&mut self, effect: &Effect, own: bool) -> Result<Option<String>> {
        let Some(when) = self.when(effect.when.as_ref(), own)? else {
            return Ok(None);
        };
        let words: Vec<&str> = effect.words.iter().map(String::as_str).collect();
        let kind = match words[..] {
            [kind @ ("order" | "scope"), word] => {
                let word = match self.slot_index(word) {
                    Some(slot) => format!("ModifierSource::Slot({slot})"),
                    None if self.block_names.contains(word)
                        && !self.vocabulary.modifiers.iter().any(|m| m.text == word) =>
                    {
                        return Ok(None);
                    }
                    None => {
                        self.known(word, &effect.pos)?;
                        format!("ModifierSource::Fixed(Modifier::{})", variant(word))
                    }
                };
                format!("{}({word})", variant(kind))
            }
            [
                "proxy",
                name @ ("generic" | "async" | "tensormap" | "texture" | "surface" | "read-only"),
            ] => {
                format!("Proxy(Proxy::{})", variant(name))
            }
            [
                "control",
                name @ ("jump" | "table" | "call" | "return" | "exit" | "trap"),
            ] => {
                format!("Control(Control::{})", variant(name))
            }
            [
                "converge",
                name @ ("active" | "warp" | "warpgroup" | "cta" | "cluster"),
            ] => format!("Converge(ConvergenceScope::{})", variant(name)),
            ["lanes", operand] => match self.operands.iter().position(|o| o == operand) {
                Some(i) => format!("Lanes({i})"),
                None if own || !self.block_names.contains(operand) => {
                    return error(&effect.pos, format!("{operand} is no operand"));
                }
                None => return Ok(None),
            },
            [
                "async",
                kind @ ("cp-async" | "bulk" | "mbarrier" | "wgmma" | "tcgen05"),
                step @ ("start" | "commit" | "wait"),
            ] => {
                format!(
                    "Async(Completion::{}, AsyncPhase::{})",
                    variant(kind),
                    variant(step)
                )
            }
            [
                "memory",
                access @ ("read" | "write" | "update" | "atomic"),
                space,
            ] => {
                self.known(space, &effect.pos)?;
                format!(
                    "Memory(Access::{}, Modifier::{})",
                    access_variant(access),
                    variant(space)
                )
            }
            ["carry", "read"] => "CarryRead".into(),
            ["carry", "write"] => "CarryWrite".into(),
            [name @ ("volatile" | "fence" | "barrier" | "uniform" | "one-thread")] => variant(name),
            ["side"] => "SideEffect".into(),
            _ => return error(&effect.pos, format!("{} is no effect", words.join(" "))),
        };
        Ok(Some(format!(
            "Effect {{ when: {when}, kind: EffectKind::{kind} }}"
        )))
    }
}

/// Alternatives of versions and targets as a Rust expression.
pub(crate) fn floors(vocabulary: &Vocabulary, floors: &[Floor]) -> Result<String> {
    let floors: Result<Vec<String>> = floors.iter().map(|f| floor(vocabulary, f)).collect();
    Ok(format!("&[{}]", floors?.join(", ")))
}

fn floor(vocabulary: &Vocabulary, floor: &Floor) -> Result<String> {
    if !vocabulary
        .versions
        .iter()
        .any(|v| v.version == floor.version)
    {
        return error(
            &floor.pos,
            format!(
                "there is no version {}.{}",
                floor.version.0, floor.version.1
            ),
        );
    }
    let mut set = 0u128;
    let mut names = Vec::new();
    for (name, pos) in &floor.targets {
        if let Some((from, to)) = name.split_once("..") {
            let named = |name: &str| vocabulary.targets.iter().find(|t| t.name == name);
            let (Some(from), Some(to)) = (named(from), named(to)) else {
                return error(pos, format!("{name} goes from no target to another"));
            };
            set |= target_set(vocabulary, from) & !target_set(vocabulary, to);
            names.push(name.as_str());
            continue;
        }
        let bare = name.trim_end_matches('+');
        let Some(target) = vocabulary.targets.iter().find(|t| t.name == bare) else {
            return error(pos, format!("{bare} is no target of targets.isa"));
        };
        if name.ends_with('+') != (target.suffix == Some('f')) {
            return error(
                pos,
                "a family target is written sm_Nf+, no other has a plus",
            );
        }
        set |= target_set(vocabulary, target);
        names.push(name.as_str());
    }
    if names.is_empty() {
        set = u128::MAX >> (128 - vocabulary.targets.len());
    }
    let (major, minor) = floor.version;
    Ok(format!(
        "Availability::new({major}, {minor}, {set:#x}, {:?})",
        names.join(" ")
    ))
}
