//! The grammar of operands and of the arguments of directives: what can be written so that the parser reads the same.

use ptx_ir::{Address, AddressForm, Module, Operand, OperandPool, SigId};
use ptx_isa::Directive;

use crate::{EditError, Editor};

/// An error that says what is wanted, unless something fits.
pub(crate) fn part(fits: bool, wanted: &'static str) -> Result<(), EditError> {
    if fits {
        Ok(())
    } else {
        EditError::kind(wanted)
    }
}

/// A name alone.
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

/// A name or a component of one.
pub(crate) fn is_named(pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Component(_, at) => is_name(pool.get(at)),
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

/// Only a name can have an offset: after a number, it would be part of a constant expression.
pub(crate) fn is_address(pool: &OperandPool, address: &Address) -> bool {
    let offset = is_number(address.offset) && is_named(pool, address.base);
    let alone = address.offset == Operand::Absent
        && (is_number(address.base) || is_named(pool, address.base));
    offset || alone
}

/// Two operands can be the parts of a pair `a|b`.
pub(crate) fn is_pair(pool: &OperandPool, first: Operand, second: Operand) -> bool {
    let vector = matches!(first, Operand::Vector(id) if are_elements(pool, pool.list(id)));
    let single = |o| o == Operand::Sink || is_name(o);
    (vector || single(first)) && single(second)
}

impl Editor<'_> {
    /// Whether these can be elements of a vector or a list.
    pub(crate) fn are_elements(&self, parts: &[Operand]) -> bool {
        are_elements(self.body().pool(), parts)
    }

    /// Checks that these operands can be written after a mnemonic.
    pub(crate) fn are_operands(&self, sig: SigId, operands: &[Operand]) -> Result<(), EditError> {
        let signature = self.module.signature(sig);
        for (nth, &operand) in operands.iter().enumerate() {
            if matches!(operand, Operand::List(_)) {
                let lists = signature.opcode().is_none_or(|o| o.takes_lists());
                part(lists, "mnemonic that takes a list of arguments")?;
            }
            let wanted = if nth == 0 { "first operand" } else { "operand" };
            part(self.is_operand(operand, nth), wanted)?;
        }
        Ok(())
    }

    /// Whether this can be operand `nth` of an instruction.
    fn is_operand(&self, operand: Operand, nth: usize) -> bool {
        let first = nth == 0;
        let pool = self.body().pool();
        match operand {
            Operand::Sink => first,
            // `.5` would be a modifier.
            Operand::Imm(id) => {
                !(first
                    && pool
                        .immediate(id)
                        .is_some_and(|i| self.module.name(i.text).starts_with('.')))
            }
            Operand::Address(id) => pool.address(id).is_some_and(|a| is_address(pool, a)),
            Operand::Bracket(id) => pool.list(id).iter().all(|p| is_bracket_part(pool, *p)),
            Operand::Vector(id) | Operand::List(id) => are_elements(pool, pool.list(id)),
            Operand::Pair(at) => {
                let (a, b) = pool.pair(at);
                first && is_pair(pool, a, b)
            }
            Operand::Not(at) | Operand::Neg(at) => {
                let inner = pool.get(at);
                is_element(pool, inner) && inner != Operand::Sink && !is_number(inner)
            }
            other => is_element(pool, other),
        }
    }
}

/// Checks that these arguments can be written after a directive of a body or of the module.
pub(crate) fn check_arguments(
    module: &Module,
    pool: &OperandPool,
    directive: Directive,
    args: &[Operand],
) -> Result<(), EditError> {
    let whole = |o: &Operand| is_whole(module, pool, *o);
    let string = |o: &Operand| matches!(o, Operand::Str(_));
    let (fits, wanted) = match directive {
        Directive::Loc => (is_location(pool, args, whole), "place in a file"),
        Directive::Pragma => (
            !args.is_empty() && args.iter().all(string),
            "list of strings",
        ),
        Directive::File => {
            let fits = match args {
                [index, name, rest @ ..] => {
                    whole(index) && string(name) && rest.len() <= 2 && rest.iter().all(whole)
                }
                _ => false,
            };
            (fits, "number and name of a file")
        }
        Directive::Alias | Directive::Branchtargets | Directive::Calltargets => {
            let name = |o: &Operand| is_name(*o) || matches!(o, Operand::Range(_));
            (!args.is_empty() && args.iter().all(name), "list of names")
        }
        _ => match directive.integers() {
            Some((least, most)) => {
                let count = (least as usize..=most as usize).contains(&args.len());
                (count && args.iter().all(whole), "list of numbers")
            }
            None => {
                let fits = args.iter().all(|o| whole(o) || string(o));
                (fits, "list of numbers and strings")
            }
        },
    };
    part(fits, wanted)
}

/// Whether an operand is a literal without a sign, as directives take it.
fn is_whole(module: &Module, pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Small(value) => value >= 0,
        Operand::Imm(id) => pool.immediate(id).is_some_and(|i| {
            let text = module.name(i.text).as_bytes();
            let literal = text.iter().all(u8::is_ascii_alphanumeric);
            literal && text.first().is_some_and(u8::is_ascii_digit) && i.value.as_int().is_some()
        }),
        _ => false,
    }
}

/// File, line and column; for an inlined place also its name, and file, line and column of the call.
fn is_location(pool: &OperandPool, args: &[Operand], whole: impl Fn(&Operand) -> bool) -> bool {
    let label = |o: Operand| matches!(o, Operand::Name(_) | Operand::Section(_));
    match args {
        [f, l, c, inlined, at @ ..] if at.len() == 3 => {
            let named = match *inlined {
                Operand::Address(id) => pool.address(id).is_some_and(|a| {
                    a.form == AddressForm::Bare && label(a.base) && whole(&a.offset)
                }),
                Operand::Difference(at) => {
                    let (a, b) = pool.pair(at);
                    label(a) && matches!(b, Operand::Name(_))
                }
                other => label(other),
            };
            named && [f, l, c].into_iter().chain(at).all(whole)
        }
        place => place.len() == 3 && place.iter().all(whole),
    }
}
