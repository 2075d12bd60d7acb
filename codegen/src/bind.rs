//! Resolves the names in a form: slots, operands and the vocabulary.

use std::collections::HashSet;

use crate::bind_family::Used;
use crate::input::{Error, Pos, Result, Word, split};
use crate::notation::{self as ast, Derived, Digits, SlotDef, SlotUse};
use crate::schema::{
    Availability, Cond, Definition, Form, Length, Operand, OperandId, RuleKind, Size, Slot, SlotId,
    Spaces, TypeExpr, implies,
};
use crate::vocabulary::{ModifierId, Vocabulary};

/// Whether a statement belongs to the form itself or to its block, where other forms may have what it names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Form,
    Block,
}

/// Resolves one form.
pub(crate) struct Binder<'a> {
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) used: &'a mut Used,
    family: &'a ast::Family,
    pub(crate) block: &'a ast::Block,
    pub(crate) form: &'a ast::Form,
    pub(crate) slots: Vec<Slot>,
    /// Modifiers, slots and operands of all forms of the block: a statement of the block may name them although this
    /// form lacks them.
    pub(crate) block_names: HashSet<String>,
}

impl<'a> Binder<'a> {
    pub(crate) fn new(
        vocabulary: &'a Vocabulary,
        used: &'a mut Used,
        family: &'a ast::Family,
        block: &'a ast::Block,
        form: &'a ast::Form,
    ) -> Self {
        let mut names = HashSet::new();
        for form in &block.forms {
            for slot in &form.slots {
                let name = &slot.name.text;
                names.insert(name.clone());
                names.extend(split(name));
                names.extend(slot.suffixes.iter().map(|s| format!("{name}{s}")));
            }
            names.extend(form.operands.iter().map(|o| o.name.text.clone()));
            let defs = form
                .body
                .slots
                .iter()
                .chain(&block.body.slots)
                .chain(&family.shared);
            names.extend(defs.flat_map(|d| &d.alternatives).flatten().cloned());
        }
        Self {
            vocabulary,
            used,
            family,
            block,
            form,
            slots: Vec::new(),
            block_names: names,
        }
    }

    /// The resolved form.
    pub(crate) fn bind(mut self) -> Result<Form> {
        let (form, block) = (self.form, self.block);
        for slot in &form.slots {
            let slot = self.bind_slot(slot)?;
            self.slots.push(slot);
        }
        let operands = form
            .operands
            .iter()
            .map(|o| self.operand(o))
            .collect::<Result<_>>()?;
        let bodies = [(&block.body, Owner::Block), (&form.body, Owner::Form)];
        let mut bound = Form {
            section: block.section.clone(),
            syntax: form.text.clone(),
            ptxas: form.ptxas,
            slots: Vec::new(),
            ignored: self.ignored()?,
            not_ignored: self.not_ignored(),
            since: Vec::new(),
            operands,
            rules: Vec::new(),
            tables: Vec::new(),
            effects: Vec::new(),
            computation: None,
            performs: None,
            about: form.body.about.clone(),
            notes: Vec::new(),
            differences: Vec::new(),
        };
        for (body, owner) in bodies {
            for rule in &body.rules {
                if let Some(kind) = self.rule(rule, owner)? {
                    self.used.rules.insert(rule.pos.clone());
                    bound.rules.push(crate::schema::Rule {
                        kind,
                        ptxas: rule.ptxas,
                    });
                }
            }
            for table in &body.tables {
                bound.tables.push(self.table(table)?);
            }
            for effect in &body.effects {
                bound.effects.extend(self.effect(effect, owner)?);
            }
            bound.notes.extend(body.notes.iter().cloned());
            bound.differences.extend(body.differences.iter().cloned());
        }
        bound.computation = self.computation()?;
        bound.performs = self.performs()?;
        self.check_uniformity(&bound)?;
        extract_since(&mut bound);
        bound.slots = self.slots;
        Ok(bound)
    }

    /// The operation that the form is: its own, or that of the block unless the form computes something.
    fn performs(&mut self) -> Result<Option<String>> {
        let (own, shared) = (&self.form.body.performs, &self.block.body.performs);
        let Some(name) = own.as_ref().or(shared.as_ref()) else {
            return Ok(None);
        };
        let known = |row: &crate::vocabulary::ActionRow| row.name.text == name.text;
        match self.vocabulary.actions.iter().any(known) {
            true => Ok(Some(name.text.clone())),
            false => name.error(format!("{name} is not an action of actions.isa")),
        }
    }

