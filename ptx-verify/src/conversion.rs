//! Conversions of values of the wrong type, which replace no operand by another value: in the instruction itself, or by another
//! instruction before or after it.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{RegId, StmtId};
use ptx_isa::{
    ActualOperand, Destination, Expected, Expr, ForeignWord, InstQuery, Modifier, ModifierEdit,
    Opcode, OperandShape, Role, ScalarType, TypeKind,
};

use crate::declared::register_of;
use crate::explain::Explanation;
use crate::finding::Repair;
use crate::location::{Location, Part};
use crate::operand_repair::{WrongInst, is_legal_with};
use crate::problem::Side;
use crate::problem::operand::OperandMismatch;
use crate::register_choice::name;

/// The fewest bits of a number that an instruction computes.
const SHORTEST_NUMBER: u16 = 16;
/// The name of the register that holds a converted value, in a separate block.
const CONVERTED: &str = "%converted";

impl WrongInst<'_> {
    /// A change with which the instruction takes its operands, each with the value that it has.
    pub(crate) fn converted(
        &self,
        query: &InstQuery<'_>,
        found: &Explanation,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        (self.widening(query))
            .or_else(|| self.as_conversion(query, found.part))
            .or_else(|| self.around(query, found, mismatch))
    }

    /// A guard that is not a predicate, compared with zero in a block before the instruction.
    pub(crate) fn guarded(&self, register: RegId) -> Option<Repair> {
        let decl = self.body.reg_decl_of(register)?;
        let ty = decl.ty.known().filter(|_| decl.vector < 2)?;
        let conversion = Conversion::of(self, ScalarType::Pred, ty, false)?;
        let old = name(self.module, self.body, register);
        let line = conversion.line(CONVERTED, &old);
        let before = format!("{{\n\t.reg {} {CONVERTED};\n\t{line}\n\t", ScalarType::Pred);
        Some(Repair {
            note: format!("for example first with `{}`", conversion.mnemonic),
            edits: vec![
                (self.place(Part::Whole), Side::Before, before),
                (
                    self.place(Part::Guard),
                    Side::Inside(old),
                    String::from(CONVERTED),
                ),
                (self.place(Part::Whole), Side::After, String::from("\n\t}")),
            ],
            ..Repair::default()
        })
    }

    /// The instruction that reads or writes the memory to which a copy refers, with the same operands.
    pub(crate) fn accessing(&self, query: &InstQuery<'_>, nth: usize) -> Option<Repair> {
        let address = *query.operands().get(nth)?;
        let copies = query.operands().len() == 2 && self.is_copy(query);
        let mnemonic = match copies {
            true => self.access(query.modifiers(), address, query.operands())?,
            false => return None,
        };
        let verb = if nth == 0 { "written" } else { "read" };
        let note = format!("memory is {verb} with `{mnemonic}`");
        let location = self.place(Part::Mnemonic);
        Some(Repair::new(location, Side::Whole, mnemonic, note))
    }

    /// The repair that loads a source from memory.
    pub(crate) fn loaded(
        &self,
        query: &InstQuery<'_>,
        nth: usize,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        let Some(Expected::Type(ty)) = mismatch.expected else {
            return None;
        };
        if mismatch.operand.role() != Role::Use {
            return None;
        }
        let address = *query.operands().get(nth)?;
        let result = ActualOperand::new(OperandShape::Register(ty));
        let mnemonic = self.access(&[modifier(ty)?], address, &[result, address])?;
        Some(Repair {
            note: format!("load it first with `{mnemonic}`"),
            ..Repair::default()
        })
    }

    /// The first instruction with these modifiers, and the state space of the variable in the address, that takes the operands.
    fn access(
        &self,
        modifiers: &[Modifier],
        address: ActualOperand<'_>,
        operands: &[ActualOperand<'_>],
    ) -> Option<String> {
        let OperandShape::Bracket([base, ..]) = address.shape else {
            return None;
        };
        let space = match base.shape {
            // Without a variant such as `::entry`, which older versions lack.
            OperandShape::Variable(space, _) => {
                let text = space.text().split("::").next()?;
                Modifier::from_text(text.as_bytes())
            }
            _ => None,
        };
        let modifiers: Vec<Modifier> = space.into_iter().chain(modifiers.iter().copied()).collect();
        let takes = |opcode: &Opcode| {
            let query = InstQuery::new(*opcode, &modifiers, operands);
            let form = self.environment.select(&query).ok();
            form.is_some_and(|f| self.environment.is_clean(&f))
        };
        let opcode = Opcode::ALL.iter().copied().find(takes)?;
        Some(mnemonic(opcode, &modifiers))
    }

    /// Whether an instruction copies its operand.
    pub(crate) fn is_copy(&self, query: &InstQuery<'_>) -> bool {
        let form = self.environment.select(query).ok();
        let computation = form.and_then(|f| f.form().computation());
        computation.is_some_and(|c| match c.assignments() {
            [assignment] => matches!(
                (assignment.value(), assignment.target()),
                (Expr::Operand(_), Destination::Operand(_))
            ),
            _ => false,
        })
    }

    fn place(&self, part: Part) -> Location {
        Location::part(self.body.source_span(self.stmt), part)
    }

    /// The type of the register in a part of the instruction.
    fn type_of(&self, part: Part) -> Option<ScalarType> {
        let register = register_of(self.body, self.operands, part)?;
        let decl = self.body.reg_decl_of(register)?;
        decl.ty.known().filter(|_| decl.vector < 2)
    }

    /// The form of the same instruction whose result is twice as wide as its sources: two modifiers change.
    fn widening(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let modifiers = query.modifiers();
        let (position, narrow) = modifiers.iter().enumerate().find_map(|(position, m)| {
            let ty = m.scalar_type()?;
            let narrow = of_kind(ty.kind(), ty.bits() / 2)?;
            Some((position, modifier(narrow)?))
        })?;
        let changed = ModifierEdit::Replace(position, narrow).apply(modifiers);
        let narrower = InstQuery::new(query.opcode(), &changed, query.operands());
        let repairs = narrower.repairs(self.environment.version(), self.environment.target());
        let mut others = repairs.iter().filter(|r| r.fits_operands());
        let other = others.next().filter(|_| others.next().is_none())?;
        let ModifierEdit::Replace(index, wide) = other.edit() else {
            return None;
        };
        if index == position {
            return None;
        }
        let changed = other.edit().apply(&changed);
        let place = |i: usize| self.place(Part::Modifiers(i as u32, i as u32));
        Some(Repair {
            note: format!(
                "for example `{}`, which takes these operands",
                mnemonic(query.opcode(), &changed)
            ),
            edits: vec![
                (place(index), Side::Whole, String::from(wide.text())),
                (place(position), Side::Whole, String::from(narrow.text())),
            ],
            ..Repair::default()
        })
    }

    /// A conversion instead of an instruction that copies its operand.
    fn as_conversion(&self, query: &InstQuery<'_>, wrong: Part) -> Option<Repair> {
        let [result, value] = query.operands() else {
            return None;
        };
        let scalar = |o: &ActualOperand<'_>| matches!(o.shape, OperandShape::Register(_));
        let scalars = scalar(result) && scalar(value);
        if !self.is_copy(query) || !scalars || !matches!(wrong, Part::Operand(_)) {
            return None;
        }
        let [to, from] = [0, 1].map(|nth| self.type_of(Part::Operand(nth)));
        let signed = is_signed(query.modifiers());
        let conversion = Conversion::of(self, to?, from?, signed)?;
        // Its operands are not only the converted value.
        if !conversion.rest.is_empty() {
            return None;
        }
        let note = format!("for example `{}` instead", conversion.mnemonic);
        let location = self.place(Part::Mnemonic);
        Some(Repair::new(
            location,
            Side::Whole,
            conversion.mnemonic,
            note,
        ))
    }

    /// Conversions of the sources before the instruction, or of the result after it.
    fn around(
        &self,
        query: &InstQuery<'_>,
        found: &Explanation,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        let wanted = match mismatch.expected {
            Some(Expected::Type(ty)) => ty,
            Some(Expected::Width(bits)) => of_kind(TypeKind::Bits, bits)?,
            Some(_) => return None,
            // An address.
            None => of_kind(TypeKind::Bits, self.address_bits())?,
        };
        let mut parts: Vec<Part> = vec![found.part];
        parts.extend(found.repeats.iter().map(|(part, _)| *part));
        // The register of an address in brackets is an element of them.
        for part in &mut parts {
            if let Part::Operand(nth) = *part
                && matches!(
                    query.operands().get(nth as usize)?.shape,
                    OperandShape::Bracket([_])
                )
            {
                *part = Part::Element(nth, 0);
            }
        }
        let legal = |ty: ScalarType| is_legal_with(self.environment, query, &parts, ty);
        if !legal(wanted) {
            return None;
        }
        // A predicate becomes a number of 16 bits or more, of which an instruction may use a part.
        let wanted = match self.type_of(found.part) {
            Some(ScalarType::Pred) if wanted.bits() < SHORTEST_NUMBER => {
                of_kind(TypeKind::Unsigned, SHORTEST_NUMBER).filter(|ty| legal(*ty))?
            }
            _ => wanted,
        };
        match mismatch.operand.role() {
            Role::Def => self.after(query, &parts, wanted),
            // A predicate is not an address.
            Role::Addr if self.type_of(found.part) == Some(ScalarType::Pred) => None,
            Role::Use | Role::Addr => self.before(query, &parts, wanted),
            _ => None,
        }
    }

    fn before(&self, query: &InstQuery<'_>, parts: &[Part], wanted: ScalarType) -> Option<Repair> {
        let signed = is_signed(query.modifiers());
        let mut before = String::from("{");
        let mut edits = Vec::new();
        let mut mnemonics: Vec<String> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let register = register_of(self.body, self.operands, *part)?;
            let conversion = Conversion::of(self, wanted, self.type_of(*part)?, signed)?;
            let old = name(self.module, self.body, register);
            let new = match parts {
                [_] => String::from(CONVERTED),
                _ => format!("{CONVERTED}{number}"),
            };
            let line = conversion.line(&new, &old);
            before.push_str(&format!("\n\t.reg {wanted} {new};\n\t{line}"));
            edits.push((self.place(*part), Side::Inside(old), new));
            if !mnemonics.contains(&conversion.mnemonic) {
                mnemonics.push(conversion.mnemonic);
            }
        }
        before.push_str("\n\t");
        edits.push((self.place(Part::Whole), Side::Before, before));
        edits.push((self.place(Part::Whole), Side::After, String::from("\n\t}")));
        Some(Repair {
            note: format!("for example first with `{}`", mnemonics.join("` and `")),
            edits,
            ..Repair::default()
        })
    }

    fn after(&self, query: &InstQuery<'_>, parts: &[Part], wanted: ScalarType) -> Option<Repair> {
        let [part @ Part::Operand(_)] = *parts else {
            return None;
        };
        if self.is_guarded(self.stmt) {
            return None;
        }
        let register = register_of(self.body, self.operands, part)?;
        let signed = is_signed(query.modifiers());
        let conversion = Conversion::of(self, self.type_of(part)?, wanted, signed)?;
        let old = name(self.module, self.body, register);
        let before = format!("{{\n\t.reg {wanted} {CONVERTED};\n\t");
        let line = conversion.line(&old, CONVERTED);
        let after = format!("\n\t{line}\n\t}}");
        Some(Repair {
            note: format!("for example the result with `{}`", conversion.mnemonic),
            edits: vec![
                (self.place(Part::Whole), Side::Before, before),
                (self.place(part), Side::Inside(old), String::from(CONVERTED)),
                (self.place(Part::Whole), Side::After, after),
            ],
            ..Repair::default()
        })
    }

    fn is_guarded(&self, stmt: StmtId) -> bool {
        let text = self.body.source_span(stmt).of(self.module.source());
        text.starts_with(b"@")
    }
}

