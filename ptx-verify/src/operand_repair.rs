//! Repairs of operands that an instruction does not take or that are missing.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::raw::query::Environment;
use ptx_ir::{Applicability, Body, EntityId as _, Module, Operand, RegId, Statement, StmtId};
use ptx_isa::internals::{
    ActualOperand, EffectKind, Expected, ForeignWord, InstQuery, ModifierEdit, OperandShape,
    OperandViolation,
};
use ptx_isa::{Modifier, Opcode, Role, ScalarType, TypeKind};

use crate::explain::Explanation;
use crate::finding::Repair;
use crate::location::{Location, Part};
use crate::problem::Side;
use crate::problem::instruction::InstProblemKind;
use crate::problem::operand::{FoundOperand, OperandMismatch};
use crate::register_choice::{Choice, Purpose, RegisterUses, Requirements, name};
use crate::uses::{self, register_of};

/// The maximum number of pairs of modifiers that are tried in the other order.
const MOST_EXCHANGES: usize = 45;
/// The maximum number of elements of a vector that are replaced, one at a time. No instruction takes a longer vector.
const MOST_ELEMENTS: u32 = 256;

/// A wrong instruction of a body.
pub(crate) struct WrongInst<'a> {
    pub(crate) module: &'a Module,
    pub(crate) body: &'a Body,
    pub(crate) environment: Environment,
    pub(crate) stmt: StmtId,
    pub(crate) operands: &'a [Operand],
    pub(crate) uses: &'a RegisterUses,
}

