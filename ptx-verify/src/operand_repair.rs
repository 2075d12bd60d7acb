//! Other registers for operands that an instruction does not take, and registers for those that are missing.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_ir::{Applicability, Body, EntityId, Label, Module, Operand, RegId, Statement, StmtId};
use ptx_isa::{
    ActualOperand, EffectKind, ForeignWord, InstQuery, Modifier, ModifierEdit, Opcode,
    OperandShape, OperandViolation, Role, ScalarType, TypeKind,
};

use crate::declared::register_of;
use crate::explain::Explanation;
use crate::finding::Repair;
use crate::location::{Location, Part};
use crate::problem::Side;
use crate::problem::instruction::InstProblemKind;
use crate::problem::operand::{FoundOperand, OperandMismatch};
use crate::register_choice::{Choice, Purpose, RegisterUses, Wanted, name};
use crate::uses;

/// The number of pairs of modifiers that are tried in the other order.
const MOST_EXCHANGES: usize = 45;
/// The number of elements of a vector that are replaced, one at a time. No instruction takes a longer vector.
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
    /// Registers that make the instruction legal. `query` is about it.
    pub(crate) fn repair(&self, query: &InstQuery<'_>, found: &Explanation) -> Option<Repair> {
        let of_modifiers = matches!(
            &found.kind,
            InstProblemKind::Repairable { .. }
                | InstProblemKind::ModifierCombination(_)
                | InstProblemKind::Modifier(..)
        );
        let of_type = matches!(&found.kind, InstProblemKind::Operand(m) if m.problem == OperandViolation::Type);
        if (of_modifiers || of_type)
            && let Some(repair) = self.exchanged(query)
        {
            return Some(repair);
        }
        match &found.kind {
            InstProblemKind::Operand(mismatch) => match mismatch.problem {
                _ if mismatch.operand.role() == Role::Label => self.label(found.part),
                OperandViolation::Inverted => Some(self.without_sign(found.part, "!")),
                OperandViolation::Negated if mismatch.operand.role() == Role::Def => {
                    Some(self.without_sign(found.part, "-"))
                }
                OperandViolation::Type => {
                    let other = self.other_registers(query, found, mismatch);
                    match self.converted(query, found, mismatch) {
                        // Another register is less likely than a forgotten conversion.
                        Some(mut repair) => {
                            if let Some(other) = other {
                                repair.note = format!("{}; {}", repair.note, other.note);
                            }
                            Some(repair)
                        }
                        None => other,
                    }
                }
                OperandViolation::NeedsRegister
                | OperandViolation::Discard
                | OperandViolation::Shape
                | OperandViolation::Kind => self.other_registers(query, found, mismatch),
                OperandViolation::Negated => self.negation(query, found.part),
                OperandViolation::Space if mismatch.writes_parameter() => self.read(query),
                OperandViolation::Length(length) => {
                    self.length(query, found.part, mismatch, length)
                }
                _ => None,
            },
            InstProblemKind::Count(_, found, least, ..) if found + 1 == *least => {
                self.missing(query)
            }
            InstProblemKind::Repairable { .. }
            | InstProblemKind::Unavailable(_)
            | InstProblemKind::ModifierCombination(_) => self.halves(query),
            _ => None,
        }
    }

    fn without_sign(&self, part: Part, sign: &str) -> Repair {
        let side = Side::Inside(sign.into());
        let note = format!("for example without `{sign}`");
        Repair::new(self.at(part), side, String::new(), note)
    }

    /// Two modifiers that are legal in the other order.
    fn exchanged(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let modifiers = query.modifiers();
        let pairs = (1..modifiers.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let legal = |(a, b): &(usize, usize)| {
            let mut exchanged = modifiers.to_vec();
            exchanged.swap(*a, *b);
            let query = InstQuery::new(query.opcode(), &exchanged, query.operands());
            let form = self.environment.select(&query).ok();
            exchanged != modifiers && form.is_some_and(|f| self.environment.is_clean(&f))
        };
        let kind = |i: usize| modifiers.get(i).map(|m| m.class());
        let pairs: Vec<(usize, usize)> = pairs.take(MOST_EXCHANGES).filter(legal).collect();
        let only = pairs.len() == 1;
        // ptxas takes modifiers of different kinds in any order: two of a kind are more likely exchanged, or neighbors.
        let (a, b) = pairs
            .into_iter()
            .min_by_key(|(a, b)| (kind(*a) != kind(*b), b - a))?;
        let [first, second] = [a, b].map(|i| modifiers.get(i).map_or("", |m| m.text()));
        let place = |i: usize| self.at(Part::Modifiers(i as u32, i as u32));
        Some(Repair {
            note: format!("write `{second}` before `{first}`"),
            edits: vec![
                (place(a), Side::Whole, String::from(second)),
                (place(b), Side::Whole, String::from(first)),
            ],
            replaces: true,
            // Two of a kind mean something else in the other order.
            applicability: match only && kind(a) != kind(b) {
                true => Applicability::MachineApplicable,
                false => Applicability::MaybeIncorrect,
            },
        })
    }

    /// A label that is not used.
    fn label(&self, part: Part) -> Option<Repair> {
        let mut used = vec![false; self.body.labels().len()];
        for operand in uses::operands(self.body.pool()) {
            if let Operand::Label(id) = operand
                && let Some(used) = used.get_mut(id.index())
            {
                *used = true;
            }
        }
        let labels = self.body.labels().values().zip(used);
        let of_statement = |label: &Label| {
            let statement = self.body.statement(label.stmt);
            matches!(statement, Some(Statement::Label(_))) && label.scope.index() == 0
        };
        let mut labels = labels.filter(|(label, _)| of_statement(label));
        let (label, _) = (labels.clone().find(|(_, used)| !used))
            .or_else(|| labels.find(|(label, _)| self.body.precedes(self.stmt, label.stmt)))?;
        let name = String::from(self.module.name(label.name));
        let note = format!("for example `{name}`");
        Some(Repair::new(self.at(part), Side::Whole, name, note))
    }

    /// The value without its sign, negated by an instruction before this one.
    fn negation(&self, query: &InstQuery<'_>, part: Part) -> Option<Repair> {
        let register = register_of(self.body, self.operands, part)?;
        let ty = self.body.reg_decl_of(register)?.ty.known()?;
        let opcode = ForeignWord::from_text("-x")?.instead()?;
        let operand = ActualOperand::new(OperandShape::Register(ty));
        let operands = [operand, operand];
        let negate = InstQuery::new(Opcode::from_text(opcode.as_bytes())?, &[], &operands);
        let types = negate.repairs(self.environment.version(), self.environment.target());
        let types = types.iter().filter(|r| r.fits_operands());
        let types: Vec<Modifier> = types.filter_map(|r| r.edit().modifier()).collect();
        let same = types.iter().find(|m| query.modifiers().contains(m));
        let modifier = same.or(types.first())?;
        let name = name(self.module, self.body, register);
        let before =
            format!("{{\n\t.reg {ty} %negated;\n\t{opcode}{modifier} %negated, {name};\n\t");
        Some(Repair {
            note: String::from("for example in a block with another register"),
            edits: vec![
                (self.at(Part::Whole), Side::Before, before),
                (self.at(part), Side::Whole, String::from("%negated")),
                (self.at(Part::Whole), Side::After, String::from("\n\t}")),
            ],
            ..Repair::default()
        })
    }

    /// The instruction that reads what this one writes.
    fn read(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let [address, value] = query.operands() else {
            return None;
        };
        let operands = [*value, *address];
        let reads = |opcode: &&Opcode| {
            let query = InstQuery::new(**opcode, query.modifiers(), &operands);
            let form = self.environment.select(&query).ok();
            form.is_some_and(|f| f.violations().is_empty())
        };
        let opcode = Opcode::ALL.iter().find(reads)?.text();
        let [first, second] = [Part::Operand(0), Part::Operand(1)];
        Some(Repair {
            note: format!("perhaps `{opcode}` is meant"),
            edits: vec![
                (self.at(Part::Opcode), Side::Whole, String::from(opcode)),
                (self.at(first), Side::CopyOf(second), String::new()),
                (self.at(second), Side::CopyOf(first), String::new()),
            ],
            ..Repair::default()
        })
    }

    /// Two accesses of half the length for one whose vector is too long.
    fn halves(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let place = query
            .modifiers()
            .iter()
            .position(|m| m.vector_len().is_some());
        let long = *query.modifiers().get(place?)?;
        let length = usize::from(long.vector_len()?);
        let half = |m: &&Modifier| m.vector_len().map(usize::from) == Some(length / 2);
        let half = *Modifier::ALL.iter().find(half)?;
        let modifiers = ModifierEdit::Replace(place?, half).apply(query.modifiers());
        let mut operands = query.operands().to_vec();
        let vector = operands
            .iter_mut()
            .find(|o| elements(o.shape).len() == length)?;
        vector.shape = OperandShape::Vector(elements(vector.shape).get(..length / 2)?);
        let shorter = InstQuery::new(query.opcode(), &modifiers, &operands);
        let form = self.environment.select(&shorter).ok()?;
        let ty = query.modifiers().iter().find_map(|m| m.scalar_type())?;
        let bytes = usize::from(ty.bits() / 8) * length / 2;
        form.violations().is_empty().then_some(())?;
        let source = self.body.source_span(self.stmt).of(self.module.source());
        let text = core::str::from_utf8(source).ok()?;
        let text = text.replacen(long.text(), half.text(), 1);
        let (first, second) = split_access(&text, bytes)?;
        Some(Repair {
            note: format!("for example as two accesses with `{half}`"),
            edits: vec![(
                self.at(Part::Whole),
                Side::Whole,
                format!("{first}\n\t{second}"),
            )],
            replaces: true,
            ..Repair::default()
        })
    }

    /// The types of the registers of the body that are legal in some parts of the instruction, the best first.
    fn types(
        &self,
        query: &InstQuery<'_>,
        parts: &[Part],
        expected: Option<ptx_isa::Expected>,
    ) -> Vec<ScalarType> {
        let mut types: Vec<ScalarType> = self.declared_types();
        types.retain(|ty| is_legal_with(self.environment, query, parts, *ty));
        let exact = |ty: &ScalarType| match expected {
            Some(ptx_isa::Expected::Type(wanted)) => {
                let other = wanted != *ty && ty.kind() != TypeKind::Bits;
                (wanted.bits() != ty.bits(), other)
            }
            Some(wanted) => (wanted.bits() != Some(ty.bits()), false),
            // An address.
            None => (ty.bits() != self.address_bits(), false),
        };
        types.sort_by_key(exact);
        if types.first().is_some_and(|ty| !exact(ty).0) {
            types.retain(|ty| !exact(ty).0);
        }
        types
    }

    fn is_legal_as(&self, query: &InstQuery<'_>, nth: usize, operand: ActualOperand<'_>) -> bool {
        let mut operands = query.operands().to_vec();
        if let Some(entry) = operands.get_mut(nth) {
            *entry = operand;
        }
        let form = self.environment.select(&query.with_operands(&operands));
        form.is_ok_and(|f| f.violations().is_empty())
    }

    pub(crate) fn address_bits(&self) -> u16 {
        self.module.header().address_size.unwrap_or(64).into()
    }

    fn declared_types(&self) -> Vec<ScalarType> {
        let declared = self.body.reg_decls().values();
        let mut types: Vec<ScalarType> = declared.filter_map(|d| d.ty.known()).collect();
        types.sort_unstable();
        types.dedup();
        types
    }

    fn choose(&self, purpose: Purpose, types: &[ScalarType], taken: &[String]) -> Option<Choice> {
        let stmt = self.stmt;
        let wanted = Wanted {
            stmt,
            purpose,
            types,
        };
        (self.uses).choose(self.module, self.body, wanted, taken)
    }

    /// Other registers in the operands that the instruction does not take.
    fn other_registers(
        &self,
        query: &InstQuery<'_>,
        found: &Explanation,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        let mut parts = vec![found.part];
        parts.extend(found.repeats.iter().map(|(part, _)| *part));
        // Several registers are hardly wrong at once.
        if parts.len() > 1 {
            return None;
        }
        if let [Part::Operand(nth)] = *parts {
            let access = self.accessing(query, nth as usize);
            if let Some(repair) = access.or_else(|| self.loaded(query, nth as usize, mismatch)) {
                return Some(repair);
            }
            // Another type is meant, not another value.
            let is_other = match mismatch.found {
                FoundOperand::Special(_) => self.is_copy(query),
                FoundOperand::SpecialVector => true,
                _ => false,
            };
            if is_other {
                return None;
            }
            // A component of another register is another value.
            if let Some(Operand::Lane(..)) = self.operands.get(nth as usize) {
                return None;
            }
            let written = query.operands().get(nth as usize)?;
            if let OperandShape::Bracket([inner]) = written.shape
                && self.is_legal_as(query, nth as usize, *inner)
            {
                let side = Side::CopyOf(Part::Element(nth, 0));
                let note = "for example without brackets";
                return Some(Repair::new(self.at(found.part), side, String::new(), note));
            }
            let legal = |e: &u32| {
                !self
                    .types(query, &[Part::Element(nth, *e)], None)
                    .is_empty()
            };
            let count = elements(written.shape).len() as u32;
            let count = count.min(MOST_ELEMENTS);
            if let Some(element) = (0..count).find(legal) {
                parts = vec![Part::Element(nth, element)];
            } else if matches!(
                written.shape,
                OperandShape::Vector(_)
                    | OperandShape::Pair(_)
                    | OperandShape::Bracket(_)
                    | OperandShape::Variable(..)
            ) {
                return None;
            }
        }
        let types = self.types(query, &parts, mismatch.expected);
        let purpose = match mismatch.operand.role() {
            Role::Def | Role::ReadWrite => Purpose::Write,
            _ => Purpose::Read,
        };
        let mut repair = Repair::default();
        let mut names = Vec::new();
        for part in parts {
            let choice = self.choose(purpose, &types, &names)?;
            let old = register_of(self.body, self.operands, part);
            let old = old.map(|id| name(self.module, self.body, id));
            // A change of a modifier is as likely.
            if choice.reason.is_none() && !mismatch.repairs.is_empty() {
                return None;
            }
            if names.is_empty() {
                repair.note = note(&choice);
            }
            let location = self.at(part);
            let side = old.map_or(Side::Whole, Side::Inside);
            repair.edits.push((location, side, choice.name.clone()));
            names.push(choice.name);
        }
        Some(repair)
    }

    fn at(&self, part: Part) -> Location {
        Location::part(self.body.source_span(self.stmt), part)
    }

    /// More or fewer elements of a vector.
    fn length(
        &self,
        query: &InstQuery<'_>,
        part: Part,
        mismatch: &OperandMismatch,
        length: u16,
    ) -> Option<Repair> {
        let (FoundOperand::Elements(count, _), Part::Operand(nth)) = (mismatch.found, part) else {
            return None;
        };
        let length = usize::from(length);
        if count > length {
            let last = u32::try_from(length.checked_sub(1)?).ok()?;
            let location = self.at(Part::AfterElement(nth, last));
            let note = match count - length {
                1 => "for example without the last element".into(),
                n => format!("for example without the last {n} elements"),
            };
            return Some(Repair::new(location, Side::Whole, String::new(), note));
        }
        let operand = query.operands().get(nth as usize)?;
        let OperandShape::Vector(elements) = operand.shape else {
            return None;
        };
        let OperandShape::Register(ty) = elements.last()?.shape else {
            return None;
        };
        let of_element = |i: usize| {
            let id = register_of(self.body, self.operands, Part::Element(nth, i as u32));
            id.map(|id| name(self.module, self.body, id))
        };
        let mut names: Vec<String> = (0..count).filter_map(of_element).collect();
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
        let location = self.at(Part::Element(nth, last));
        Some(Repair::new(location, Side::After, text, note).with_placeholders())
    }

    /// A constant as the only operand: all lanes where it is the mask of lanes, else zero.
    fn only_operand(&self, query: &InstQuery<'_>) -> Repair {
        let operands = [ActualOperand::new(OperandShape::Integer(0))];
        let query = query.with_operands(&operands);
        let form = self.environment.select(&query);
        let is_mask = form.is_ok_and(|f| f.effects().any(|e| matches!(e, EffectKind::Lanes(0))));
        let (text, note) = match is_mask {
            true => (
                " 0xffffffff",
                "for example `0xffffffff`, if all threads of the warp execute it",
            ),
            false => (" 0", "for example `0`"),
        };
        Repair::new(self.at(Part::Mnemonic), Side::After, text.into(), note).with_placeholders()
    }

    /// The operand that is missing: the last one, if several may be.
    fn missing(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let count = query.operands().len();
        let legal = |index: usize, operand: ActualOperand<'_>| {
            let mut operands = query.operands().to_vec();
            operands.insert(index, operand);
            let form = self.environment.select(&query.with_operands(&operands));
            form.is_ok_and(|f| f.violations().is_empty())
        };
        if count == 0 && legal(0, ActualOperand::new(OperandShape::Integer(0))) {
            return Some(self.only_operand(query));
        }
        for index in (1..=count).rev() {
            let mut types = self.declared_types();
            let bracket = |ty: &ScalarType| {
                let address = [ActualOperand::new(OperandShape::Register(*ty))];
                legal(index, ActualOperand::new(OperandShape::Bracket(&address)))
            };
            let mut addresses: Vec<ScalarType> = types.iter().copied().filter(bracket).collect();
            addresses.sort_by_key(|ty| ty.bits() != self.address_bits());
            types.retain(|ty| legal(index, ActualOperand::new(OperandShape::Register(*ty))));
            let choice = self.choose(Purpose::Read, &types, &[]);
            let choice = choice.or_else(|| {
                let mut choice = self.choose(Purpose::Read, &addresses, &[])?;
                choice.name = format!("[{}]", choice.name);
                Some(choice)
            });
            if let Some(choice) = choice {
                let before = self.at(Part::Operand(index as u32 - 1));
                let text = format!(", {}", choice.name);
                let repair = Repair::new(before, Side::After, text, note(&choice));
                return Some(repair.with_placeholders());
            }
        }
        None
    }
}

