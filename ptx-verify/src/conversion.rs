//! Conversions of values of the wrong type, which replace no operand by another value: in the instruction itself, or by another
//! instruction before or after it.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{RegId, StmtId};
use ptx_isa::internals::{
    ActualOperand, Destination, Expected, Expr, ForeignWord, InstQuery, ModifierEdit, OperandShape,
};
use ptx_isa::{Modifier, Opcode, Role, ScalarType, TypeKind};

use crate::explain::Explanation;
use crate::finding::Repair;
use crate::location::{Location, Part};
use crate::operand_repair::{WrongInst, is_legal_with};
use crate::problem::Side;
use crate::problem::operand::OperandMismatch;
use crate::register_choice::name;
use crate::uses::register_of;

/// The minimum width of a number that an instruction computes.
const LEAST_NUMBER_BITS: u16 = 16;
/// The name of the register with a converted value, in a separate block.
const CONVERTED: &str = "%converted";

impl WrongInst<'_> {
    /// Returns a repair with which the instruction takes the values of its operands.
    pub(crate) fn conversion_repair(
        &self,
        query: &InstQuery<'_>,
        explanation: &Explanation,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        self.widening_repair(query)
            .or_else(|| self.replacement_by_conversion(query, explanation.part))
            .or_else(|| self.added_conversions(query, explanation, mismatch))
    }

    /// Returns a repair that compares a guard that is not a predicate with zero, in a block before the instruction.
    pub(crate) fn guard_repair(&self, register: RegId) -> Option<Repair> {
        let decl = self.body.reg_decl_of(register)?;
        let ty = decl.ty.known().filter(|_| decl.vector < 2)?;
        let conversion = Conversion::new(self, ScalarType::Pred, ty, Sign::Unsigned)?;
        let old = name(self.module, self.body, register);
        let statement = conversion.statement(CONVERTED, &old);
        let block_start = format!(
            "{{\n\t.reg {} {CONVERTED};\n\t{statement}\n\t",
            ScalarType::Pred
        );
        Some(Repair {
            note: format!("for example first with `{}`", conversion.mnemonic),
            edits: vec![
                (self.place(Part::Whole), Side::Before, block_start),
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

    /// Returns a repair that replaces a copy with an address operand by the load or store with the same operands.
    pub(crate) fn load_or_store_repair(
        &self,
        query: &InstQuery<'_>,
        index: usize,
    ) -> Option<Repair> {
        let address = *query.operands().get(index)?;
        if query.operands().len() != 2 || !self.is_copy(query) {
            return None;
        }
        let mnemonic = self.access_mnemonic(query.modifiers(), address, query.operands())?;
        let verb = if index == 0 { "written" } else { "read" };
        let note = format!("memory is {verb} with `{mnemonic}`");
        let location = self.place(Part::Mnemonic);
        Some(Repair::new(location, Side::Whole, mnemonic, note))
    }

    /// Returns a repair that loads a source from memory.
    pub(crate) fn load_repair(
        &self,
        query: &InstQuery<'_>,
        index: usize,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        let Some(Expected::Type(ty)) = mismatch.expected else {
            return None;
        };
        if mismatch.operand.role() != Role::Use {
            return None;
        }
        let address = *query.operands().get(index)?;
        let result = ActualOperand::new(OperandShape::Register(ty));
        let mnemonic = self.access_mnemonic(&[modifier(ty)?], address, &[result, address])?;
        Some(Repair {
            note: format!("load it first with `{mnemonic}`"),
            ..Repair::default()
        })
    }

    /// Returns the mnemonic of the first instruction with these modifiers, and the state space of the variable in the address, that takes the operands.
    fn access_mnemonic(
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
        let opcode = Opcode::ALL.iter().copied().find(|opcode| {
            let query = InstQuery::new(*opcode, &modifiers, operands);
            let form = self.environment.select(&query);
            form.is_ok_and(|form| self.environment.is_clean(&form))
        })?;
        Some(mnemonic(opcode, &modifiers))
    }

    /// Returns `true` if an instruction copies its operand.
    pub(crate) fn is_copy(&self, query: &InstQuery<'_>) -> bool {
        let form = self.environment.select(query).ok();
        form.and_then(|f| f.form().computation())
            .is_some_and(|c| match c.assignments() {
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

    /// Returns the type of the register in a part of the instruction.
    fn type_of(&self, part: Part) -> Option<ScalarType> {
        let register = register_of(self.body, self.operands, part)?;
        let decl = self.body.reg_decl_of(register)?;
        decl.ty.known().filter(|_| decl.vector < 2)
    }

    /// Returns a repair that uses the form of the instruction whose result is twice as wide as its sources: two modifiers change.
    fn widening_repair(&self, query: &InstQuery<'_>) -> Option<Repair> {
        let modifiers = query.modifiers();
        let (position, narrow) =
            modifiers
                .iter()
                .enumerate()
                .find_map(|(position, modifier_of_type)| {
                    let ty = modifier_of_type.scalar_type()?;
                    let narrow = of_kind(ty.kind(), ty.bits() / 2)?;
                    Some((position, modifier(narrow)?))
                })?;
        let changed = ModifierEdit::Replace(position, narrow).apply(modifiers);
        let narrower = InstQuery::new(query.opcode(), &changed, query.operands());
        let repairs = narrower.repairs(self.environment.version(), self.environment.target());
        let mut legal_repairs = repairs.iter().filter(|repair| repair.fits_operands());
        let (Some(repair), None) = (legal_repairs.next(), legal_repairs.next()) else {
            return None;
        };
        let ModifierEdit::Replace(index, wide) = repair.edit() else {
            return None;
        };
        if index == position {
            return None;
        }
        let changed = repair.edit().apply(&changed);
        let place = |index: usize| self.place(Part::Modifiers(index as u32, index as u32));
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

    /// Returns a repair that replaces an instruction that copies its operand by a conversion.
    fn replacement_by_conversion(&self, query: &InstQuery<'_>, wrong_part: Part) -> Option<Repair> {
        let has_two_registers = query.operands().len() == 2
            && query
                .operands()
                .iter()
                .all(|operand| matches!(operand.shape, OperandShape::Register(_)));
        if !has_two_registers || !self.is_copy(query) || !matches!(wrong_part, Part::Operand(_)) {
            return None;
        }
        let [to, from] = [0, 1].map(|index| self.type_of(Part::Operand(index)));
        let conversion = Conversion::new(self, to?, from?, Sign::of(query.modifiers()))?;
        // The operands of the copy are sufficient only for this kind.
        if conversion.operands != ConversionOperands::Value {
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

    /// Returns a repair that converts the sources before the instruction, or the result after it.
    fn added_conversions(
        &self,
        query: &InstQuery<'_>,
        explanation: &Explanation,
        mismatch: &OperandMismatch,
    ) -> Option<Repair> {
        let expected = match mismatch.expected {
            Some(Expected::Type(ty)) => ty,
            Some(Expected::Width(bits)) => of_kind(TypeKind::Bits, bits)?,
            Some(_) => return None,
            // An address.
            None => of_kind(TypeKind::Bits, self.address_bits())?,
        };
        let mut parts = explanation.parts();
        // The register of an address in brackets is an element of them.
        for part in &mut parts {
            if let Part::Operand(index) = *part
                && matches!(
                    query.operands().get(index as usize)?.shape,
                    OperandShape::Bracket([_])
                )
            {
                *part = Part::Element(index, 0);
            }
        }
        let is_legal = |ty: ScalarType| is_legal_with(self.environment, query, &parts, ty);
        if !is_legal(expected) {
            return None;
        }
        // A predicate becomes a number of 16 bits or more. The instruction may use a part of it.
        let is_predicate = self.type_of(explanation.part) == Some(ScalarType::Pred);
        let converted_type = if is_predicate && expected.bits() < LEAST_NUMBER_BITS {
            of_kind(TypeKind::Unsigned, LEAST_NUMBER_BITS).filter(|ty| is_legal(*ty))?
        } else {
            expected
        };
        match mismatch.operand.role() {
            Role::Def => self.result_conversion(query, &parts, converted_type),
            // A predicate is not an address.
            Role::Addr if is_predicate => None,
            Role::Use | Role::Addr => self.source_conversions(query, &parts, converted_type),
            _ => None,
        }
    }

    /// Returns a repair that converts the registers in parts of the instruction to a type, in a block before it.
    fn source_conversions(
        &self,
        query: &InstQuery<'_>,
        parts: &[Part],
        ty: ScalarType,
    ) -> Option<Repair> {
        let sign = Sign::of(query.modifiers());
        let mut block_start = String::from("{");
        let mut edits = Vec::new();
        let mut mnemonics: Vec<String> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let register = register_of(self.body, self.operands, *part)?;
            let conversion = Conversion::new(self, ty, self.type_of(*part)?, sign)?;
            let old = name(self.module, self.body, register);
            let new = match parts {
                [_] => String::from(CONVERTED),
                _ => format!("{CONVERTED}{number}"),
            };
            let statement = conversion.statement(&new, &old);
            block_start.push_str(&format!("\n\t.reg {ty} {new};\n\t{statement}"));
            edits.push((self.place(*part), Side::Inside(old), new));
            if !mnemonics.contains(&conversion.mnemonic) {
                mnemonics.push(conversion.mnemonic);
            }
        }
        block_start.push_str("\n\t");
        edits.push((self.place(Part::Whole), Side::Before, block_start));
        edits.push((self.place(Part::Whole), Side::After, String::from("\n\t}")));
        Some(Repair {
            note: format!("for example first with `{}`", mnemonics.join("` and `")),
            edits,
            ..Repair::default()
        })
    }

    /// Returns a repair that computes the result in a register of a type and converts it after the instruction.
    fn result_conversion(
        &self,
        query: &InstQuery<'_>,
        parts: &[Part],
        ty: ScalarType,
    ) -> Option<Repair> {
        let [part @ Part::Operand(_)] = *parts else {
            return None;
        };
        if self.is_guarded(self.stmt) {
            return None;
        }
        let register = register_of(self.body, self.operands, part)?;
        let sign = Sign::of(query.modifiers());
        let conversion = Conversion::new(self, self.type_of(part)?, ty, sign)?;
        let old = name(self.module, self.body, register);
        let block_start = format!("{{\n\t.reg {ty} {CONVERTED};\n\t");
        let statement = conversion.statement(&old, CONVERTED);
        let block_end = format!("\n\t{statement}\n\t}}");
        Some(Repair {
            note: format!("for example the result with `{}`", conversion.mnemonic),
            edits: vec![
                (self.place(Part::Whole), Side::Before, block_start),
                (self.place(part), Side::Inside(old), String::from(CONVERTED)),
                (self.place(Part::Whole), Side::After, block_end),
            ],
            ..Repair::default()
        })
    }

    fn is_guarded(&self, stmt: StmtId) -> bool {
        let text = self.body.source_span(stmt).of(self.module.source());
        text.starts_with(b"@")
    }
}

/// The sign with which bits are read as a number.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Sign {
    Signed,
    Unsigned,
}

impl Sign {
    /// Returns the sign of the types of an instruction.
    fn of(modifiers: &[Modifier]) -> Self {
        let is_signed = modifiers
            .iter()
            .filter_map(|modifier| modifier.scalar_type())
            .any(|ty| ty.kind() == TypeKind::Signed);
        if is_signed {
            Self::Signed
        } else {
            Self::Unsigned
        }
    }
}

/// An instruction that converts a value.
struct Conversion {
    mnemonic: String,
    operands: ConversionOperands,
}

/// The sources of a conversion.
#[derive(Copy, Clone, PartialEq, Eq)]
enum ConversionOperands {
    /// The value.
    Value,
    /// The value, and zero.
    ValueAndZero,
    /// One, zero, and the value.
    OneZeroAndValue,
}

impl Conversion {
    /// Converts a value from one type to another one. Returns `None` if there is no usual conversion.
    fn new(inst: &WrongInst<'_>, to: ScalarType, from: ScalarType, sign: Sign) -> Option<Self> {
        match (to, from) {
            (ScalarType::Pred, ScalarType::Pred) => None,
            (_, ScalarType::Pred) => Self::select(inst, to),
            (ScalarType::Pred, _) => Self::compare(inst, from),
            _ => Self::convert(inst, to, from, sign),
        }
    }

    /// `d = p ? 1 : 0`
    fn select(inst: &WrongInst<'_>, to: ScalarType) -> Option<Self> {
        let ty = integer(to, Sign::Unsigned)?;
        let opcode = opcode_of("?")?;
        let operands = [
            OperandShape::Register(to),
            OperandShape::Integer(1),
            OperandShape::Integer(0),
            OperandShape::Register(ScalarType::Pred),
        ];
        Some(Self {
            mnemonic: legal_mnemonic(inst, opcode, &[modifier(ty)?], &operands)?,
            operands: ConversionOperands::OneZeroAndValue,
        })
    }

    /// `p = a != 0`
    fn compare(inst: &WrongInst<'_>, from: ScalarType) -> Option<Self> {
        let ty = integer(from, Sign::Unsigned)?;
        let opcode = opcode_of("cmp")?;
        let unequal = ForeignWord::from_text(".neq")?.instead()?;
        let unequal = Modifier::from_text(unequal.as_bytes())?;
        let operands = [
            OperandShape::Register(ScalarType::Pred),
            OperandShape::Register(from),
            OperandShape::Integer(0),
        ];
        Some(Self {
            mnemonic: legal_mnemonic(inst, opcode, &[unequal, modifier(ty)?], &operands)?,
            operands: ConversionOperands::ValueAndZero,
        })
    }

    /// `d = a` between numbers.
    fn convert(inst: &WrongInst<'_>, to: ScalarType, from: ScalarType, sign: Sign) -> Option<Self> {
        // Bits may be an integer or a floating-point number.
        let is_ambiguous = matches!(
            (to.kind(), from.kind()),
            (TypeKind::Bits, TypeKind::Float) | (TypeKind::Float, TypeKind::Bits)
        );
        if is_ambiguous {
            return None;
        }
        let number_type = |ty: ScalarType| {
            if ty.kind() == TypeKind::Float {
                Some(ty)
            } else {
                integer(ty, sign)
            }
        };
        let opcode = opcode_of("sext")?;
        let types = [modifier(number_type(to)?)?, modifier(number_type(from)?)?];
        let operands = [OperandShape::Register(to), OperandShape::Register(from)];
        if let Some(mnemonic) = legal_mnemonic(inst, opcode, &types, &operands) {
            return Some(Self {
                mnemonic,
                operands: ConversionOperands::Value,
            });
        }
        let operands = operands.map(ActualOperand::new);
        let query = InstQuery::new(opcode, &types, &operands);
        let repairs = query.repairs(inst.environment.version(), inst.environment.target());
        let usual = repairs.iter().find_map(|r| match r.edit() {
            ModifierEdit::Insert(_, m) if r.fits_operands() && m.is_usual(opcode) => Some(r.edit()),
            _ => None,
        })?;
        Some(Self {
            mnemonic: mnemonic(opcode, &usual.apply(&types)),
            operands: ConversionOperands::Value,
        })
    }

    /// Returns the statement that writes the converted value.
    fn statement(&self, to: &str, from: &str) -> String {
        let mnemonic = &self.mnemonic;
        match self.operands {
            ConversionOperands::Value => format!("{mnemonic} {to}, {from};"),
            ConversionOperands::ValueAndZero => format!("{mnemonic} {to}, {from}, 0;"),
            ConversionOperands::OneZeroAndValue => format!("{mnemonic} {to}, 1, 0, {from};"),
        }
    }
}

/// Returns the opcode that a word of another language means.
fn opcode_of(word: &str) -> Option<Opcode> {
    Opcode::from_text(ForeignWord::from_text(word)?.instead()?.as_bytes())
}

/// Returns the mnemonic of an instruction, if it is legal.
fn legal_mnemonic(
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

/// Returns the integer type with the width of a type. The sign is that of the type, if it has one.
fn integer(ty: ScalarType, sign: Sign) -> Option<ScalarType> {
    let kind = match (ty.kind(), sign) {
        (TypeKind::Signed | TypeKind::Unsigned, _) => return Some(ty),
        (TypeKind::Bits, Sign::Signed) => TypeKind::Signed,
        (TypeKind::Bits, Sign::Unsigned) => TypeKind::Unsigned,
        _ => return None,
    };
    of_kind(kind, ty.bits())
}

/// Returns the type of a kind and a width.
fn of_kind(kind: TypeKind, bits: u16) -> Option<ScalarType> {
    ScalarType::ALL
        .iter()
        .copied()
        .find(|ty| ty.bits() == bits && ty.kind() == kind)
}

fn modifier(ty: ScalarType) -> Option<Modifier> {
    Modifier::from_text(ty.text().as_bytes())
}