impl WrongInst<'_> {
    /// Returns a repair of an error of the instruction. `query` is that of the instruction.
    pub(crate) fn repair(
        &self,
        query: &InstQuery<'_>,
        explanation: &Explanation,
    ) -> Option<Repair> {
        let part = explanation.part;
        let may_have_wrong_order = match &explanation.kind {
            InstProblemKind::Repairable { .. }
            | InstProblemKind::ModifierCombination(_)
            | InstProblemKind::Modifier(..) => true,
            InstProblemKind::Operand(mismatch) => mismatch.problem == OperandViolation::Type,
            _ => false,
        };
        if may_have_wrong_order && let Some(repair) = self.exchanged_modifiers(query) {
            return Some(repair);
        }
        match &explanation.kind {
            InstProblemKind::Operand(mismatch) => match mismatch.problem {
                _ if mismatch.operand.role() == Role::Label => self.other_label(part),
                OperandViolation::Inverted => Some(self.without_sign(part, "!")),
                OperandViolation::Negated if mismatch.operand.role() == Role::Def => {
                    Some(self.without_sign(part, "-"))
                }
                OperandViolation::Type => {
                    // Another register is less likely than a forgotten conversion.
                    with_alternative(
                        self.conversion_repair(query, explanation, mismatch),
                        self.other_register(query, explanation, mismatch),
                    )
                }
                OperandViolation::NeedsRegister
                | OperandViolation::Discard
                | OperandViolation::Shape
                | OperandViolation::Kind => self.other_register(query, explanation, mismatch),
                OperandViolation::Negated => self.negation(query, part),
                OperandViolation::Space if mismatch.writes_parameter() => {
                    self.opposite_access(query)
                }
                OperandViolation::Length(length) => {
                    self.vector_of_length(query, part, mismatch, length)
                }
                _ => None,
            },
            InstProblemKind::Count { count, least, .. } if count + 1 == *least => {
                self.missing_operand(query)
            }
            InstProblemKind::Repairable { .. }
            | InstProblemKind::Unavailable(..)
            | InstProblemKind::ModifierCombination(_) => self.two_accesses(query),
            _ => None,
        }
    }

    fn without_sign(&self, part: Part, sign: &str) -> Repair {
        let side = Side::Inside(sign.into());
        let note = format!("for example without `{sign}`");
        Repair::new(self.location(part), side, String::new(), note)
    }

    /// Returns a repair that exchanges two modifiers.
    fn exchanged_modifiers(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let modifiers = query.modifiers();
        let legal_pairs: Vec<(usize, usize)> = (1..modifiers.len())
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .take(MOST_EXCHANGES)
            .filter(|(a, b)| {
                let mut exchanged = modifiers.to_vec();
                exchanged.swap(*a, *b);
                let query = InstQuery::new(query.opcode(), &exchanged, query.operands());
                let form = self.environment.select(&query);
                exchanged != modifiers && form.is_ok_and(|form| self.environment.is_clean(&form))
            })
            .collect();
        let is_only_pair = legal_pairs.len() == 1;
        let class = |index: usize| modifiers.get(index).map(|modifier| modifier.class());
        // ptxas takes modifiers of different classes in any order: two of a class are more likely exchanged, or neighbors.
        let (a, b) = legal_pairs
            .into_iter()
            .min_by_key(|(a, b)| (class(*a) != class(*b), b - a))?;
        let text = |index: usize| modifiers.get(index).map_or("", |modifier| modifier.text());
        let (first, second) = (text(a), text(b));
        let location = |index: usize| self.location(Part::Modifiers(index as u32, index as u32));
        Some(Repair {
            note: format!("write `{second}` before `{first}`"),
            edits: vec![
                (location(a), Side::Whole, String::from(second)),
                (location(b), Side::Whole, String::from(first)),
            ],
            replaces: true,
            // Two modifiers of a class have another meaning in the other order.
            applicability: if is_only_pair && class(a) != class(b) {
                Applicability::MachineApplicable
            } else {
                Applicability::MaybeIncorrect
            },
        })
    }

    /// Returns a repair with a label that is not used, or else with the next label.
    fn other_label(&self, part: Part) -> Option<Repair> {
        let mut labels = self
            .body
            .labels()
            .values()
            .zip(uses::used_labels(self.body))
            .filter(|(label, _)| {
                let statement = self.body.statement(label.stmt);
                matches!(statement, Some(Statement::Label(_))) && label.scope.index() == 0
            });
        let (label, _) = labels
            .clone()
            .find(|(_, is_used)| !is_used)
            .or_else(|| labels.find(|(label, _)| self.body.precedes(self.stmt, label.stmt)))?;
        let name = String::from(self.module.name(label.name));
        let note = format!("for example `{name}`");
        Some(Repair::new(self.location(part), Side::Whole, name, note))
    }

    /// Returns a repair that negates a value by an instruction before this one.
    fn negation(&self, query: &InstQuery<'_>, part: Part) -> Option<Repair> {
        let register = register_of(self.body, self.operands, part)?;
        let ty = self.body.reg_decl_of(register)?.ty.known()?;
        let opcode = ForeignWord::from_text("-x")?.instead()?;
        let operand = ActualOperand::new(OperandShape::Register(ty));
        let operands = [operand, operand];
        let negate = InstQuery::new(Opcode::from_text(opcode.as_bytes())?, &[], &operands);
        let types: Vec<Modifier> = negate
            .repairs(self.environment.version(), self.environment.target())
            .iter()
            .filter(|repair| repair.fits_operands())
            .filter_map(|repair| repair.edit().modifier())
            .collect();
        let modifier = types
            .iter()
            .find(|modifier| query.modifiers().contains(modifier))
            .or(types.first())?;
        let name = name(self.module, self.body, register);
        let block_start =
            format!("{{\n\t.reg {ty} %negated;\n\t{opcode}{modifier} %negated, {name};\n\t");
        Some(Repair {
            note: String::from("for example in a block with another register"),
            edits: vec![
                (self.location(Part::Whole), Side::Before, block_start),
                (self.location(part), Side::Whole, String::from("%negated")),
                (
                    self.location(Part::Whole),
                    Side::After,
                    String::from("\n\t}"),
                ),
            ],
            ..Repair::default()
        })
    }

    /// Returns a repair that replaces a store by the load with the operands in the other order.
    fn opposite_access(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let [address, value] = query.operands() else {
            return None;
        };
        let operands = [*value, *address];
        let load = Opcode::ALL.iter().find(|opcode| {
            let query = InstQuery::new(**opcode, query.modifiers(), &operands);
            let form = self.environment.select(&query);
            form.is_ok_and(|form| form.violations().is_empty())
        })?;
        let opcode = load.text();
        let (first, second) = (Part::Operand(0), Part::Operand(1));
        Some(Repair {
            note: format!("perhaps `{opcode}` is meant"),
            edits: vec![
                (
                    self.location(Part::Opcode),
                    Side::Whole,
                    String::from(opcode),
                ),
                (self.location(first), Side::CopyOf(second), String::new()),
                (self.location(second), Side::CopyOf(first), String::new()),
            ],
            ..Repair::default()
        })
    }

    /// Returns a repair that splits an access with a vector that is too long into two accesses of half the length.
    fn two_accesses(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let index = query
            .modifiers()
            .iter()
            .position(|modifier| modifier.vector_len().is_some())?;
        let long = *query.modifiers().get(index)?;
        let length = usize::from(long.vector_len()?);
        let half = *Modifier::ALL
            .iter()
            .find(|modifier| modifier.vector_len().map(usize::from) == Some(length / 2))?;
        let modifiers = ModifierEdit::Replace(index, half).apply(query.modifiers());
        let mut operands = query.operands().to_vec();
        let vector = operands
            .iter_mut()
            .find(|o| elements(o.shape).len() == length)?;
        vector.shape = OperandShape::Vector(elements(vector.shape).get(..length / 2)?);
        let shorter = InstQuery::new(query.opcode(), &modifiers, &operands);
        let form = self.environment.select(&shorter).ok()?;
        let ty = query.modifiers().iter().find_map(|m| m.scalar_type())?;
        let bytes = usize::from(ty.bits() / 8) * length / 2;
        if !form.violations().is_empty() {
            return None;
        }
        let source = self.body.source_span(self.stmt).of(self.module.source());
        let text = core::str::from_utf8(source)
            .ok()?
            .replacen(long.text(), half.text(), 1);
        let (first, second) = split_access(&text, bytes)?;
        Some(Repair {
            note: format!("for example as two accesses with `{half}`"),
            edits: vec![(
                self.location(Part::Whole),
                Side::Whole,
                format!("{first}\n\t{second}"),
            )],
            replaces: true,
            ..Repair::default()
        })
    }

    /// Returns the types of the registers of the body that are legal in some parts of the instruction, the best first. If one has the expected width,
    /// only the types of this width are returned.
    fn legal_types(
        &self,
        query: &InstQuery<'_>,
        parts: &[Part],
        expected: Option<Expected>,
    ) -> Vec<ScalarType> {
        let mut types: Vec<ScalarType> = self.declared_types();
        types.retain(|ty| is_legal_with(self.environment, query, parts, *ty));
        let expected_bits = match expected {
            Some(expected) => expected.bits(),
            None => Some(self.address_bits()),
        };
        let has_other_width = |ty: &ScalarType| Some(ty.bits()) != expected_bits;
        types.sort_by_key(|ty| {
            let is_other_type = match expected {
                Some(Expected::Type(expected)) => expected != *ty && ty.kind() != TypeKind::Bits,
                _ => false,
            };
            (has_other_width(ty), is_other_type)
        });
        if types.first().is_some_and(|ty| !has_other_width(ty)) {
            types.retain(|ty| !has_other_width(ty));
        }
        types
    }

    /// Returns `true` if the instruction is legal with `operand` at an index.
    fn is_legal_with_operand(
        &self,
        query: &InstQuery<'_>,
        index: usize,
        operand: ActualOperand<'_>,
    ) -> bool {
        let mut operands = query.operands().to_vec();
        if let Some(entry) = operands.get_mut(index) {
            *entry = operand;
        }
        let form = self.environment.select(&query.with_operands(&operands));
        form.is_ok_and(|form| form.violations().is_empty())
    }

    pub(crate) fn address_bits(&self) -> u16 {
        self.module.header().address_size.unwrap_or(64).into()
    }

    fn declared_types(&self) -> Vec<ScalarType> {
        let mut types: Vec<ScalarType> = self
            .body
            .reg_decls()
            .values()
            .filter_map(|decl| decl.ty.known())
            .collect();
        types.sort_unstable();
        types.dedup();
        types
    }

    fn choose(
        &self,
        purpose: Purpose,
        types: &[ScalarType],
        excluded: &[String],
    ) -> Option<Choice> {
        let requirements = Requirements {
            stmt: self.stmt,
            purpose,
            types,
        };
        self.uses
            .choose(self.module, self.body, requirements, excluded)
    }

    /// Returns a repair with another register, or another access, for an operand that the instruction does not take.
    fn other_register(
        &self,
        query: &InstQuery<'_>,
        explanation: &Explanation,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        let mut part = explanation.part;
        // Several registers are hardly wrong at once.
        if !explanation.repeats.is_empty() {
            return None;
        }
        if let Part::Operand(index) = part {
            let load_or_store = self.load_or_store_repair(query, index as usize);
            if let Some(repair) =
                load_or_store.or_else(|| self.load_repair(query, index as usize, mismatch))
            {
                return Some(repair);
            }
            // Another type is meant, not another value.
            let has_right_value = match mismatch.found {
                FoundOperand::Special(_) => self.is_copy(query),
                FoundOperand::SpecialVector => true,
                _ => false,
            };
            // A component of another register is another value.
            let is_component = matches!(
                self.operands.get(index as usize),
                Some(Operand::Component(..))
            );
            if has_right_value || is_component {
                return None;
            }
            let written = query.operands().get(index as usize)?;
            if let OperandShape::Bracket([inner]) = written.shape
                && self.is_legal_with_operand(query, index as usize, *inner)
            {
                let side = Side::CopyOf(Part::Element(index, 0));
                let note = "for example without brackets";
                return Some(Repair::new(self.location(part), side, String::new(), note));
            }
            let count = elements(written.shape).len() as u32;
            let wrong_element = (0..count.min(MOST_ELEMENTS))
                .map(|element| Part::Element(index, element))
                .find(|element| !self.legal_types(query, &[*element], None).is_empty());
            match (wrong_element, written.shape) {
                (Some(element), _) => part = element,
                (
                    None,
                    OperandShape::Vector(_)
                    | OperandShape::Pair(_)
                    | OperandShape::Bracket(_)
                    | OperandShape::Variable(..),
                ) => return None,
                (None, _) => {}
            }
        }
        let types = self.legal_types(query, &[part], mismatch.expected);
        let purpose = match mismatch.operand.role() {
            Role::Def | Role::ReadWrite => Purpose::Write,
            _ => Purpose::Read,
        };
        let choice = self.choose(purpose, &types, &[])?;
        // A change of a modifier is as likely.
        if choice.reason.is_none() && !mismatch.repairs.is_empty() {
            return None;
        }
        let side = match register_of(self.body, self.operands, part) {
            Some(register) => Side::Inside(name(self.module, self.body, register)),
            None => Side::Whole,
        };
        let note = note(&choice);
        Some(Repair::new(self.location(part), side, choice.name, note))
    }

    fn location(&self, part: Part) -> Location {
        Location::part(self.body.source_span(self.stmt), part)
    }

    /// Returns a repair that adds or removes elements of a vector.
    fn vector_of_length(
        &self,
        query: &InstQuery<'_>,
        part: Part,
        mismatch: &OperandMismatch,
        length: u16,
    ) -> Option<Repair> {
        let (FoundOperand::Elements(count, _), Part::Operand(index)) = (mismatch.found, part)
        else {
            return None;
        };
        let length = usize::from(length);
        if count > length {
            let last = u32::try_from(length.checked_sub(1)?).ok()?;
            let location = self.location(Part::AfterElement(index, last));
            let note = match count - length {
                1 => "for example without the last element".into(),
                extra => format!("for example without the last {extra} elements"),
            };
            return Some(Repair::new(location, Side::Whole, String::new(), note));
        }
        let operand = query.operands().get(index as usize)?;
        let OperandShape::Vector(elements) = operand.shape else {
            return None;
        };
        let OperandShape::Register(ty) = elements.last()?.shape else {
            return None;
        };
        let mut names: Vec<String> = (0..count)
            .filter_map(|element| {
                let part = Part::Element(index, element as u32);
                let register = register_of(self.body, self.operands, part)?;
                Some(name(self.module, self.body, register))
            })
            .collect();
        let purpose = match mismatch.operand.role() {
            Role::Def => Purpose::Write,
            _ => Purpose::Read,
        };
        let mut text = String::new();
        for _ in count..length {
            let choice = self.choose(purpose, &[ty], &names)?;
            text.push_str(", ");
            text.push_str(&choice.name);
            names.push(choice.name);
        }
        let last = u32::try_from(count.checked_sub(1)?).ok()?;
        let note = format!("perhaps `{}` is missing", text.trim_start_matches(", "));
        let location = self.location(Part::Element(index, last));
        Some(Repair::new(location, Side::After, text, note).with_placeholders())
    }

    /// Returns a repair that adds a constant as the only operand: all lanes if the operand is a mask of lanes, otherwise zero.
    fn constant_operand(&self, query: &InstQuery<'_>) -> Repair {
        let operands = [ActualOperand::new(OperandShape::Integer(0))];
        let query = query.with_operands(&operands);
        let form = self.environment.select(&query);
        let is_mask = form.is_ok_and(|f| f.effects().any(|e| matches!(e, EffectKind::Lanes(0))));
        let (text, note) = if is_mask {
            (
                " 0xffffffff",
                "for example `0xffffffff`, if all threads of the warp execute it",
            )
        } else {
            (" 0", "for example `0`")
        };
        Repair::new(
            self.location(Part::Mnemonic),
            Side::After,
            text.into(),
            note,
        )
        .with_placeholders()
    }

    /// Returns a repair that adds a missing operand: the last one, if several may be missing.
    fn missing_operand(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let count = query.operands().len();
        let is_legal = |index: usize, shape: OperandShape<'_>| {
            let mut operands = query.operands().to_vec();
            operands.insert(index, ActualOperand::new(shape));
            let form = self.environment.select(&query.with_operands(&operands));
            form.is_ok_and(|form| form.violations().is_empty())
        };
        if count == 0 && is_legal(0, OperandShape::Integer(0)) {
            return Some(self.constant_operand(query));
        }
        for index in (1..=count).rev() {
            let (mut types, mut address_types) = (self.declared_types(), self.declared_types());
            types.retain(|ty| is_legal(index, OperandShape::Register(*ty)));
            address_types.retain(|ty| {
                let address = [ActualOperand::new(OperandShape::Register(*ty))];
                is_legal(index, OperandShape::Bracket(&address))
            });
            address_types.sort_by_key(|ty| ty.bits() != self.address_bits());
            let choice = self.choose(Purpose::Read, &types, &[]).or_else(|| {
                let mut choice = self.choose(Purpose::Read, &address_types, &[])?;
                choice.name = format!("[{}]", choice.name);
                Some(choice)
            });
            if let Some(choice) = choice {
                let previous = self.location(Part::Operand(index as u32 - 1));
                let text = format!(", {}", choice.name);
                let repair = Repair::new(previous, Side::After, text, note(&choice));
                return Some(repair.with_placeholders());
            }
        }
        None
    }
}