    /// The definition of a slot: of the form, the block or the family, else the modifiers of its name.
    fn slot_def(&mut self, slot: &SlotUse) -> (SlotDef, Definition) {
        let name = &slot.name.text;
        let mut local = self.form.body.slots.iter().chain(&self.block.body.slots);
        if let Some(def) = local.find(|d| d.name.text == *name) {
            self.used.definitions.insert(def.name.pos.clone());
            return (def.clone(), Definition::Block);
        }
        if let Some(def) = self.family.shared.iter().find(|d| d.name.text == *name) {
            self.used.definitions.insert(def.name.pos.clone());
            return (def.clone(), Definition::Family);
        }
        let longer = slot.suffixes.iter().map(|s| vec![format!("{name}{s}")]);
        let alternatives = std::iter::once(split(name)).chain(longer).collect();
        (
            SlotDef {
                name: slot.name.clone(),
                alternatives,
                default: None,
            },
            Definition::Literal,
        )
    }

    fn bind_slot(&mut self, slot: &SlotUse) -> Result<Slot> {
        let (def, definition) = self.slot_def(slot);
        let pos = &def.name.pos;
        let mut bound = Slot {
            definition,
            name: def.name.text.clone(),
            optional: slot.optional,
            modifiers: Vec::new(),
            sequences: Vec::new(),
            default: def
                .default
                .as_ref()
                .map(|m| self.modifier(m, pos))
                .transpose()?,
        };
        for alternative in &def.alternatives {
            let ids = alternative
                .iter()
                .map(|m| self.modifier(m, pos))
                .collect::<Result<Vec<_>>>()?;
            match ids[..] {
                [one] => bound.modifiers.push(one),
                _ => bound.sequences.push(ids),
            }
        }
        self.used.modifiers.extend(bound.all().chain(bound.default));
        Ok(bound)
    }

    /// Modifiers without effect on the instruction.
    fn ignored(&self) -> Result<Vec<ModifierId>> {
        let on = |name: &Word| self.block.names.iter().any(|n| n.text == name.text);
        let list = self
            .vocabulary
            .ignored_on
            .iter()
            .find(|(name, _)| on(name))
            .map(|(_, list)| list);
        list.into_iter()
            .flatten()
            .map(|m| self.modifier(&m.text, &m.pos))
            .collect()
    }

    /// Modifiers without effect elsewhere that a form of the block uses.
    fn not_ignored(&self) -> Vec<ModifierId> {
        let all = self.vocabulary.modifiers.iter().enumerate();
        let used = all.filter(|(_, m)| m.ignored && self.block_names.contains(&m.word.text));
        used.map(|(i, _)| ModifierId(i)).collect()
    }

    pub(crate) fn modifier(&self, text: &str, pos: &Pos) -> Result<ModifierId> {
        self.vocabulary.modifier_id(text).ok_or_else(|| {
            let message = format!(
                "{text} is neither a slot defined here nor a modifier of modifiers.isa or types.isa"
            );
            Error::new(pos, message)
        })
    }

    pub(crate) fn slot_id(&self, name: &str) -> Option<SlotId> {
        self.slots.iter().position(|s| s.name == name)
    }

    pub(crate) fn need_slot(&self, name: &Word) -> Result<SlotId> {
        match self.slot_id(&name.text) {
            Some(slot) => Ok(slot),
            None => name.error(format!(
                "{name} is not a slot of the form at {}",
                self.form.pos
            )),
        }
    }

    pub(crate) fn operand_id(&self, name: &str) -> Option<OperandId> {
        self.form.operands.iter().position(|o| o.name.text == name)
    }

    fn operand(&mut self, at: &ast::OperandUse) -> Result<Operand> {
        let name = &at.name.text;
        let (form, block) = (self.form, self.block);
        let mut defs = form.body.operands.iter().chain(&block.body.operands);
        let Some(def) = defs.find(|d| d.name.text == *name) else {
            return at.name.error(format!("the operand {name} is not defined"));
        };
        self.used.definitions.insert(def.name.pos.clone());
        let mut tables = block.body.tables.iter().chain(&form.body.tables);
        let in_table = tables.any(|t| t.operands.iter().any(|o| o.text == *name));
        let mut marks = Vec::new();
        for mark in &def.marks {
            if !self
                .vocabulary
                .marks
                .iter()
                .any(|row| row.name.text == mark.text)
            {
                return mark.error(format!(
                    "{mark} is neither an attribute of operands nor a mark of marks.isa"
                ));
            }
            marks.push(mark.text.clone());
        }
        Ok(Operand {
            name: name.clone(),
            position: at.position,
            nesting: at.nesting,
            role: def.role,
            optional: at.optional,
            ty: self.type_expr(&def.ty)?,
            length: if in_table {
                Length::Table
            } else {
                self.length(&def.length)?
            },
            marks,
            range: def.range,
            access: def.access,
            spaces: self.spaces(&def.spaces)?,
            align: def.align,
            size: self.size(&def.size)?,
            iff: def
                .iff
                .as_ref()
                .map(|c| self.cond(c, Owner::Block))
                .transpose()?,
        })
    }

