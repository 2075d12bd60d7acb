//! Binds the names in a form to its slots, its operands and the vocabulary, and writes the form as Rust.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::condition::{Cond, test_text};
use super::dead_defs::{Used, place};
use super::naming::{access_variant, role_variant, variant};
use super::notation::{
    Block, Family, Form, Length, OperandDef, Size, SlotDef, SlotUse, TypeExpr, Within,
};
use super::read_block::split;
use super::source::{Error, Pos, Result};
use super::tables::Tables;
use super::vocabulary::Vocabulary;

/// A condition after binding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Bound {
    True,
    False,
    Text(String),
}

impl Bound {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::True => "Cond::Always",
            Self::False => "Cond::Never",
            Self::Text(text) => text,
        }
    }
}

pub(crate) fn error<T>(pos: &Pos, message: impl Into<String>) -> Result<T> {
    Err(Error {
        pos: pos.clone(),
        message: message.into(),
    })
}

/// A slot of the form at hand.
pub(crate) struct BoundSlot {
    name: String,
    /// All words of all alternatives.
    pub(crate) words: Vec<String>,
    optional: bool,
}

/// Binds one form.
pub(crate) struct Binder<'a> {
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) tables: &'a mut Tables,
    pub(crate) used: &'a mut Used,
    pub(crate) family: &'a Family,
    pub(crate) block: &'a Block,
    pub(crate) form: &'a Form,
    pub(crate) slots: Vec<BoundSlot>,
    pub(crate) operands: Vec<String>,
    /// Words and slots of all forms of the block: a condition may name them although this form lacks them.
    pub(crate) block_names: HashSet<String>,
}

impl<'a> Binder<'a> {
    pub(crate) fn new(
        vocabulary: &'a Vocabulary,
        tables: &'a mut Tables,
        used: &'a mut Used,
        family: &'a Family,
        block: &'a Block,
        form: &'a Form,
    ) -> Self {
        let mut block_names = HashSet::new();
        for form in &block.forms {
            for slot in &form.slots {
                block_names.insert(slot.name.clone());
                block_names.extend(split(&slot.name));
                block_names.extend(slot.suffixes.iter().map(|s| format!("{}{s}", slot.name)));
            }
            block_names.extend(form.operands.iter().map(|o| o.name.clone()));
            for def in form
                .body
                .slots
                .iter()
                .chain(&block.body.slots)
                .chain(&family.shared)
            {
                block_names.extend(def.alternatives.iter().flatten().cloned());
            }
        }
        Self {
            vocabulary,
            tables,
            used,
            family,
            block,
            form,
            slots: Vec::new(),
            operands: Vec::new(),
            block_names,
        }
    }

    pub(crate) fn known(&self, word: &str, pos: &Pos) -> Result<()> {
        if self.vocabulary.modifiers.iter().any(|m| m.text == word) {
            Ok(())
        } else {
            error(
                pos,
                format!(
                    "{word} is neither a slot defined here nor a modifier of modifiers.isa or types.isa"
                ),
            )
        }
    }

    fn slot_def(&mut self, slot: &SlotUse) -> Result<SlotDef> {
        let local = self
            .form
            .body
            .slots
            .iter()
            .chain(&self.block.body.slots)
            .find(|d| d.name == slot.name);
        if let Some(def) = local {
            self.used.places.insert(place(&def.pos));
            return Ok(def.clone());
        }
        if let Some(def) = self.family.shared.iter().find(|d| d.name == slot.name) {
            self.used.shared.insert(def.name.clone());
            return Ok(def.clone());
        }
        // A literal: the words themselves.
        let mut alternatives = vec![split(&slot.name)];
        alternatives.extend(
            slot.suffixes
                .iter()
                .map(|s| vec![format!("{}{s}", slot.name)]),
        );
        Ok(SlotDef {
            pos: slot.pos.clone(),
            name: slot.name.clone(),
            alternatives,
            default: None,
        })
    }