/// An access as two: of the first half of its vector, and of the second one, which is this many bytes further.
fn split_access(text: &str, bytes: usize) -> Option<(String, String)> {
    let inside = |open: char, close: char| {
        let start = text.find(open)? + 1;
        let end = start + text.get(start..)?.find(close)?;
        Some((start, end))
    };
    let (vector, address) = (inside('{', '}')?, inside('[', ']')?);
    let elements: Vec<&str> = text.get(vector.0..vector.1)?.split(',').collect();
    let (low, high) = elements.split_at_checked(elements.len() / 2)?;
    let place = text.get(address.0..address.1)?;
    let (base, offset) = place.split_once('+').unwrap_or((place, "0"));
    let offset: usize = offset.trim().parse().ok()?;
    let further = format!("{}+{}", base.trim(), offset + bytes);
    let with = |elements: &[&str], place: &str| {
        let mut parts = [(vector, elements.join(",")), (address, String::from(place))];
        parts.sort_by_key(|(span, _)| span.0);
        let [(a, first), (b, second)] = parts;
        let [before, between, after] = [text.get(..a.0)?, text.get(a.1..b.0)?, text.get(b.1..)?];
        Some(format!("{before}{first}{between}{second}{after}"))
    };
    Some((with(low, place)?, with(high, &further)?))
}