/// Adds an alternative to the note of a repair. If there is no repair, the alternative becomes the repair.
fn with_alternative(repair: Option<Repair>, alternative: Option<Repair>) -> Option<Repair> {
    match (repair, alternative) {
        (Some(mut repair), Some(alternative)) => {
            repair.note = format!("{}; {}", repair.note, alternative.note);
            Some(repair)
        }
        (repair, alternative) => repair.or(alternative),
    }
}

/// Splits the text of an access into two accesses: with the first half of its vector, and with the second half at an address that is higher by
/// `bytes`.
fn split_access(text: &str, bytes: usize) -> Option<(String, String)> {
    let range_between = |open: char, close: char| {
        let start = text.find(open)? + 1;
        let end = start + text.get(start..)?.find(close)?;
        Some(start..end)
    };
    let (vector, address) = (range_between('{', '}')?, range_between('[', ']')?);
    let elements: Vec<&str> = text.get(vector.clone())?.split(',').collect();
    let (low, high) = elements.split_at_checked(elements.len() / 2)?;
    let low_address = text.get(address.clone())?;
    let (base, offset) = low_address.split_once('+').unwrap_or((low_address, "0"));
    let offset: usize = offset.trim().parse().ok()?;
    let high_address = format!("{}+{}", base.trim(), offset + bytes);
    let replace = |elements: &[&str], new_address: &str| {
        let mut replaced = String::from(text);
        let mut replacements = [
            (vector.clone(), elements.join(",")),
            (address.clone(), String::from(new_address)),
        ];
        // The later one first, so that the offsets of the other one stay valid.
        replacements.sort_by_key(|(range, _)| core::cmp::Reverse(range.start));
        for (range, replacement) in replacements {
            replaced.replace_range(range, &replacement);
        }
        replaced
    };
    (vector.end <= address.start || address.end <= vector.start)
        .then(|| (replace(low, low_address), replace(high, &high_address)))
}

