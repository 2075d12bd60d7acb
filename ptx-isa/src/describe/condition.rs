//! Conditions as clauses, such as ".type is one of .f16 .bf16 and c is given".

use core::fmt::{self, Display, Formatter};

use super::{operand_name, slot_name, words};
use crate::{Cond, Form, OperandTest};

/// The condition as a statement: ".type is .f16".
#[must_use]
pub fn condition(form: &Form, cond: &Cond) -> impl Display {
    let clause = Clause { form, must: false };
    super::from_fn(move |f| clause.write(f, cond, false, false))
}

/// The condition as a demand: ".type must be .f16".
#[must_use]
pub fn demand(form: &Form, cond: &Cond) -> impl Display {
    let clause = Clause { form, must: true };
    super::from_fn(move |f| clause.write(f, cond, false, false))
}

#[derive(Copy, Clone)]
struct Clause<'a> {
    form: &'a Form,
    must: bool,
}

impl Clause<'_> {
    /// Writes the condition or its negation; a negation is applied to the innermost clauses.
    fn write(self, f: &mut Formatter<'_>, cond: &Cond, negated: bool, nested: bool) -> fmt::Result {
        match *cond {
            Cond::Always => f.write_str(if negated { "never" } else { "always" }),
            Cond::Never => f.write_str(if negated { "always" } else { "never" }),
            Cond::Not(inner) => self.write(f, inner, !negated, nested),
            Cond::All(list) => self.list(
                f,
                list,
                if negated { " or " } else { " and " },
                negated,
                nested,
            ),
            Cond::Any(list) if same_slot(list) => self.choice(f, list, negated),
            Cond::Any(list) => self.list(
                f,
                list,
                if negated { " and " } else { " or " },
                negated,
                nested,
            ),
            Cond::Filled(slot) => self.given(f, slot_name(self.form, slot), negated),
            Cond::Holds(slot, set) => {
                let name = slot_name(self.form, slot);
                let be = self.be(negated);
                match set.as_slice() {
                    // The slot of a fixed modifier.
                    [word] if word.text() == name => self.given(f, name, negated),
                    [word] => write!(f, "{name} {be} {word}"),
                    list => {
                        write!(f, "{name} {be} one of {}", words(list))
                    }
                }
            }
            Cond::Operand(operand, test) => {
                self.test(f, operand_name(self.form, operand), test, negated)
            }
            Cond::InEntry => self.place(f, !negated),
            Cond::InFunc => self.place(f, negated),
            Cond::UnifiedTextures => {
                write!(
                    f,
                    "the target option {} texmode_independent",
                    self.be(!negated)
                )
            }
        }
    }

    fn list(
        self,
        f: &mut Formatter<'_>,
        list: &[Cond],
        between: &str,
        negated: bool,
        nested: bool,
    ) -> fmt::Result {
        if nested {
            f.write_str("(")?;
        }
        for (i, cond) in list.iter().enumerate() {
            if i > 0 {
                f.write_str(between)?;
            }
            self.write(f, cond, negated, true)?;
        }
        if nested {
            f.write_str(")")?;
        }
        Ok(())
    }

    /// Several modifiers of one slot.
    fn choice(self, f: &mut Formatter<'_>, list: &[Cond], negated: bool) -> fmt::Result {
        for (i, cond) in list.iter().enumerate() {
            let Cond::Holds(slot, set) = *cond else {
                continue;
            };
            if i == 0 {
                let be = self.be(negated);
                write!(f, "{} {be} one of", slot_name(self.form, slot))?;
            }
            write!(f, " {}", words(set.as_slice()))?;
        }
        Ok(())
    }

    const fn be(self, negated: bool) -> &'static str {
        match (self.must, negated) {
            (false, false) => "is",
            (false, true) => "is not",
            (true, false) => "must be",
            (true, true) => "must not be",
        }
    }

    fn given(self, f: &mut Formatter<'_>, name: &str, negated: bool) -> fmt::Result {
        write!(f, "{name} {} given", self.be(negated))
    }

    fn place(self, f: &mut Formatter<'_>, kernel: bool) -> fmt::Result {
        let be = if self.must { "must be" } else { "is" };
        let place = if kernel {
            "in a kernel"
        } else {
            "in a function that is not a kernel"
        };
        write!(f, "the instruction {be} {place}")
    }

    fn test(
        self,
        f: &mut Formatter<'_>,
        name: &str,
        test: OperandTest,
        negated: bool,
    ) -> fmt::Result {
        let be = self.be(negated);
        let what = match test {
            OperandTest::Absent => return self.given(f, name, !negated),
            OperandTest::Present => "given",
            OperandTest::Immediate => "a constant",
            OperandTest::Register => "a register",
            OperandTest::Predicate => "a predicate",
            OperandTest::Variable => "a variable",
            OperandTest::SpecialRegister => "a special register",
            OperandTest::Function => "a function",
            OperandTest::Discard => "_",
            OperandTest::Negated => "negated",
            OperandTest::Inverted => "inverted",
            OperandTest::Pair => "a pair",
            OperandTest::Unified => "followed by .unified",
            OperandTest::HasDiscard => "a vector with _ among its elements",
            OperandTest::Floating => "floating point",
            OperandTest::Bits => "a register of a bits type",
            OperandTest::NotF32Bits => {
                "a constant not written as `0f…`, or a vector that ends with one"
            }
            OperandTest::Constant => "a constant or a vector of constants",
            OperandTest::Integer => "an integer or a vector of integers",
            OperandTest::IntThenFloat => "a vector of an integer followed by floating point",
            OperandTest::Handle => "a texture, sampler or surface",
            OperandTest::Texture => "a texture",
            OperandTest::B128 => "a register of 128 bits",
            OperandTest::Unsigned => "an unsigned integer register",
            OperandTest::Nonzero => "other than zero",
            OperandTest::Below(n) => {
                return write!(f, "{name} {be} a register of fewer than {n} bits");
            }
            OperandTest::Vector(n) => return write!(f, "{name} {be} a vector of {n} elements"),
        };
        write!(f, "{name} {be} {what}")
    }
}

/// Whether all conditions test the same slot.
fn same_slot(list: &[Cond]) -> bool {
    let slot = |cond: &Cond| match *cond {
        Cond::Holds(slot, _) => Some(slot),
        _ => None,
    };
    let first = list.first().and_then(slot);
    first.is_some() && list.iter().all(|cond| slot(cond) == first)
}