    fn bind_slot(&mut self, slot: &SlotUse) -> Result<usize> {
        let def = self.slot_def(slot)?;
        for word in def.alternatives.iter().flatten().chain(&def.default) {
            self.known(word, &def.pos)?;
            self.used.words.insert(word.clone());
        }
        let singles: Vec<String> = def
            .alternatives
            .iter()
            .filter(|a| a.len() == 1)
            .flatten()
            .cloned()
            .collect();
        let mut sequences = String::new();
        for sequence in def.alternatives.iter().filter(|a| a.len() > 1) {
            let words: Vec<String> = sequence
                .iter()
                .map(|w| format!("Modifier::{}", variant(w)))
                .collect();
            write!(sequences, "&[{}], ", words.join(", ")).ok();
        }
        let default = match &def.default {
            Some(word) => format!("Some(Modifier::{})", variant(word)),
            None => "None".into(),
        };
        let mut words: Vec<String> = def.alternatives.into_iter().flatten().collect();
        let mut seen = HashSet::new();
        words.retain(|w| seen.insert(w.clone()));
        self.slots.push(BoundSlot {
            name: slot.name.clone(),
            words,
            optional: slot.optional,
        });
        let set = self.tables.set(&singles);
        let text = format!(
            "Slot {{ name: {:?}, optional: {}, words: {set}, sequences: &[{sequences}], default: {default} }}",
            slot.name, slot.optional
        );
        Ok(self.tables.slot(text))
    }

    /// The form as a Rust expression.
    pub(crate) fn bind(&mut self) -> Result<String> {
        let form = self.form;
        let mut slots = Vec::new();
        for slot in &form.slots {
            slots.push(self.bind_slot(slot)?.to_string());
        }
        let mut accepted: Vec<String> = self
            .slots
            .iter()
            .flat_map(|s| s.words.iter().cloned())
            .collect();
        accepted.sort();
        accepted.dedup();
        let accepted = self.tables.set(&accepted);
        let ignored = self
            .vocabulary
            .ignored_on
            .iter()
            .find(|(name, ..)| self.block.names.contains(name));
        let mut ignored: Vec<String> = ignored.map_or(Vec::new(), |(_, words, _)| words.clone());
        // What is ignored everywhere is not where a form of the block has a use for it.
        let everywhere = self.vocabulary.modifiers.iter().filter(|m| m.ignored);
        ignored.extend(
            everywhere
                .map(|m| m.text.clone())
                .filter(|word| !self.block_names.contains(word)),
        );
        let ignored = self.tables.set(&ignored);
        self.operands = form.operands.iter().map(|o| o.name.clone()).collect();
        let mut operands = String::new();
        for i in 0..form.operands.len() {
            writeln!(operands, "{},", self.operand(i)?).ok();
        }
        let (form_body, block_body) = (&form.body, &self.block.body);
        let mut rules = String::new();
        for (rule, own) in block_body
            .rules
            .iter()
            .map(|r| (r, false))
            .chain(form_body.rules.iter().map(|r| (r, true)))
        {
            if let Some(kind) = self.rule(rule, own)? {
                self.used.rules.insert(place(&rule.pos));
                writeln!(rules, "Rule {{ kind: {kind}, ptxas: {} }},", rule.ptxas).ok();
            }
        }
        let mut tables = String::new();
        for table in block_body.tables.iter().chain(&form_body.tables) {
            writeln!(tables, "{},", self.table(table)?).ok();
        }
        let mut effects = String::new();
        for (effect, own) in block_body
            .effects
            .iter()
            .map(|e| (e, false))
            .chain(form_body.effects.iter().map(|e| (e, true)))
        {
            if let Some(effect) = self.effect(effect, own)? {
                writeln!(effects, "{effect},").ok();
            }
        }
        let notes: Vec<&String> = block_body.notes.iter().chain(&form_body.notes).collect();
        let differences: Vec<&String> = block_body
            .differences
            .iter()
            .chain(&form_body.differences)
            .collect();
        Ok(format!(
            "Form {{ section: {:?}, syntax: {:?}, complete: {}, ptxas: {}, slots: &[{}], accepted: {accepted}, ignored: {ignored}, operands: &[{operands}], rules: &[{rules}], tables: &[{tables}], effects: &[{effects}], notes: &{notes:?}, differences: &{differences:?} }}",
            self.block.section,
            form.text,
            !self.block.syntax_only,
            form.ptxas,
            slots.join(", "),
        ))
    }