/// A predicate for a guard that is not a predicate: whether it is not zero, or else another register.
pub(crate) fn guard(inst: &WrongInst<'_>, register: RegId, found: &str) -> Option<Repair> {
    let other = other_guard(inst, found);
    match inst.guarded(register) {
        Some(mut repair) => {
            if let Some(other) = other {
                repair.note = format!("{}; {}", repair.note, other.note);
            }
            Some(repair)
        }
        None => other,
    }
}

/// Another register for a guard that is not a predicate.
fn other_guard(inst: &WrongInst<'_>, found: &str) -> Option<Repair> {
    let (module, body, stmt, uses) = (inst.module, inst.body, inst.stmt, inst.uses);
    let wanted = Wanted {
        stmt,
        purpose: Purpose::Read,
        types: &[ScalarType::Pred],
    };
    let choice = uses.choose(module, body, wanted, &[])?;
    let location = Location::part(body.source_span(stmt), Part::Guard);
    let note = note(&choice);
    Some(Repair::new(
        location,
        Side::Inside(found.into()),
        choice.name,
        note,
    ))
}

/// The assumption of a choice.
fn note(choice: &Choice) -> String {
    match choice.reason {
        Some(reason) => format!("perhaps `{}` is meant, {reason}", choice.name),
        None => format!("for example `{}`", choice.name),
    }
}

/// Whether an instruction is legal with registers of a type in some of its parts.
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
        let (nth, element) = match *part {
            Part::Operand(nth) => (nth as usize, None),
            Part::Element(nth, element) => (nth as usize, Some(element as usize)),
            _ => return false,
        };
        let Some(operand) = operands.get_mut(nth) else {
            return false;
        };
        let Some(element) = element else {
            operand.shape = shape;
            continue;
        };
        let list = match lists.iter().position(|(n, _)| *n == nth) {
            Some(list) => list,
            None => {
                lists.push((nth, elements(operand.shape).to_vec()));
                lists.len() - 1
            }
        };
        let entry = lists.get_mut(list).and_then(|(_, l)| l.get_mut(element));
        let Some(entry) = entry else { return false };
        entry.shape = shape;
    }
    for (nth, list) in &lists {
        if let Some(operand) = operands.get_mut(*nth) {
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

/// The parts of an operand.
fn elements<'a>(shape: OperandShape<'a>) -> &'a [ActualOperand<'a>] {
    match shape {
        OperandShape::Vector(elements) | OperandShape::Bracket(elements) => elements,
        OperandShape::Pair(pair) => pair,
        _ => &[],
    }
}
