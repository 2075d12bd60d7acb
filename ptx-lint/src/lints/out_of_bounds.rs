//! `out-of-bounds`: accesses to bytes beyond the end, or before the start, of a variable whose name gives the address.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::internals::lanes_with_rows;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::threads::ThreadValues;
use ptx_analysis::values::{
    Affine, AffineSymbol, AffineSymbolId, Count, TripCount, Values, VariableRef,
};
use ptx_ir::facts::Space;
use ptx_ir::{Statement, StmtId};
use ptx_isa::{SpecialReg, StateSpace};

use crate::addresses::{Parts, numbers};
use crate::context::{FunctionContext, Reached};
use crate::executing::ExecutingThreads;
use crate::{Finding, Lint};

/// The threads of a warp.
const LANES: u32 = 32;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let (Some(accesses), Some(values)) = (cx.accesses(), cx.values()) else {
        return;
    };
    let mut threads = None;
    let mut bound = None;
    let mut sizes: BTreeMap<VariableRef, Option<u64>> = BTreeMap::new();
    for access in accesses.all() {
        let Some(Provenance::Variable(variable)) = access.provenance else {
            continue;
        };
        if !has_own_memory(access) {
            continue;
        }
        let size = *sizes
            .entry(variable)
            .or_insert_with(|| cx.layout(variable).and_then(|layout| layout.size));
        let (Some(size), Some(address), Some(bytes)) = (size, access.address, access.bytes) else {
            continue;
        };
        let Some(mut others) = other_terms(values, &address, variable) else {
            continue;
        };
        let Some((name, _)) = cx.name_and_declaration(variable) else {
            continue;
        };
        let object = Object { name, size, bytes };
        findings.extend(if others.next().is_none() {
            constant_finding(cx, access, &object, address.constant())
        } else {
            threads
                .get_or_insert_with(|| cx.threads())
                .as_mut()
                .and_then(|(threads, sets)| {
                    let bound = *bound.get_or_insert_with(|| ThreadBound::new(cx, threads));
                    thread_finding(
                        cx,
                        values,
                        (threads, sets),
                        bound,
                        access,
                        &object,
                        &address,
                    )
                })
        });
    }
}

/// The threads that a CTA has.
#[derive(Copy, Clone)]
struct ThreadBound {
    /// Their number.
    count: u32,
    /// The kernel requires this number.
    is_required: bool,
}

impl ThreadBound {
    /// Returns the number that a kernel requires. Otherwise returns the number by which the code multiplies the index of the CTA before it adds the index
    /// of the thread, if that is the same everywhere and CTAs have one dimension. Each CTA has at least one thread.
    fn new(cx: &FunctionContext<'_>, threads: &ThreadValues<'_>) -> Self {
        Self::known(cx, threads).unwrap_or(Self {
            count: 1,
            is_required: true,
        })
    }

    fn known(cx: &FunctionContext<'_>, threads: &ThreadValues<'_>) -> Option<Self> {
        let shape = threads.shape();
        let count: u32 = shape.threads.into_iter().product();
        if shape.is_required {
            return Some(Self {
                count,
                is_required: true,
            });
        }
        if shape.threads != [count, 1, 1] {
            return None;
        }
        let (values, ssa) = (cx.values()?, cx.ssa()?);
        let mut ratios = cx
            .instructions()
            .flat_map(|inst| ssa.defs(inst.stmt))
            .filter_map(|value| threads_of_cta(values, &values.affine(value)));
        let ratio = ratios.next()?;
        let ratio = u32::try_from(ratio).ok()?;
        let is_size = (1..=count).contains(&ratio) && ratio % LANES == 0;
        (is_size && ratios.all(|other| other == i64::from(ratio))).then_some(Self {
            count: ratio,
            is_required: false,
        })
    }
}

/// Returns the factor of the index of the CTA divided by that of the index of the thread in a sum; `None` if one of them is not in the sum.
fn threads_of_cta(values: &Values, form: &Affine) -> Option<i64> {
    let factor = |wanted: SpecialReg| {
        let mut terms = form.terms().iter();
        let term = terms.find(|term| {
            matches!(
                values.symbol(term.symbol),
                Some(AffineSymbol::Special(register, 0)) if register == wanted
            )
        });
        term.map(|term| term.factor)
    };
    let (cta, thread) = (factor(SpecialReg::Ctaid)?, factor(SpecialReg::Tid)?);
    let ratio = cta.checked_div(thread)?;
    (cta.checked_rem(thread) == Some(0)).then_some(ratio)
}

