//! The grammar of operands and of the arguments of directives. An operand that is accepted here is printed so that the parser
//! reads the same operand.

use ptx_ir::{Address, AddressForm, Module, Operand, OperandPool, SigId};
use ptx_isa::Directive;

use crate::{EditError, Editor};

/// Returns an error that names the expected kind of operand, unless `is_valid` is true.
pub(crate) fn expect_operand(is_valid: bool, expected: &'static str) -> Result<(), EditError> {
    if is_valid {
        Ok(())
    } else {
        EditError::kind(expected)
    }
}

/// The operand is a name without a selector or an offset.
pub(crate) fn is_name(operand: Operand) -> bool {
    matches!(
        operand,
        Operand::Reg(_)
            | Operand::Special(_)
            | Operand::Symbol(_)
            | Operand::Var(_)
            | Operand::Label(_)
            | Operand::Name(_)
    )
}

pub(crate) fn is_number(operand: Operand) -> bool {
    matches!(operand, Operand::Small(_) | Operand::Imm(_))
}

/// The operand is a name or a component of a named vector.
pub(crate) fn is_named(pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Component(_, vector) => is_name(pool.get(vector)),
        other => is_name(other),
    }
}

/// The operand can be an element of a vector or a list.
pub(crate) fn is_element(pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Sink => true,
        Operand::Address(id) => pool.address(id).is_some_and(|a| {
            matches!(a.form, AddressForm::Bare | AddressForm::Indexed) && is_address(pool, a)
        }),
        other => is_number(other) || is_named(pool, other),
    }
}

/// The operand can be a part of a bracket with several parts.
pub(crate) fn is_bracket_part(pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Vector(id) => are_elements(pool, pool.list(id)),
        other => other != Operand::Sink && is_element(pool, other),
    }
}

fn are_elements(pool: &OperandPool, parts: &[Operand]) -> bool {
    parts.iter().all(|part| is_element(pool, *part))
}

/// The base and the offset can be written as an address. Only a name can have an offset: after a number, the offset would be
/// part of a constant expression.
pub(crate) fn is_address(pool: &OperandPool, address: &Address) -> bool {
    let is_name_with_offset = is_number(address.offset) && is_named(pool, address.base);
    let is_base_alone = address.offset == Operand::Absent
        && (is_number(address.base) || is_named(pool, address.base));
    is_name_with_offset || is_base_alone
}

/// Two operands can be the parts of a pair `a|b`.
pub(crate) fn is_pair(pool: &OperandPool, first: Operand, second: Operand) -> bool {
    let is_vector = matches!(first, Operand::Vector(id) if are_elements(pool, pool.list(id)));
    let [is_first_single, is_second_single] =
        [first, second].map(|operand| operand == Operand::Sink || is_name(operand));
    (is_vector || is_first_single) && is_second_single
}

impl Editor<'_> {
    /// Returns whether the operands can be elements of a vector or a list.
    pub(crate) fn are_elements(&self, parts: &[Operand]) -> bool {
        are_elements(self.body().pool(), parts)
    }

    /// Checks that the operands can be written after a mnemonic.
    pub(crate) fn are_operands(&self, sig: SigId, operands: &[Operand]) -> Result<(), EditError> {
        let signature = self.module.signature(sig);
        for (nth, &operand) in operands.iter().enumerate() {
            if matches!(operand, Operand::List(_)) {
                let takes_lists = signature.opcode().is_none_or(|o| o.takes_lists());
                expect_operand(takes_lists, "mnemonic that takes a list of arguments")?;
            }
            let expectation = if nth == 0 { "first operand" } else { "operand" };
            expect_operand(self.is_operand(operand, nth), expectation)?;
        }
        Ok(())
    }

    /// Returns whether an operand can be operand `nth` of an instruction.
    fn is_operand(&self, operand: Operand, nth: usize) -> bool {
        let is_first = nth == 0;
        let pool = self.body().pool();
        match operand {
            Operand::Sink => is_first,
            // A first operand such as `.5` would be read as a modifier.
            Operand::Imm(id) => {
                !(is_first
                    && pool
                        .immediate(id)
                        .is_some_and(|i| self.module.name(i.text).starts_with('.')))
            }
            Operand::Address(id) => pool.address(id).is_some_and(|a| is_address(pool, a)),
            Operand::Bracket(id) => pool.list(id).iter().all(|p| is_bracket_part(pool, *p)),
            Operand::Vector(id) | Operand::List(id) => are_elements(pool, pool.list(id)),
            Operand::Pair(pair) => {
                let (a, b) = pool.pair(pair);
                is_first && is_pair(pool, a, b)
            }
            Operand::Not(inner) | Operand::Neg(inner) => {
                let inner = pool.get(inner);
                is_element(pool, inner) && inner != Operand::Sink && !is_number(inner)
            }
            other => is_element(pool, other),
        }
    }
}