    pub(crate) fn type_expr(&self, ty: &ast::TypeExpr) -> Result<TypeExpr> {
        Ok(match ty {
            ast::TypeExpr::None => TypeExpr::None,
            ast::TypeExpr::Derived(Derived::Bits, slot) => TypeExpr::Bits(self.need_slot(slot)?),
            ast::TypeExpr::Derived(Derived::DoubleWidth, slot) => {
                TypeExpr::DoubleWidth(self.need_slot(slot)?)
            }
            ast::TypeExpr::Derived(Derived::Container, slot) => {
                TypeExpr::Container(self.need_slot(slot)?)
            }
            ast::TypeExpr::Named(name) => match self.slot_id(&name.text) {
                Some(slot) => TypeExpr::Slot(slot),
                None if self
                    .vocabulary
                    .types
                    .iter()
                    .any(|t| t.name.text == name.text) =>
                {
                    TypeExpr::Scalar(crate::naming::variant(&name.text))
                }
                None => {
                    return name.error(format!("{name} is neither a slot of this form nor a type"));
                }
            },
        })
    }

    fn length(&mut self, length: &ast::Length) -> Result<Length> {
        Ok(match length {
            ast::Length::Scalar => Length::Scalar,
            ast::Length::Fixed(n) => Length::Fixed(*n),
            // Without the slot, the form is the scalar one of its block.
            ast::Length::Slot(slot) => self
                .slot_id(&slot.text)
                .map_or(Length::Scalar, Length::Slot),
            ast::Length::Fragment(slot) => Length::Fragment(self.need_slot(slot)?),
            ast::Length::Product(factors, divisor) => {
                let factor = |(slot, digits): &(Word, Digits)| Ok((self.need_slot(slot)?, *digits));
                Length::Product(factors.iter().map(factor).collect::<Result<_>>()?, *divisor)
            }
            ast::Length::Cases(cases) => {
                let mut bound = Vec::new();
                for (cond, count) in cases {
                    bound.push((self.cond(cond, Owner::Block)?, *count));
                }
                bound.retain(|(cond, _)| *cond != Cond::Never);
                Length::Cases(bound)
            }
        })
    }

    /// The size given by another operand; unknown in a form without that operand.
    fn size(&self, size: &ast::Size) -> Result<Size> {
        let of = |name: &Word, size: fn(OperandId) -> Size| match self.operand_id(&name.text) {
            Some(operand) => Ok(size(operand)),
            None => self.missing(name, Owner::Block).map(|()| Size::Unknown),
        };
        match size {
            ast::Size::Unknown => Ok(Size::Unknown),
            ast::Size::Fixed(n) => Ok(Size::Fixed(*n)),
            ast::Size::Like(name) => of(name, Size::Like),
            ast::Size::Value(name) => of(name, Size::Value),
        }
    }

    fn spaces(&self, list: &[Word]) -> Result<Spaces> {
        let mut found = Vec::new();
        let mut generic = false;
        for space in list {
            if space.text == "generic" {
                generic = true;
            } else if let Some(slot) = self.slot_id(&space.text) {
                return Ok(Spaces::Slot(slot));
            } else if self
                .vocabulary
                .spaces
                .iter()
                .any(|s| s.name.text == space.text && s.modifier)
            {
                found.push(self.modifier(&space.text, &space.pos)?);
            } else if !self.block_names.contains(&space.text) {
                return space.error(format!(
                    "{space} is neither a slot of this form nor a state space"
                ));
            }
        }
        Ok(match (list.is_empty(), generic) {
            (true, _) => Spaces::Any,
            (false, true) => Spaces::GenericOr(found),
            (false, false) => Spaces::OneOf(found),
        })
    }