/// A variable, and the number of bytes of an access to it.
struct Object<'a> {
    name: Cow<'a, str>,
    /// The bytes of the variable.
    size: u64,
    bytes: u64,
}

impl Object<'_> {
    /// Returns `true` if an access at an offset reaches bytes outside of the variable.
    fn is_outside(&self, offset: i64) -> bool {
        let end = u64::try_from(offset)
            .ok()
            .and_then(|offset| offset.checked_add(self.bytes));
        self.bytes > 0 && end.is_none_or(|end| end > self.size)
    }
}

/// Returns `true` if an access is to memory of a variable of this CTA or thread.
fn has_own_memory(access: &Access) -> bool {
    matches!(
        access.space,
        Space::State(space) if matches!(
            space.base(),
            StateSpace::Shared | StateSpace::Local | StateSpace::Global | StateSpace::Const
        )
    )
}

/// Returns `true` if the address that a thread gives is used. Of matrices that are moved by rows, the first lanes of a warp give the addresses.
fn gives_address(cx: &FunctionContext<'_>, access: &Access, thread: u32) -> bool {
    lanes_with_rows(cx.facts(), access.inst).is_none_or(|rows| thread % LANES < rows)
}

/// Returns the terms of an address besides the start of a variable; `None` if it is not relative to the variable alone.
fn other_terms<'v>(
    values: &'v Values,
    address: &'v Affine,
    variable: VariableRef,
) -> Option<impl Iterator<Item = AffineSymbolId> + 'v> {
    let is_start = move |symbol| match values.symbol(symbol) {
        Some(AffineSymbol::Variable(base)) => base == variable,
        Some(AffineSymbol::Window(_)) => true,
        _ => false,
    };
    let is_relative = address.terms().iter().any(|term| {
        term.factor == 1 && values.symbol(term.symbol) == Some(AffineSymbol::Variable(variable))
    });
    let others = address.terms().iter().map(|term| term.symbol);
    is_relative.then(|| others.filter(move |symbol| !is_start(*symbol)))
}

/// The least and the greatest distance by which the counters of loops move an access.
#[derive(Copy, Clone)]
struct Reach {
    least: i64,
    most: i64,
}

impl Reach {
    /// Returns the reach in each sample thread, `None` for a thread in which the number of iterations of a loop is not known. Returns `None` if other
    /// exits may end a loop earlier, or if an iteration may skip the access: conditions often depend on the counter.
    fn of_samples(
        cx: &FunctionContext<'_>,
        values: &Values,
        threads: &mut ThreadValues<'_>,
        stmt: StmtId,
        parts: &Parts,
    ) -> Option<Vec<Option<Self>>> {
        let mut reaches = vec![Some(Self { least: 0, most: 0 }); parts.by_sample.len()];
        let Some(Statement::Inst(inst)) = cx.body().statement(stmt) else {
            return None;
        };
        if !parts.counters.is_empty() && cx.facts().inst(inst).guard().is_some() {
            return None;
        }
        let block = cx.cfg().of_statement(stmt)?;
        let (loops, dominators) = (cx.analysis().loops(), cx.analysis().dominators());
        for (&id, &factor) in &parts.counters {
            let trips = values.trip_count(id)?;
            if !trips.is_exact || trips.assumes_no_wrap() || !loops.contains(id, block) {
                return None;
            }
            let mut exits = loops.exits(cx.cfg(), id);
            let exit = exits.next()?.0;
            // The last execution of the header ends the loop at the exit.
            let is_skipped_at_last = exit != block && dominators.dominates(exit, block);
            let counts = trip_counts(values, threads, trips, reaches.len());
            for (reach, count) in reaches.iter_mut().zip(counts) {
                *reach = reach.zip(count).and_then(|(reach, count)| {
                    reach.extended(
                        factor,
                        count.checked_sub(1 + u64::from(is_skipped_at_last))?,
                    )
                });
            }
            let mut latches = loops.latches(cx.cfg(), id);
            let is_in_each_iteration = latches.all(|latch| dominators.dominates(block, latch))
                && (is_skipped_at_last || dominators.dominates(block, exit));
            if !is_in_each_iteration {
                return None;
            }
        }
        Some(reaches)
    }

    /// Returns the reach with a further counter, from 0 to `last`.
    fn extended(self, factor: i64, last: u64) -> Option<Self> {
        let distance = factor.checked_mul(i64::try_from(last).ok()?)?;
        Some(Self {
            least: self.least.checked_add(distance.min(0))?,
            most: self.most.checked_add(distance.max(0))?,
        })
    }
}