/// Checks that the arguments can be written after a directive of a body or of the module.
pub(crate) fn check_arguments(
    module: &Module,
    pool: &OperandPool,
    directive: Directive,
    args: &[Operand],
) -> Result<(), EditError> {
    let is_integer = |o: &Operand| is_unsigned_literal(module, pool, *o);
    let is_string = |o: &Operand| matches!(o, Operand::Str(_));
    let (fits, expectation) = match directive {
        Directive::Loc => (is_location(pool, args, is_integer), "place in a file"),
        Directive::Pragma => (
            !args.is_empty() && args.iter().all(is_string),
            "list of strings",
        ),
        Directive::File => {
            let fits = match args {
                [index, name, size_and_time @ ..] => {
                    is_integer(index)
                        && is_string(name)
                        && size_and_time.len() <= 2
                        && size_and_time.iter().all(is_integer)
                }
                _ => false,
            };
            (fits, "number and name of a file")
        }
        Directive::Alias | Directive::Branchtargets | Directive::Calltargets => {
            let are_names = args
                .iter()
                .all(|o| is_name(*o) || matches!(o, Operand::Range(_)));
            (!args.is_empty() && are_names, "list of names")
        }
        _ => match directive.integers() {
            Some((min, max)) => {
                let is_count = (min as usize..=max as usize).contains(&args.len());
                (is_count && args.iter().all(is_integer), "list of numbers")
            }
            None => {
                let fits = args.iter().all(|o| is_integer(o) || is_string(o));
                (fits, "list of numbers and strings")
            }
        },
    };
    expect_operand(fits, expectation)
}

/// Returns whether an operand is an integer literal without a sign, the only form of a number in most directives.
fn is_unsigned_literal(module: &Module, pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Small(value) => value >= 0,
        Operand::Imm(id) => pool.immediate(id).is_some_and(|i| {
            let text = module.name(i.text).as_bytes();
            let is_literal = text.iter().all(u8::is_ascii_alphanumeric);
            is_literal && text.first().is_some_and(u8::is_ascii_digit) && i.value.as_int().is_some()
        }),
        _ => false,
    }
}

/// Returns whether the arguments are those of `.loc`: file, line and column and, for an inlined place, the name of the
/// function and file, line and column of the call.
fn is_location(
    pool: &OperandPool,
    args: &[Operand],
    is_integer: impl Fn(&Operand) -> bool,
) -> bool {
    let is_label = |o: Operand| matches!(o, Operand::Name(_) | Operand::Section(_));
    match args {
        [file, line, column, function, call @ ..] if call.len() == 3 => {
            let is_function_name = match *function {
                Operand::Address(id) => pool.address(id).is_some_and(|a| {
                    a.form == AddressForm::Bare && is_label(a.base) && is_integer(&a.offset)
                }),
                Operand::Difference(pair) => {
                    let (minuend, subtrahend) = pool.pair(pair);
                    is_label(minuend) && matches!(subtrahend, Operand::Name(_))
                }
                other => is_label(other),
            };
            is_function_name && [file, line, column].into_iter().chain(call).all(is_integer)
        }
        place => place.len() == 3 && place.iter().all(is_integer),
    }
}