    pub(crate) fn cond(&mut self, cond: &ast::Cond, owner: Owner) -> Result<Cond> {
        Ok(match cond {
            ast::Cond::All(list) => Cond::all(self.conds(list, owner)?),
            ast::Cond::Any(list) => Cond::any(self.conds(list, owner)?),
            ast::Cond::Not(inner) => self.cond(inner, owner)?.negated(),
            ast::Cond::Word(word) => match self.slot_id(&word.text) {
                Some(slot) if self.slots[slot].optional => Cond::Filled(slot),
                Some(_) => Cond::Always,
                None => {
                    let id = self.vocabulary.modifier_id(&word.text);
                    let holding = |slot: &SlotId| id.is_some_and(|id| self.slots[*slot].holds(id));
                    let holders: Vec<SlotId> = (0..self.slots.len()).filter(holding).collect();
                    if holders.is_empty() {
                        self.missing(word, owner)?;
                    }
                    Cond::any(
                        holders
                            .into_iter()
                            .map(|slot| Cond::Holds(slot, Vec::from_iter(id)))
                            .collect(),
                    )
                }
            },
            ast::Cond::In(name, list) => self.holds_one_of(name, list, owner)?,
            ast::Cond::Operand(name, test) => {
                self.operand_cond(name, owner, |o| Cond::Operand(o, *test))?
            }
            ast::Cond::Vector(name, n) => {
                self.operand_cond(name, owner, |o| Cond::Vector(o, *n))?
            }
            ast::Cond::Below(name, n) => self.operand_cond(name, owner, |o| Cond::Below(o, *n))?,
            ast::Cond::InEntry => Cond::InEntry,
            ast::Cond::InFunc => Cond::InFunc,
            ast::Cond::UnifiedTextures => Cond::UnifiedTextures,
        })
    }

    fn conds(&mut self, list: &[ast::Cond], owner: Owner) -> Result<Vec<Cond>> {
        list.iter().map(|c| self.cond(c, owner)).collect()
    }

    fn holds_one_of(&self, name: &Word, list: &[Word], owner: Owner) -> Result<Cond> {
        let Some(slot) = self.slot_id(&name.text) else {
            return self.missing(name, owner).map(|()| Cond::Never);
        };
        let ids = list
            .iter()
            .map(|m| self.modifier(&m.text, &m.pos))
            .collect::<Result<Vec<_>>>()?;
        let holder = &self.slots[slot];
        let held: Vec<ModifierId> = ids.into_iter().filter(|&m| holder.holds(m)).collect();
        if held.is_empty() {
            if owner == Owner::Form {
                let list: Vec<&str> = list.iter().map(|m| m.text.as_str()).collect();
                return name.error(format!("{name} never holds {}", list.join(" ")));
            }
            return Ok(Cond::Never);
        }
        let every = !holder.optional && holder.all().all(|m| held.contains(&m));
        Ok(if every {
            Cond::Always
        } else {
            Cond::Holds(slot, held)
        })
    }

    fn operand_cond(
        &self,
        name: &Word,
        owner: Owner,
        cond: impl Fn(OperandId) -> Cond,
    ) -> Result<Cond> {
        match self.operand_id(&name.text) {
            Some(operand) => Ok(cond(operand)),
            None => self.missing(name, owner).map(|()| Cond::Never),
        }
    }

    /// A name this form does not have: an error, unless the statement is of the block and another form has it.
    pub(crate) fn missing(&self, name: &Word, owner: Owner) -> Result<()> {
        if owner == Owner::Form || !self.block_names.contains(&name.text) {
            return name.error(format!(
                "{name} is neither a slot, nor a modifier of a slot, nor an operand of the form at {}",
                self.form.pos
            ));
        }
        Ok(())
    }
}

/// Makes the unconditional requirements the form's own, and drops the rules that they imply.
fn extract_since(form: &mut Form) {
    let mut since: Vec<Availability> = Vec::new();
    let mut rules = Vec::new();
    for rule in std::mem::take(&mut form.rules) {
        match rule.kind {
            RuleKind::RequiresTarget(Cond::Always, list)
                if !rule.ptxas && (since.is_empty() || implies(&list, &since)) =>
            {
                since = list;
            }
            _ => rules.push(rule),
        }
    }
    let implied = |kind: &RuleKind| matches!(kind, RuleKind::RequiresTarget(_, list) if implies(&since, list));
    rules.retain(|rule| since.is_empty() || !implied(&rule.kind));
    (form.since, form.rules) = (since, rules);
}
