//! Every form of floating-point arithmetic against `rustc_apfloat`: all modifiers, packed and mixed types; forms with one operand of 16 bits with
//! all its values.

use super::random::Random;
use crate::apfloat::number;
use crate::common::{codes, run};
use crate::forms::fillings;
use ptx_isa::internals::Length;
use ptx_isa::{Form, Instruction, Modifier, Opcode, Role, ScalarType, TypeKind};
use ptx_semantics::fold::Folded;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// The sections of floating-point arithmetic: single and double precision, half precision, mixed.
const SECTIONS: [&str; 3] = ["9.7.3.", "9.7.4.", "9.7.5."];

/// What `rustc_apfloat` does not compute; `float.rs` and `bits.rs` have the tests.
const OTHERS: [Opcode; 3] = [Opcode::Testp, Opcode::Copysign, Opcode::Sqrt];

/// An instruction of a form without operands.
struct Case {
    text: String,
    opcode: Opcode,
    modifiers: Vec<Modifier>,
    sources: Vec<ScalarType>,
    result: ScalarType,
}

/// The expected bits of a result.
#[derive(Clone, Copy)]
struct Expected {
    /// `None` for a NaN.
    bits: Option<u128>,
    /// Whether the result is not known here.
    open: bool,
}

impl Case {
    /// The instruction, if its operands have types and none is a vector.
    fn new(instruction: &Instruction, form: &Form, words: &[Modifier]) -> Option<Self> {
        let slots = form.match_modifiers(words)?;
        let types = |role| {
            let operands = form.operands().iter().filter(move |o| o.role() == role);
            operands.map(|o| match o.length() {
                Length::Slot(slot) if slots.is_filled(slot.into()) => None,
                _ => o.ty().scalar_type(&slots, form),
            })
        };
        let mut text = instruction.name().to_owned();
        words.iter().for_each(|m| text += m.text());
        Some(Self {
            text,
            opcode: instruction.opcode(),
            modifiers: [instruction.words(), words].concat(),
            sources: types(Role::Use).collect::<Option<_>>()?,
            result: types(Role::Def).next()??,
        })
    }

    fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    fn round(&self) -> Round {
        let named = |m: &Modifier| match *m {
            Modifier::Rz => Some(Round::TowardZero),
            Modifier::Rm => Some(Round::TowardNegative),
            Modifier::Rp => Some(Round::TowardPositive),
            _ => None,
        };
        let found = self.modifiers.iter().find_map(named);
        found.unwrap_or(Round::NearestTiesToEven)
    }

    fn run(&self, operands: &[u128]) -> Option<Folded> {
        run(&self.text, operands, None)
    }

    /// The result of an instruction, element by element.
    fn expected(&self, operands: &[u128]) -> Option<Expected> {
        let part = element(self.result);
        let mut joined = Expected {
            bits: Some(0),
            open: false,
        };
        for lane in 0..u32::from(self.result.elements().max(1)) {
            let elements = operands.iter().zip(&self.sources).map(|(bits, ty)| {
                let from = element(*ty);
                let width = u32::from(from.bits());
                let bits = (bits >> (lane * width)) & ((1 << width) - 1);
                if from == part {
                    bits
                } else {
                    single(from, bits)
                }
            });
            let elements: Vec<u128> = elements.collect();
            let one = match part {
                ScalarType::F16 => self.lane::<Half>(&elements),
                ScalarType::Bf16 => self.lane::<BFloat>(&elements),
                ScalarType::F32 => self.lane::<Single>(&elements),
                ScalarType::F64 => self.lane::<Double>(&elements),
                _ => None,
            }?;
            let shift = lane * u32::from(part.bits());
            joined.bits = joined
                .bits
                .zip(one.bits)
                .map(|(all, bits)| all | bits << shift);
            joined.open |= one.open;
        }
        Some(joined)
    }

    fn lane<F: Float>(&self, elements: &[u128]) -> Option<Expected> {
        let flush = |x: F| match x.is_denormal() && self.flushes() {
            true => F::ZERO.copy_sign(x),
            false => x,
        };
        let values: Vec<F> = elements
            .iter()
            .map(|&bits| flush(F::from_bits(bits)))
            .collect();
        let exact = self.operation(&values)?;
        let mut open = self.has(Modifier::Oob) && values.iter().any(|x| x.is_nan());
        if self.flushes() {
            // It may have been a subnormal number before it was rounded: `float.rs` has cases.
            open |= exact.abs() == F::smallest_normalized();
        }
        let value = flush(exact);
        let (sat, relu) = (self.has(Modifier::Sat), self.has(Modifier::Relu));
        if value.is_nan() {
            let bits = sat.then_some(0);
            return Some(Expected { bits, open });
        }
        open |= relu && value.is_neg_zero();
        let one = F::from_u128(1).value;
        let value = match value {
            _ if value.is_negative() && (sat || relu) => F::ZERO,
            _ if sat && value > one => one,
            _ => value,
        };
        let bits = Some(value.to_bits());
        Some(Expected { bits, open })
    }

    fn flushes(&self) -> bool {
        self.has(Modifier::Ftz) && element(self.result) != ScalarType::F64
    }