/// An instruction that converts a value.
struct Conversion {
    mnemonic: String,
    /// The operands before and after the value.
    rest: &'static [&'static str],
}

impl Conversion {
    /// From one type to another one; `None` if there is no usual one.
    fn of(inst: &WrongInst<'_>, to: ScalarType, from: ScalarType, signed: bool) -> Option<Self> {
        match (to, from) {
            (ScalarType::Pred, ScalarType::Pred) => None,
            (_, ScalarType::Pred) => Self::select(inst, to),
            (ScalarType::Pred, _) => Self::compare(inst, from),
            _ => Self::convert(inst, to, from, signed),
        }
    }

    /// `d = p ? 1 : 0`
    fn select(inst: &WrongInst<'_>, to: ScalarType) -> Option<Self> {
        let ty = integer(to, false)?;
        let opcode = opcode_of("?")?;
        let operands = [
            OperandShape::Register(to),
            OperandShape::Integer(1),
            OperandShape::Integer(0),
            OperandShape::Register(ScalarType::Pred),
        ];
        let mnemonic = legal(inst, opcode, &[modifier(ty)?], &operands)?;
        let rest = &["1", "0"];
        Some(Self { mnemonic, rest })
    }

    /// `p = a != 0`
    fn compare(inst: &WrongInst<'_>, from: ScalarType) -> Option<Self> {
        let ty = integer(from, false)?;
        let opcode = opcode_of("cmp")?;
        let unequal = ForeignWord::from_text(".neq")?.instead()?;
        let unequal = Modifier::from_text(unequal.as_bytes())?;
        let operands = [
            OperandShape::Register(ScalarType::Pred),
            OperandShape::Register(from),
            OperandShape::Integer(0),
        ];
        let mnemonic = legal(inst, opcode, &[unequal, modifier(ty)?], &operands)?;
        let rest = &["", "0"];
        Some(Self { mnemonic, rest })
    }