/// Returns how often each sample thread executes the header of a loop; `None` for a thread if that is not known.
fn trip_counts(
    values: &Values,
    threads: &mut ThreadValues<'_>,
    trips: &TripCount,
    samples: usize,
) -> Vec<Option<u64>> {
    let Count::Affine(distance) = &trips.count else {
        return vec![trips.most(); samples];
    };
    // The bounds may depend on the size of the CTA.
    if !threads.shape().is_required {
        return vec![None; samples];
    }
    let terms = distance.start.terms().iter().chain(distance.bound.terms());
    let numbers: BTreeMap<AffineSymbolId, Vec<i64>> = terms
        .filter_map(|term| Some((term.symbol, numbers(values, threads, term.symbol, 0)?)))
        .collect();
    let number = |symbol, sample| numbers.get(&symbol)?.get(sample).copied().map(i128::from);
    (0..samples)
        .map(|sample| trips.evaluate(|symbol| number(symbol, sample)))
        .collect()
}

/// Returns the finding about an access at a constant offset.
fn constant_finding(
    cx: &FunctionContext<'_>,
    access: &Access,
    object: &Object<'_>,
    offset: i64,
) -> Option<Finding> {
    if !object.is_outside(offset) {
        return None;
    }
    let message = format!(
        "`{}` accesses {} of `{}`, which has {}",
        cx.mnemonic(access.inst),
        range(object.bytes, offset),
        object.name,
        count(object.size),
    );
    let finding = cx.finding(Lint::OutOfBounds, Certainty::Definite, access.stmt, message);
    Some(finding.with_help("correct the offset, or declare a larger variable"))
}

/// Returns the finding about an access whose offset is a function of the thread, if a thread that executes it reaches bytes outside of the variable. It is
/// possible if a condition that is not known may skip the access in this thread, or if the number of threads is only likely.
fn thread_finding(
    cx: &FunctionContext<'_>,
    values: &Values,
    (threads, sets): (&mut ThreadValues<'_>, &[u128]),
    bound: ThreadBound,
    access: &Access,
    object: &Object<'_>,
    address: &Affine,
) -> Option<Finding> {
    let parts = Parts::new(cx, values, threads, address)?;
    let is_start = |symbol| {
        matches!(
            values.symbol(symbol),
            Some(AffineSymbol::Variable(_) | AffineSymbol::Window(_))
        )
    };
    let depends_on_size = parts.uses_size || parts.from_size.iter().any(|part| *part != 0);
    let is_known = parts.uniform_terms.keys().all(|symbol| is_start(*symbol))
        && (threads.shape().is_required || !depends_on_size);
    if !is_known {
        return None;
    }
    let reaches = Reach::of_samples(cx, values, threads, access.stmt, &parts)?;
    let outside = |sample: usize| {
        let start = parts.by_sample.get(sample)?;
        let reach = (*reaches.get(sample)?)?;
        [reach.least, reach.most]
            .into_iter()
            .map(|distance| start.saturating_add(distance))
            .find(|offset| object.is_outside(*offset))
    };
    let is_outside = |sample: usize| outside(sample).is_some();
    if !(0..parts.by_sample.len()).any(is_outside) {
        return None;
    }
    let inst = Reached {
        stmt: access.stmt,
        inst: access.inst,
        facts: cx.facts().inst(access.inst),
    };
    let executing = ExecutingThreads::of(cx, threads, sets, &inst)?;
    let exists = |sample: usize| {
        threads
            .samples()
            .get(sample)
            .is_some_and(|thread| *thread < bound.count && gives_address(cx, access, *thread))
    };
    let sample = executing
        .samples()
        .find(|sample| exists(*sample) && is_outside(*sample))?;
    let (certainty, accesses) = if executing.is_exact && bound.is_required {
        (Certainty::Definite, "accesses")
    } else {
        (Certainty::Possible, "may access")
    };
    let (thread, offset) = (threads.samples().get(sample)?, outside(sample)?);
    let message = format!(
        "`{}` of thread {thread} {accesses} {} of `{}`, which has {}",
        cx.mnemonic(access.inst),
        range(object.bytes, offset),
        object.name,
        count(object.size),
    );
    let finding = cx.finding(Lint::OutOfBounds, certainty, access.stmt, message);
    Some(finding.with_help(
        "correct the offset, skip the access in this thread, or declare a larger variable",
    ))
}

fn count(bytes: u64) -> String {
    format!("{bytes} {}", if bytes == 1 { "byte" } else { "bytes" })
}

fn range(bytes: u64, offset: i64) -> String {
    format!("{} at offset {offset}", count(bytes))
}