    /// The operation, rounded; `None` for operations that are unknown here.
    fn operation<F: Float>(&self, x: &[F]) -> Option<F> {
        let round = self.round();
        Some(match (self.opcode, x) {
            (Opcode::Add, &[a, b]) => a.add_r(b, round).value,
            (Opcode::Sub, &[a, b]) => a.sub_r(b, round).value,
            (Opcode::Mul, &[a, b]) => a.mul_r(b, round).value,
            (Opcode::Div, &[a, b]) => a.div_r(b, round).value,
            (Opcode::Fma | Opcode::Mad, &[a, b, c]) => a.mul_add_r(b, c, round).value,
            (Opcode::Rcp, &[a]) => F::from_u128(1).value.div_r(a, round).value,
            (Opcode::Abs, &[a]) => a.abs(),
            (Opcode::Neg, &[a]) => -a,
            (Opcode::Min | Opcode::Max, [first, rest @ ..]) => self.extreme(*first, rest),
            _ => return None,
        })
    }

    fn extreme<F: Float>(&self, first: F, rest: &[F]) -> F {
        let size = |x: F| {
            if self.has(Modifier::Abs) { x.abs() } else { x }
        };
        let choose = |a: F, b: F| match (a.is_nan(), b.is_nan()) {
            (true, _) if self.has(Modifier::NaN) => a,
            (_, true) if self.has(Modifier::NaN) => b,
            (true, _) => b,
            (_, true) => a,
            _ => {
                let a_is_less = a < b || a == b && a.is_negative();
                if a_is_less == (self.opcode == Opcode::Min) {
                    a
                } else {
                    b
                }
            }
        };
        let chosen = rest.iter().fold(size(first), |a, &b| choose(a, size(b)));
        let negative = rest
            .iter()
            .fold(first.is_negative(), |sign, b| sign ^ b.is_negative());
        match self.has(Modifier::Xorsign) && negative {
            true => -chosen,
            false => chosen,
        }
    }
}

fn element(ty: ScalarType) -> ScalarType {
    ty.element().unwrap_or(ty)
}

/// A half in single precision, exactly.
fn single(ty: ScalarType, bits: u128) -> u128 {
    let exact: Single = match ty {
        ScalarType::F16 => Half::from_bits(bits).convert(&mut false).value,
        _ => BFloat::from_bits(bits).convert(&mut false).value,
    };
    exact.to_bits()
}

/// The width of the fraction of a format.
fn fraction(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::F64 => 52,
        ScalarType::F32 => 23,
        ScalarType::F16 => 10,
        _ => 7,
    }
}

/// All ways to write the forms whose computation is stated and exact.
fn cases(wanted: impl Fn(&Form) -> bool) -> Vec<Case> {
    let mut found = Vec::new();
    for instruction in Instruction::ALL {
        let forms = instruction.forms().iter();
        let is_exact = |f: &Form| f.computation().is_some_and(|c| !c.is_approximate());
        for form in forms.filter(|f| is_exact(f) && wanted(f)) {
            let all = fillings(form);
            found.extend(
                all.iter()
                    .filter_map(|words| Case::new(instruction, form, words)),
            );
        }
    }
    found
}

/// Random operands, of which the later ones are often near the first.
fn operands(case: &Case, random: &mut Random) -> Vec<u128> {
    let mut near = 0;
    let sources = case.sources.iter().map(|ty| {
        let part = element(*ty);
        let width = u32::from(part.bits());
        (0..u32::from(ty.elements().max(1))).fold(0, |all, lane| {
            near = number(random, width, fraction(part), near);
            all | near << (lane * width)
        })
    });
    sources.collect()
}

#[test]
fn floating_point_forms_agree() {
    let of_floats = |f: &Form| SECTIONS.iter().any(|s| f.section().starts_with(s));
    let mut random = Random::new(0xf10a7);
    let mut checked = 0;
    for case in cases(of_floats) {
        if OTHERS.contains(&case.opcode) {
            continue;
        }
        for _ in 0..200 {
            let operands = operands(&case, &mut random);
            let expected = case.expected(&operands);
            let Some(Expected { bits, open }) = expected else {
                panic!("{} has no reference", case.text);
            };
            let found = case.run(&operands).map(|f| f.value);
            if !open {
                assert_eq!(found, bits, "{} {operands:x?}", case.text);
            }
            checked += 1;
        }
    }
    assert!(checked > 50_000, "{checked}");
}

/// The result of an integer operation on 16 bits.
fn of_integers(case: &Case, x: u16) -> Option<u16> {
    Some(match case.opcode {
        Opcode::Abs => x.cast_signed().wrapping_abs().cast_unsigned(),
        Opcode::Neg => x.wrapping_neg(),
        Opcode::Not => !x,
        Opcode::Cnot => u16::from(x == 0),
        Opcode::Mov => x,
        _ => return None,
    })
}

/// Other tests are about conversions (`short.rs`, `formats.rs`).
#[test]
fn all_operands_of_16_bits() {
    let mut count = 0;
    for case in cases(|_| true) {
        if case.sources.len() != 1 || case.sources[0].bits() != 16 || case.opcode == Opcode::Cvt {
            continue;
        }
        count += 1;
        let number =
            case.opcode != Opcode::Mov && matches!(case.sources[0].kind(), TypeKind::Float);
        for x in codes().map(|code| code as u16) {
            let bits = match number {
                true => case.expected(&[x.into()]).map(|e| e.bits),
                false => of_integers(&case, x).map(|bits| Some(bits.into())),
            };
            let Some(bits) = bits else {
                panic!("{} has no reference", case.text);
            };
            let found = case.run(&[x.into()]).map(|f| f.value);
            assert_eq!(found, bits, "{} {x:#x}", case.text);
        }
    }
    assert!(count > 12, "{count}");
}