    fn convert(
        inst: &WrongInst<'_>,
        to: ScalarType,
        from: ScalarType,
        signed: bool,
    ) -> Option<Self> {
        // Bits may be a number of either kind.
        let is_number = |ty: ScalarType| ty.kind() == TypeKind::Float;
        let is_bits = |ty: ScalarType| ty.kind() == TypeKind::Bits;
        if is_bits(to) && is_number(from) || is_number(to) && is_bits(from) {
            return None;
        }
        let read = |ty: ScalarType| match is_number(ty) {
            true => Some(ty),
            false => integer(ty, signed),
        };
        let opcode = opcode_of("sext")?;
        let types = [modifier(read(to)?)?, modifier(read(from)?)?];
        let operands = [OperandShape::Register(to), OperandShape::Register(from)];
        let rest = &[];
        if let Some(mnemonic) = legal(inst, opcode, &types, &operands) {
            return Some(Self { mnemonic, rest });
        }
        let operands = operands.map(ActualOperand::new);
        let query = InstQuery::new(opcode, &types, &operands);
        let repairs = query.repairs(inst.environment.version(), inst.environment.target());
        let usual = repairs.iter().find_map(|r| match r.edit() {
            ModifierEdit::Insert(_, m) if r.fits_operands() && m.is_usual(opcode) => Some(r.edit()),
            _ => None,
        })?;
        let mnemonic = mnemonic(opcode, &usual.apply(&types));
        Some(Self { mnemonic, rest })
    }