/// Returns a repair of a guard that is not a predicate: a comparison with zero, or else another register.
pub(crate) fn guard_repair(
    inst: &WrongInst<'_>,
    register: RegId,
    register_name: &str,
) -> Option<Repair> {
    with_alternative(
        inst.guard_repair(register),
        other_guard(inst, register_name),
    )
}

/// Returns a repair with another register for a guard that is not a predicate.
fn other_guard(inst: &WrongInst<'_>, register_name: &str) -> Option<Repair> {
    let choice = inst.choose(Purpose::Read, &[ScalarType::Pred], &[])?;
    let side = Side::Inside(register_name.into());
    let note = note(&choice);
    Some(Repair::new(
        inst.location(Part::Guard),
        side,
        choice.name,
        note,
    ))
}

/// Returns the note about a chosen register.
fn note(choice: &Choice) -> String {
    match choice.reason {
        Some(reason) => format!("perhaps `{}` is meant, {reason}", choice.name),
        None => format!("for example `{}`", choice.name),
    }
}

/// Returns `true` if an instruction is legal with registers of a type in some of its parts.
pub(crate) fn is_legal_with(
    environment: Environment,
    query: &InstQuery<'_>,
    parts: &[Part],
    ty: ScalarType,
) -> bool {
    let mut operands = query.operands().to_vec();
    let shape = OperandShape::Register(ty);
    let mut lists: Vec<(usize, Vec<ActualOperand<'_>>)> = Vec::new();
    for part in parts {
        let (index, element) = match *part {
            Part::Operand(index) => (index as usize, None),
            Part::Element(index, element) => (index as usize, Some(element as usize)),
            _ => return false,
        };
        let Some(operand) = operands.get_mut(index) else {
            return false;
        };
        let Some(element) = element else {
            operand.shape = shape;
            continue;
        };
        let position = match lists.iter().position(|(other, _)| *other == index) {
            Some(position) => position,
            None => {
                lists.push((index, elements(operand.shape).to_vec()));
                lists.len() - 1
            }
        };
        let entry = lists
            .get_mut(position)
            .and_then(|(_, list)| list.get_mut(element));
        let Some(entry) = entry else { return false };
        entry.shape = shape;
    }
    for (index, list) in &lists {
        if let Some(operand) = operands.get_mut(*index) {
            operand.shape = match operand.shape {
                OperandShape::Vector(_) => OperandShape::Vector(list),
                OperandShape::Bracket(_) => OperandShape::Bracket(list),
                other => match list.as_slice().try_into() {
                    Ok(pair) => OperandShape::Pair(pair),
                    Err(_) => other,
                },
            };
        }
    }
    let form = environment.select(&query.with_operands(&operands));
    form.is_ok_and(|f| f.violations().is_empty())
}

/// Returns the elements of an operand.
fn elements<'a>(shape: OperandShape<'a>) -> &'a [ActualOperand<'a>] {
    match shape {
        OperandShape::Vector(elements) | OperandShape::Bracket(elements) => elements,
        OperandShape::Pair(pair) => pair,
        _ => &[],
    }
}
