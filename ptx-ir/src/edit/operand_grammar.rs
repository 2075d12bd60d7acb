//! Which operands can be written behind a mnemonic, and which arguments behind a directive, so that reading gives them back.

use ptx_isa::Directive;

use super::{EditError, Editor};
use crate::operand::{Address, AddressForm, Operand, OperandPool};
use crate::{Module, SigId};

/// `Ok` where something fits, or what was wanted in its place.
pub(super) fn part(fits: bool, wanted: &'static str) -> Result<(), EditError> {
    if fits {
        Ok(())
    } else {
        Err(EditError::Kind { wanted })
    }
}

/// A name alone.
pub(super) fn is_name(operand: Operand) -> bool {
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

pub(super) fn is_number(operand: Operand) -> bool {
    matches!(operand, Operand::Small(_) | Operand::Imm(_))
}

/// A name or a component of one.
pub(super) fn is_named(pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Lane(_, at) => is_name(pool.get(at)),
        other => is_name(other),
    }
}

/// What may stand in a vector or a list.
pub(super) fn is_element(pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Sink => true,
        Operand::Address(id) => pool.address(id).is_some_and(|a| {
            matches!(a.form, AddressForm::Bare | AddressForm::Indexed) && is_address(pool, a)
        }),
        other => is_number(other) || is_named(pool, other),
    }
}

/// What may stand in a bracket with other parts.
pub(super) fn is_bracket_part(pool: &OperandPool, operand: Operand) -> bool {
    match operand {
        Operand::Vector(id) => are_elements(pool, pool.list(id)),
        other => other != Operand::Sink && is_element(pool, other),
    }
}

fn are_elements(pool: &OperandPool, parts: &[Operand]) -> bool {
    parts.iter().all(|part| is_element(pool, *part))
}

/// Only a name has an offset: a number would swallow it.
pub(super) fn is_address(pool: &OperandPool, address: &Address) -> bool {
    let offset = is_number(address.offset) && is_named(pool, address.base);
    let alone = address.offset == Operand::Absent
        && (is_number(address.base) || is_named(pool, address.base));
    offset || alone
}

/// What may stand before the bar of a pair, and behind it.
pub(super) fn is_pair(pool: &OperandPool, first: Operand, second: Operand) -> bool {
    let vector = matches!(first, Operand::Vector(id) if are_elements(pool, pool.list(id)));
    let single = |o| o == Operand::Sink || is_name(o);
    (vector || single(first)) && single(second)
}

impl Editor<'_> {
    /// Whether these can stand in a vector or a list.
    pub(super) fn are_elements(&self, parts: &[Operand]) -> bool {
        are_elements(&self.body().pool, parts)
    }

    /// Whether these operands can be written behind this mnemonic.
    pub(super) fn are_operands(&self, sig: SigId, operands: &[Operand]) -> Result<(), EditError> {
        let signature = self.module.signature(sig);
        for (nth, &operand) in operands.iter().enumerate() {
            if matches!(operand, Operand::List(_)) {
                let lists = signature.opcode().is_none_or(|o| o.takes_lists());
                part(lists, "mnemonic that takes a list of arguments")?;
            }
            let wanted = if nth == 0 { "first operand" } else { "operand" };
            part(self.is_operand(operand, nth == 0), wanted)?;
        }
        Ok(())
    }

    fn is_operand(&self, operand: Operand, first: bool) -> bool {
        let pool = &self.body().pool;
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

impl Module {
    /// Whether these arguments can be written behind a directive of a body or of the module.
    pub(super) fn are_arguments(
        &self,
        pool: &OperandPool,
        directive: Directive,
        args: &[Operand],
    ) -> Result<(), EditError> {
        let whole = |o: &Operand| self.is_whole(pool, *o);
        let string = |o: &Operand| matches!(o, Operand::Str(_));
        let (fits, wanted) = match directive {
            Directive::Loc => (is_place(pool, args, whole), "place in a file"),
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

    /// A literal without a sign, as directives take it.
    fn is_whole(&self, pool: &OperandPool, operand: Operand) -> bool {
        match operand {
            Operand::Small(value) => value >= 0,
            Operand::Imm(id) => pool.immediate(id).is_some_and(|i| {
                let text = self.name(i.text).as_bytes();
                let literal = text.iter().all(u8::is_ascii_alphanumeric);
                literal
                    && text.first().is_some_and(u8::is_ascii_digit)
                    && i.value.as_int().is_some()
            }),
            _ => false,
        }
    }
}

/// File, line and column; the place that was inlined there, and the three of where it was.
fn is_place(pool: &OperandPool, args: &[Operand], whole: impl Fn(&Operand) -> bool) -> bool {
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
