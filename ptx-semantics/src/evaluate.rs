//! Evaluation of an instruction for a state of a thread.

use alloc::vec::Vec;

use ptx_ir::facts::Facts;
use ptx_isa::{Modifier, ScalarType};

use crate::fold::columns::{PerThread, fold_columns};
use crate::fold::{Operation, Video, fold, fold_partial};
use crate::operands::{Place, SourceOperand, visit_results, visit_sources};

/// The places that an instruction writes, with their bits; `None` where the known operands do not determine them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Results {
    places: Vec<(Place, Option<u128>)>,
}

impl Results {
    /// The bits of a place after the instruction; `None` if the instruction does not write it, or does not determine it.
    #[must_use]
    pub fn get(&self, place: Place) -> Option<u128> {
        let (_, bits) = self.places.iter().find(|(written, _)| *written == place)?;
        *bits
    }

    /// The written places, each once.
    pub fn iter(&self) -> impl Iterator<Item = (Place, Option<u128>)> {
        self.places.iter().copied()
    }

    /// Adds a written place. If a register is written twice, it is not specified which result it has.
    fn add(&mut self, place: Place, bits: Option<u128>) {
        match self
            .places
            .iter_mut()
            .find(|(written, _)| *written == place)
        {
            None => self.places.push((place, bits)),
            Some((_, previous)) if *previous == bits => {}
            Some((_, previous)) => *previous = None,
        }
    }
}

impl IntoIterator for Results {
    type Item = (Place, Option<u128>);
    type IntoIter = alloc::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.places.into_iter()
    }
}

/// Evaluates an instruction. `value` returns the bits of a place before it, of which those above the width of the operand are ignored; `None`
/// if they are unknown. Signs, selectors, `!` of predicates, constants and the guard are applied here. An instruction whose guard is
/// false has no results.
///
/// Returns `None` if the first result is not determined: the guard or an operand that matters is unknown, the instruction accesses memory or
/// does something else than computing, or the PTX ISA manual does not define the result to the bit. Constant time.
///
/// ```
/// use std::collections::HashMap;
/// use ptx_ir::facts::ModuleFacts;
/// use ptx_semantics::{Place, evaluate};
/// let source = b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; mov.b32 a, 7; add.s32 b, a, -3; ret; }";
/// let module = ptx_parse::parse(source).module;
/// let facts = ModuleFacts::new(&module);
/// let function = facts.function(module.function("k").unwrap()).unwrap();
/// let mut state: HashMap<Place, u128> = HashMap::new();
/// for (id, _) in function.body().insts().take(2) {
///     let results = evaluate(&function.inst(id), |place| state.get(&place).copied()).unwrap();
///     state.extend(results.into_iter().filter_map(|(place, bits)| Some((place, bits?))));
/// }
/// let mut values: Vec<u128> = state.into_values().collect();
/// values.sort();
/// assert_eq!(values, [4, 7]);
/// ```
#[must_use]
pub fn evaluate(
    facts: &Facts<'_>,
    mut value: impl FnMut(Place) -> Option<u128>,
) -> Option<Results> {
    if facts.has_side_effects() || facts.memory().next().is_some() {
        return None;
    }
    if facts.guard().is_some() {
        let (register, sense) = facts.guard_register()?;
        let guard = value(Place::of_register(facts.body(), register)?)?;
        if !sense.holds(guard & 1 == 1) {
            return Some(Results::default());
        }
    }
    let inst = facts.body().inst(facts.id())?;
    let signature = facts.module().signature(inst.sig);
    let opcode = signature.opcode()?;
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let types: Vec<ScalarType> = signature.types().collect();
    let mut operands: Vec<Option<u128>> = Vec::new();
    let video = visit_sources(facts, &types, |_, source| {
        operands.push(match source {
            SourceOperand::Bits(bits) => Some(bits),
            SourceOperand::Place(place) => value(place),
            SourceOperand::Not(place) => value(place).map(|bits| bits ^ 1),
            SourceOperand::Unknown => None,
        });
    })?;
    let carry = if facts.reads_carry() {
        value(Place::Carry).map(|bits| bits & 1 == 1)
    } else {
        None
    };
    let folded = if video == Video::default() {
        fold_partial(opcode, &modifiers, &operands, carry)?
    } else {
        let operands: Vec<u128> = operands.into_iter().collect::<Option<_>>()?;
        fold(&Operation {
            opcode,
            modifiers: &modifiers,
            operands: &operands,
            carry,
            video,
        })?
    };
    let mut results = Results::default();
    visit_results(facts, &folded, |place, bits| results.add(place, bits));
    Some(results)
}

/// Evaluates an instruction for several threads at once, as [`evaluate`] does for one, but without the guard. `value` returns the bits of a place in
/// each thread. `None` if [`evaluate`] has to be called for each thread: an operand is unknown, the carry flag is involved, the result of a thread
/// is not defined or has more than 64 bits, or [`fold_columns`] does not compute the form. Linear in the number of threads.
#[must_use]
pub fn evaluate_columns(
    facts: &Facts<'_>,
    threads: usize,
    mut value: impl FnMut(Place) -> Option<PerThread>,
) -> Option<Vec<(Place, PerThread)>> {
    let uses_carry = facts.reads_carry() || facts.writes_carry();
    if facts.has_side_effects() || facts.memory().next().is_some() || uses_carry {
        return None;
    }
    let inst = facts.body().inst(facts.id())?;
    let signature = facts.module().signature(inst.sig);
    let modifiers: Vec<Modifier> = signature.modifiers().collect();
    let types: Vec<ScalarType> = signature.types().collect();
    let mut operands: Option<Vec<PerThread>> = Some(Vec::new());
    let video = visit_sources(facts, &types, |_, source| {
        let Some(columns) = &mut operands else {
            return;
        };
        let column = match source {
            SourceOperand::Bits(bits) => Some(PerThread::Same(bits as u64)),
            SourceOperand::Place(place) => value(place),
            SourceOperand::Not(place) => {
                value(place).map(|predicate| predicate.map(|bits| bits ^ 1))
            }
            SourceOperand::Unknown => None,
        };
        match column {
            Some(column) => columns.push(column),
            None => operands = None,
        }
    })?;
    if video != Video::default() {
        return None;
    }
    let folded = fold_columns(signature.opcode()?, &modifiers, &operands?)?;
    let mut results: Vec<(Place, Vec<u64>)> = Vec::new();
    for thread in 0..threads {
        let mut is_defined = true;
        visit_results(facts, &folded.get(thread)?, |place, bits| {
            let Some(bits) = bits.and_then(|bits| u64::try_from(bits).ok()) else {
                is_defined = false;
                return;
            };
            match results.iter_mut().find(|(written, _)| *written == place) {
                // A place that is written twice has no defined value.
                Some((_, values)) if values.len() > thread => is_defined = false,
                Some((_, values)) => values.push(bits),
                None => {
                    let mut values = Vec::with_capacity(threads);
                    values.push(bits);
                    results.push((place, values));
                }
            }
        });
        if !is_defined {
            return None;
        }
    }
    let columns = results.into_iter();
    Some(
        columns
            .map(|(place, values)| (place, PerThread::from_values(values)))
            .collect(),
    )
}