    /// The slot a name stands for.
    pub(crate) fn slot_index(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|s| s.name == name)
    }

    fn operand(&mut self, index: usize) -> Result<String> {
        let at = &self.form.operands[index];
        let defs = self
            .form
            .body
            .operands
            .iter()
            .chain(&self.block.body.operands);
        let Some(def) = defs.into_iter().find(|d| d.name == at.name) else {
            return error(&at.pos, format!("the operand {} is not defined", at.name));
        };
        let def: OperandDef = def.clone();
        self.used.places.insert(place(&def.pos));
        let within = match at.within {
            Within::Bracket(n) => format!("Bracket({n})"),
            Within::Vector(n) => format!("Vector({n})"),
            other => format!("{other:?}"),
        };
        let mut out = format!(
            "Operand::new({:?}, {}, Nesting::{within}, Role::{})",
            at.name,
            at.place,
            role_variant(&def.role)
        );
        if at.optional {
            out += ".optional()";
        }
        let ty = match &def.ty {
            TypeExpr::None => None,
            TypeExpr::Plain(word) => Some(match self.slot_index(word) {
                Some(slot) => format!("TypeExpr::Slot({slot})"),
                None => format!("TypeExpr::Scalar({})", self.scalar(word, &def.pos)?),
            }),
            TypeExpr::Bits(word) => Some(format!(
                "TypeExpr::Bits({})",
                self.need_slot(word, &def.pos)?
            )),
            TypeExpr::Wide(word) => Some(format!(
                "TypeExpr::DoubleWidth({})",
                self.need_slot(word, &def.pos)?
            )),
            TypeExpr::Reg(word) => Some(format!(
                "TypeExpr::Container({})",
                self.need_slot(word, &def.pos)?
            )),
        };
        if let Some(ty) = ty {
            write!(out, ".ty({ty})").ok();
        }
        match &def.length {
            Length::Scalar => {}
            Length::Fixed(n) => out += &format!(".length(Length::Fixed({n}))"),
            Length::Slot(slot) => {
                if let Some(slot) = self.slot_index(slot) {
                    out += &format!(".length(Length::Slot({slot}))");
                }
            }
            Length::Share(slot) => {
                let slot = self.need_slot(slot, &def.pos)?;
                out += &format!(".length(Length::Fragment({slot}))");
            }
            Length::Cases(cases) => {
                let mut list = Vec::new();
                for (cond, count) in cases {
                    match self.cond(cond, false)? {
                        Bound::False => {}
                        bound => list.push(format!("({}, {count})", bound.text())),
                    }
                }
                out += &format!(".length(Length::Cases(&[{}]))", list.join(", "));
            }
        }
        let in_table = self.block.body.tables.iter().chain(&self.form.body.tables);
        if in_table.into_iter().any(|t| t.operands.contains(&at.name)) {
            out += ".length(Length::Table)";
        }
        for mark in &def.marks {
            out += &format!(".mark(Marks::{})", mark.to_uppercase().replace('-', "_"));
        }
        if let Some((low, high, step)) = def.range {
            out += &format!(".range({low}, {high}, {step})");
        }
        if let Some(access) = &def.access {
            out += &format!(".access(Access::{})", access_variant(access));
        }
        if let Some(spaces) = self.spaces(&def)? {
            out += &format!(".spaces({spaces})");
        }
        if def.align > 0 {
            out += &format!(".align({})", def.align);
        }
        match &def.size {
            Size::Unknown => {}
            Size::Fixed(n) => out += &format!(".size(Size::Fixed({n}))"),
            Size::Like(name) => out += &self.size("Like", name, &def.pos)?,
            Size::Value(name) => out += &self.size("Value", name, &def.pos)?,
        }
        if let Some(iff) = &def.iff {
            out += &format!(".iff({})", self.cond(iff, false)?.text());
        }
        Ok(out)
    }

    /// The size that another operand gives; nothing where this form lacks that operand.
    fn size(&self, kind: &str, name: &str, pos: &Pos) -> Result<String> {
        match self.operands.iter().position(|o| o == name) {
            Some(index) => Ok(format!(".size(Size::{kind}({index}))")),
            None => {
                self.missing(name, pos, false)?;
                Ok(String::new())
            }
        }
    }

    fn spaces(&self, def: &OperandDef) -> Result<Option<String>> {
        let mut words = Vec::new();
        let mut generic = false;
        for space in &def.spaces {
            if space == "generic" {
                generic = true;
            } else if let Some(slot) = self.slot_index(space) {
                return Ok(Some(format!("Spaces::Slot({slot})")));
            } else if self
                .vocabulary
                .spaces
                .iter()
                .any(|s| &s.name == space && s.modifier)
            {
                words.push(format!("Modifier::{}", variant(space)));
            } else if !self.block_names.contains(space) {
                return error(
                    &def.pos,
                    format!("{space} is neither a slot of this form nor a state space"),
                );
            }
        }
        Ok((!def.spaces.is_empty())
            .then(|| format!("Spaces::Words(&[{}], {generic})", words.join(", "))))
    }

    fn scalar(&self, word: &str, pos: &Pos) -> Result<String> {
        if self.vocabulary.types.iter().any(|t| t.name == word) {
            Ok(format!("ScalarType::{}", variant(word)))
        } else {
            error(
                pos,
                format!("{word} is neither a slot of this form nor a type"),
            )
        }
    }

    pub(crate) fn need_slot(&self, name: &str, pos: &Pos) -> Result<usize> {
        match self.slot_index(name) {
            Some(slot) => Ok(slot),
            None => error(
                pos,
                format!("{name} is no slot of the form at {}", self.form.pos),
            ),
        }
    }

    pub(crate) fn cond(&mut self, cond: &Cond, own: bool) -> Result<Bound> {
        Ok(match cond {
            Cond::All(items) => {
                let mut texts = Vec::new();
                for item in items {
                    match self.cond(item, own)? {
                        Bound::True => {}
                        Bound::False => return Ok(Bound::False),
                        Bound::Text(text) => texts.push(text),
                    }
                }
                join("All", texts, Bound::True)
            }
            Cond::Any(items) => {
                let mut texts = Vec::new();
                for item in items {
                    match self.cond(item, own)? {
                        Bound::False => {}
                        Bound::True => return Ok(Bound::True),
                        Bound::Text(text) => texts.push(text),
                    }
                }
                join("Any", texts, Bound::False)
            }
            Cond::Not(inner) => match self.cond(inner, own)? {
                Bound::True => Bound::False,
                Bound::False => Bound::True,
                Bound::Text(text) => Bound::Text(format!("Cond::Not(&{text})")),
            },
            Cond::Word(word, pos) => {
                if let Some(slot) = self.slot_index(word) {
                    if self.slots[slot].optional {
                        Bound::Text(format!("Cond::Filled({slot})"))
                    } else {
                        Bound::True
                    }
                } else {
                    let holders: Vec<usize> = (0..self.slots.len())
                        .filter(|&i| self.slots[i].words.contains(word))
                        .collect();
                    if holders.is_empty() {
                        self.missing(word, pos, own)?;
                    }
                    if holders.is_empty() {
                        return Ok(Bound::False);
                    }
                    let set = self.tables.set(std::slice::from_ref(word));
                    let texts = holders
                        .iter()
                        .map(|slot| format!("Cond::Holds({slot}, {set})"))
                        .collect();
                    join("Any", texts, Bound::False)
                }
            }
            Cond::In(name, words, pos) => match self.slot_index(name) {
                None => {
                    self.missing(name, pos, own)?;
                    Bound::False
                }
                Some(slot) => {
                    for word in words {
                        self.known(word, pos)?;
                    }
                    let held: Vec<String> = words
                        .iter()
                        .filter(|w| self.slots[slot].words.contains(w))
                        .cloned()
                        .collect();
                    if held.is_empty() {
                        if own {
                            return error(pos, format!("{name} never holds {}", words.join(" ")));
                        }
                        Bound::False
                    } else if !self.slots[slot].optional
                        && self.slots[slot].words.iter().all(|w| held.contains(w))
                    {
                        Bound::True
                    } else {
                        let set = self.tables.set(&held);
                        Bound::Text(format!("Cond::Holds({slot}, {set})"))
                    }
                }
            },
            Cond::Operand(name, test, pos) => match self.operands.iter().position(|o| o == name) {
                Some(operand) => {
                    Bound::Text(format!("Cond::Operand({operand}, {})", test_text(*test)))
                }
                None => {
                    self.missing(name, pos, own)?;
                    Bound::False
                }
            },
            Cond::InEntry => Bound::Text("Cond::InEntry".into()),
            Cond::InFunc => Bound::Text("Cond::InFunc".into()),
        })
    }

    /// A name this form does not have: an error, unless another form of the block has it.
    pub(crate) fn missing(&self, name: &str, pos: &Pos, own: bool) -> Result<()> {
        if own || !self.block_names.contains(name) {
            return error(
                pos,
                format!(
                    "{name} is neither a slot, nor a word of a slot, nor an operand of the form at {}",
                    self.form.pos
                ),
            );
        }
        Ok(())
    }
}

fn join(kind: &str, mut texts: Vec<String>, empty: Bound) -> Bound {
    match texts.len() {
        0 => empty,
        1 => Bound::Text(texts.remove(0)),
        _ => Bound::Text(format!("Cond::{kind}(&[{}])", texts.join(", "))),
    }
}
