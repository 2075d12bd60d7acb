//! Conditions as clauses, such as ".type is one of .f16 .bf16 and c is given".

use core::fmt::{self, Display, Formatter};

use super::{operand_name, slot_name, words};
use crate::{Cond, Form, OperandTest};

/// The condition as a statement: ".type is .f16".
#[must_use]
pub fn condition(form: &Form, cond: &Cond) -> impl Display {
    let clause = Clause {
        form,
        is_demand: false,
    };
    super::from_fn(move |f| clause.write(f, cond, false, false))
}

/// The condition as a demand: ".type must be .f16".
#[must_use]
pub fn demand(form: &Form, cond: &Cond) -> impl Display {
    let clause = Clause {
        form,
        is_demand: true,
    };
    super::from_fn(move |f| clause.write(f, cond, false, false))
}

/// A writer of clauses about a form.
#[derive(Copy, Clone)]
struct Clause<'a> {
    form: &'a Form,
    /// The clause is a demand ("must be"), not a statement ("is").
    is_demand: bool,
}

impl Clause<'_> {
    /// Writes the condition or its negation; a negation is applied to the innermost clauses.
    fn write(self, f: &mut Formatter<'_>, cond: &Cond, negated: bool, nested: bool) -> fmt::Result {
        match *cond {
            Cond::Always => f.write_str(if negated { "never" } else { "always" }),
            Cond::Never => f.write_str(if negated { "always" } else { "never" }),
            Cond::Not(inner) => self.write(f, inner, !negated, nested),
            Cond::All(list) => self.write_list(
                f,
                list,
                if negated { " or " } else { " and " },
                negated,
                nested,
            ),
            Cond::Any(list) if test_one_slot(list) => self.write_choice(f, list, negated),
            Cond::Any(list) => self.write_list(
                f,
                list,
                if negated { " and " } else { " or " },
                negated,
                nested,
            ),
            Cond::Filled(slot) => self.write_given(f, slot_name(self.form, slot), negated),
            Cond::Holds(slot, set) => {
                let name = slot_name(self.form, slot);
                let verb = self.verb(negated);
                match set.as_slice() {
                    // The slot of a fixed modifier.
                    [word] if word.text() == name => self.write_given(f, name, negated),
                    [word] => write!(f, "{name} {verb} {word}"),
                    list => {
                        write!(f, "{name} {verb} one of {}", words(list))
                    }
                }
            }
            Cond::Operand(operand, test) => {
                self.write_test(f, operand_name(self.form, operand), test, negated)
            }
            Cond::InEntry => self.write_function_kind(f, !negated),
            Cond::InFunc => self.write_function_kind(f, negated),
            Cond::UnifiedTextures => {
                write!(
                    f,
                    "the target option {} texmode_independent",
                    self.verb(!negated)
                )
            }
        }
    }

    fn write_list(
        self,
        f: &mut Formatter<'_>,
        list: &[Cond],
        separator: &str,
        negated: bool,
        nested: bool,
    ) -> fmt::Result {
        if nested {
            f.write_str("(")?;
        }
        for (i, cond) in list.iter().enumerate() {
            if i > 0 {
                f.write_str(separator)?;
            }
            self.write(f, cond, negated, true)?;
        }
        if nested {
            f.write_str(")")?;
        }
        Ok(())
    }

    /// Writes an alternative of several conditions on the modifier in one slot.
    fn write_choice(self, f: &mut Formatter<'_>, list: &[Cond], negated: bool) -> fmt::Result {
        for (i, cond) in list.iter().enumerate() {
            let Cond::Holds(slot, set) = *cond else {
                continue;
            };
            if i == 0 {
                let verb = self.verb(negated);
                write!(f, "{} {verb} one of", slot_name(self.form, slot))?;
            }
            write!(f, " {}", words(set.as_slice()))?;
        }
        Ok(())
    }

    const fn verb(self, negated: bool) -> &'static str {
        match (self.is_demand, negated) {
            (false, false) => "is",
            (false, true) => "is not",
            (true, false) => "must be",
            (true, true) => "must not be",
        }
    }

    fn write_given(self, f: &mut Formatter<'_>, name: &str, negated: bool) -> fmt::Result {
        write!(f, "{name} {} given", self.verb(negated))
    }

    fn write_function_kind(self, f: &mut Formatter<'_>, is_kernel: bool) -> fmt::Result {
        let verb = if self.is_demand { "must be" } else { "is" };
        let function = if is_kernel {
            "in a kernel"
        } else {
            "in a function that is not a kernel"
        };
        write!(f, "the instruction {verb} {function}")
    }

    fn write_test(
        self,
        f: &mut Formatter<'_>,
        name: &str,
        test: OperandTest,
        negated: bool,
    ) -> fmt::Result {
        let verb = self.verb(negated);
        let predicate = match test {
            OperandTest::Absent => return self.write_given(f, name, !negated),
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
                return write!(f, "{name} {verb} a register of fewer than {n} bits");
            }
            OperandTest::Vector(n) => return write!(f, "{name} {verb} a vector of {n} elements"),
        };
        write!(f, "{name} {verb} {predicate}")
    }
}

/// Whether all conditions test the same slot.
fn test_one_slot(list: &[Cond]) -> bool {
    let Some(Cond::Holds(first_slot, _)) = list.first() else {
        return false;
    };
    list.iter()
        .all(|cond| matches!(cond, Cond::Holds(slot, _) if slot == first_slot))
}
