//! Resolves the names in a form: slots, operands and the vocabulary.

use std::collections::HashSet;

use crate::input::{Error, Pos, Result, Word, split};
use crate::notation::{self as ast, Derived, SlotDef, SlotUse};
use crate::schema::{
    Availability, Cond, Definition, Form, Length, Operand, OperandId, RuleKind, Size, Slot, SlotId,
    Spaces, TypeExpr, implies,
};
use crate::vocabulary::{ModifierId, Vocabulary};

/// The owner of a statement. A statement of a block may use names that only other forms of the block have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Form,
    Block,
}

/// The definitions, rules and modifiers that some form uses.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) definitions: HashSet<Pos>,
    pub(crate) rules: HashSet<Pos>,
    pub(crate) modifiers: HashSet<ModifierId>,
}

impl Used {
    /// An error for the first definition of a block that no form uses.
    pub(crate) fn check(&self, block: &ast::Block) -> Result<()> {
        for body in std::iter::once(&block.body).chain(block.forms.iter().map(|f| &f.body)) {
            let slots = body.slots.iter().map(|d| &d.name);
            let operands = body.operands.iter().map(|d| &d.name);
            for name in slots.chain(operands) {
                if !self.definitions.contains(&name.pos) {
                    return name.error(format!("no form uses {name}"));
                }
            }
            for rule in &body.rules {
                if !self.rules.contains(&rule.pos) {
                    return Err(Error::new(
                        &rule.pos,
                        "the rule applies to no form: it can never be violated",
                    ));
                }
            }
            for computation in &body.computations {
                if !self.rules.contains(&computation.pos) {
                    return Err(Error::new(&computation.pos, "no form computes this"));
                }
            }
        }
        Ok(())
    }
}

/// Resolves one form.
pub(crate) struct Binder<'a> {
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) used: &'a mut Used,
    family: &'a ast::Family,
    pub(crate) block: &'a ast::Block,
    pub(crate) form: &'a ast::Form,
    pub(crate) slots: Vec<Slot>,
    /// Modifiers, slots and operands of all forms of the block: a statement of the block may use these names although this
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
            let definitions = form
                .body
                .slots
                .iter()
                .chain(&block.body.slots)
                .chain(&family.shared);
            names.extend(definitions.flat_map(|d| &d.alternatives).flatten().cloned());
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

    /// Returns the resolved form.
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
        bound.performs = self.action()?;
        self.check_uniformity(&bound)?;
        extract_since(&mut bound);
        bound.slots = self.slots;
        Ok(bound)
    }

    /// The definition of a slot: of the form, the block or the family, else the modifiers of its name.
    fn slot_def(&mut self, slot: &SlotUse) -> (SlotDef, Definition) {
        let name = &slot.name.text;
        let form_slots = self.form.body.slots.iter();
        let block_slots = self.block.body.slots.iter();
        let family_slots = self.family.shared.iter();
        let definition = form_slots
            .chain(block_slots)
            .map(|slot| (slot, Definition::Block))
            .chain(family_slots.map(|slot| (slot, Definition::Family)))
            .find(|(slot, _)| slot.name.text == *name);
        if let Some((slot, definition)) = definition {
            self.used.definitions.insert(slot.name.pos.clone());
            return (slot.clone(), definition);
        }
        let suffixed = slot.suffixes.iter().map(|s| vec![format!("{name}{s}")]);
        let definition = SlotDef {
            name: slot.name.clone(),
            alternatives: std::iter::once(split(name)).chain(suffixed).collect(),
            default: None,
        };
        (definition, Definition::Literal)
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
        let names = &self.block.names;
        for (instruction, modifiers) in &self.vocabulary.ignored_on {
            if names.iter().any(|name| name.text == instruction.text) {
                return modifiers
                    .iter()
                    .map(|m| self.modifier(&m.text, &m.pos))
                    .collect();
            }
        }
        Ok(Vec::new())
    }

    /// Modifiers that a form of the block uses, but that have no effect on other instructions.
    fn not_ignored(&self) -> Vec<ModifierId> {
        self.vocabulary
            .modifiers
            .iter()
            .enumerate()
            .filter(|(_, m)| m.ignored && self.block_names.contains(&m.word.text))
            .map(|(i, _)| ModifierId(i))
            .collect()
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

    /// The definition of an operand in the form or in the block.
    pub(crate) fn operand_def(&self, name: &str) -> Option<&'a ast::OperandDef> {
        self.form
            .body
            .operands
            .iter()
            .chain(&self.block.body.operands)
            .find(|definition| definition.name.text == *name)
    }

    fn operand(&mut self, usage: &ast::OperandUse) -> Result<Operand> {
        let name = &usage.name.text;
        let (form, block) = (self.form, self.block);
        let Some(def) = self.operand_def(name) else {
            return usage
                .name
                .error(format!("the operand {name} is not defined"));
        };
        self.used.definitions.insert(def.name.pos.clone());
        let in_table = block
            .body
            .tables
            .iter()
            .chain(&form.body.tables)
            .flat_map(|table| &table.operands)
            .any(|operand| operand.text == *name);
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
            position: usage.position,
            nesting: usage.nesting,
            role: def.role,
            optional: usage.optional,
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
                let factors = factors
                    .iter()
                    .map(|(slot, digits)| Ok((self.need_slot(slot)?, *digits)))
                    .collect::<Result<_>>()?;
                Length::Product(factors, *divisor)
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

    /// The resolved size; unknown if it depends on an operand that the form lacks.
    fn size(&self, size: &ast::Size) -> Result<Size> {
        let (name, size): (_, fn(OperandId) -> Size) = match size {
            ast::Size::Unknown => return Ok(Size::Unknown),
            ast::Size::Fixed(n) => return Ok(Size::Fixed(*n)),
            ast::Size::Like(name) => (name, Size::Like),
            ast::Size::Value(name) => (name, Size::Value),
        };
        match self.operand_id(&name.text) {
            Some(operand) => Ok(size(operand)),
            None => self.missing(name, Owner::Block).map(|()| Size::Unknown),
        }
    }

    fn spaces(&self, list: &[Word]) -> Result<Spaces> {
        let mut spaces = Vec::new();
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
                spaces.push(self.modifier(&space.text, &space.pos)?);
            } else if !self.block_names.contains(&space.text) {
                return space.error(format!(
                    "{space} is neither a slot of this form nor a state space"
                ));
            }
        }
        Ok(if list.is_empty() {
            Spaces::Any
        } else if generic {
            Spaces::GenericOr(spaces)
        } else {
            Spaces::OneOf(spaces)
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
                    let mut conditions = Vec::new();
                    if let Some(id) = self.vocabulary.modifier_id(&word.text) {
                        for (slot, definition) in self.slots.iter().enumerate() {
                            if definition.holds(id) {
                                conditions.push(Cond::Holds(slot, vec![id]));
                            }
                        }
                    }
                    if conditions.is_empty() {
                        self.missing(word, owner)?;
                    }
                    Cond::any(conditions)
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
        let always_holds = !holder.optional && holder.all().all(|m| held.contains(&m));
        Ok(if always_holds {
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

    /// Returns an error for a name that the form lacks, unless the statement belongs to the block and another form has the name.
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

/// Moves the unconditional requirements from the rules to the form, and drops the rules that they imply.
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
    if !since.is_empty() {
        rules.retain(
            |rule| !matches!(&rule.kind, RuleKind::RequiresTarget(_, list) if implies(&since, list)),
        );
    }
    (form.since, form.rules) = (since, rules);
}