    /// The statement that writes the converted value.
    fn line(&self, to: &str, from: &str) -> String {
        let mnemonic = &self.mnemonic;
        match *self.rest {
            ["", last] => format!("{mnemonic} {to}, {from}, {last};"),
            [first, second] => format!("{mnemonic} {to}, {first}, {second}, {from};"),
            _ => format!("{mnemonic} {to}, {from};"),
        }
    }
}

/// The opcode that another language has this word for.
fn opcode_of(word: &str) -> Option<Opcode> {
    Opcode::from_text(ForeignWord::from_text(word)?.instead()?.as_bytes())
}

/// The mnemonic of an instruction, if it is legal.
fn legal(
    inst: &WrongInst<'_>,
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[OperandShape<'_>],
) -> Option<String> {
    let operands: Vec<_> = operands.iter().copied().map(ActualOperand::new).collect();
    let query = InstQuery::new(opcode, modifiers, &operands);
    let form = inst.environment.select(&query).ok()?;
    let is_legal = inst.environment.is_clean(&form);
    is_legal.then(|| mnemonic(opcode, modifiers))
}

fn mnemonic(opcode: Opcode, modifiers: &[Modifier]) -> String {
    let mut text = String::from(opcode.text());
    modifiers.iter().for_each(|m| text.push_str(m.text()));
    text
}

/// Whether the types of an instruction are signed.
fn is_signed(modifiers: &[Modifier]) -> bool {
    let mut types = modifiers.iter().filter_map(|m| m.scalar_type());
    types.any(|ty| ty.kind() == TypeKind::Signed)
}

/// The integer type with the width of a type; its sign is that of the type, if it has one.
fn integer(ty: ScalarType, signed: bool) -> Option<ScalarType> {
    let kind = match ty.kind() {
        TypeKind::Signed | TypeKind::Unsigned => return Some(ty),
        TypeKind::Bits if signed => TypeKind::Signed,
        TypeKind::Bits => TypeKind::Unsigned,
        _ => return None,
    };
    of_kind(kind, ty.bits())
}

fn of_kind(kind: TypeKind, bits: u16) -> Option<ScalarType> {
    let all = ScalarType::ALL.iter().copied();
    all.filter(|ty| ty.bits() == bits)
        .find(|ty| ty.kind() == kind)
}

fn modifier(ty: ScalarType) -> Option<Modifier> {
    Modifier::from_text(ty.text().as_bytes())
}
