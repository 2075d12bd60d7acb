//! Accesses to shared memory with their addresses in individual threads.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::{Affine, Symbol, SymbolId, Values, VariableRef};
use ptx_ir::EntityId as _;
use ptx_ir::facts::Space;
use ptx_ir::{Operand, StmtId};
use ptx_isa::{Access as Kind, Modifier, Proxy, StateSpace};

use super::super::barrier_divergence::last;
use super::super::performance;
use super::repeated::{Assumptions, Repeated};
use super::replicated;
use crate::addresses::{Parts, is_loaded};
use crate::context::FunctionContext;

/// The lanes of a warp.
const LANES: u32 = 32;
/// Bytes of a row of a matrix.
const ROW: i64 = performance::ROW as i64;
/// The maximum number of instructions between the load of an index and its use.
const FOLLOWED: u32 = 6;

/// An access to shared memory.
pub(super) struct Touch {
    pub(super) stmt: StmtId,
    pub(super) block: BlockId,
    pub(super) bytes: i64,
    pub(super) writes: bool,
    pub(super) is_atomic: bool,
    pub(super) is_volatile: bool,
    /// The part of the address that depends on the thread index, by sample thread.
    pub(super) own: Vec<i64>,
    /// The same with the samples, in the order of the addresses.
    pub(super) sorted: Vec<(i64, usize)>,
    /// Symbols that are uniform in the CTA, with their factors.
    pub(super) shared: BTreeMap<SymbolId, i64>,
    /// Loop counters with their factors.
    pub(super) counters: BTreeMap<LoopId, i64>,
    /// The samples that may execute it, and whether all of them do.
    pub(super) set: u128,
    pub(super) is_exact: bool,
    /// Whether the address depends on the number of threads.
    pub(super) uses_size: bool,
    /// Whether a value that is loaded from memory selects the element of the variable.
    pub(super) is_anywhere: bool,
    /// Whether the lanes of a warp access each other's elements.
    pub(super) is_of_warp: bool,
    pub(super) provenance: Provenance,
    /// The stored values by sample thread, if known.
    pub(super) stored: Option<PerThread>,
    /// By warp, with which other warps it stores the same values, lane by lane.
    pub(super) same: Vec<u32>,
    /// The address, including its unknown parts.
    pub(super) form: Affine,
    /// The part that changes in a loop; `own` is then the address in the first iteration.
    pub(super) repeated: Option<Repeated>,
}

/// How many samples access a variable.
struct Inside {
    /// The size of the variable.
    size: Option<i64>,
    /// The fewest that fill it.
    filling: Option<usize>,
    /// How many first ones access only the variable.
    inside: usize,
}

/// The accesses of a function.
pub(super) struct Touches {
    pub(super) all: Vec<Touch>,
    /// By statement.
    pub(super) of: BTreeMap<StmtId, Vec<usize>>,
}

impl Touches {
    pub(super) fn new(
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
        sets: &[u128],
    ) -> Option<Self> {
        let mut assumptions = Assumptions::default();
        let values = cx.values()?;
        let mut touches = Self {
            all: Vec::new(),
            of: BTreeMap::new(),
        };
        for access in cx.accesses()?.all() {
            if let Some(touch) = touch(cx, values, (threads, &mut assumptions), sets, access) {
                touches
                    .of
                    .entry(touch.stmt)
                    .or_default()
                    .push(touches.all.len());
                touches.all.push(touch);
            }
        }
        Some(touches)
    }

    /// How many samples write all of a variable, if each thread writes another element and none accesses what lies after the variable: it was
    /// declared for as many threads.
    pub(super) fn filling(&self, cx: &FunctionContext<'_>) -> usize {
        let mut of_variables: BTreeMap<VariableRef, Inside> = BTreeMap::new();
        for touch in &self.all {
            let Provenance::Variable(variable) = touch.provenance else {
                continue;
            };
            let of = of_variables.entry(variable).or_insert_with(|| Inside {
                size: touch.size(cx),
                filling: None,
                inside: usize::MAX,
            });
            let Some(size) = of.size else { continue };
            of.inside = of.inside.min(touch.inside(size));
            let least = [of.filling, touch.filling(size)]
                .into_iter()
                .flatten()
                .min();
            of.filling = least;
        }
        let filling = |of: &Inside| Some(of.filling?.min(of.inside));
        of_variables.values().filter_map(filling).min().unwrap_or(0)
    }
}

impl Touch {
    /// Whether two threads of the first warp certainly write different values to one address.
    pub(super) fn writes_differ(
        &self,
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
    ) -> bool {
        let is_plain = self.is_exact && !self.is_anywhere && !self.is_of_warp;
        let (true, false, true, Some(ssa)) = (self.writes, self.is_atomic, is_plain, cx.ssa())
        else {
            return false;
        };
        let first_warp = threads.samples().iter().take_while(|t| **t < LANES).count();
        let mut writers = (0..first_warp).filter(|sample| self.set >> sample & 1 == 1);
        let Some(first) = writers.next() else {
            return false;
        };
        let others: Vec<usize> = writers
            .filter(|other| self.own.get(*other) == self.own.get(first))
            .collect();
        // The address is uniform, so a varying register is the stored value.
        !others.is_empty()
            && ssa.uses(self.stmt).iter().any(|read| {
                let value = threads.value(read.value);
                value.is_some_and(|v| others.iter().any(|other| v.get(*other) != v.get(first)))
            })
    }

    /// Whether two samples store the same value, because their warps compute the same things.
    pub(super) fn repeats(&self, first: usize, second: usize) -> bool {
        replicated::are_same(&self.same, first, second)
    }

    /// Whether threads of several warps store values to one address that differ between warps.
    pub(super) fn differs_by_warp(
        &self,
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
    ) -> bool {
        let is_plain =
            self.is_exact && !self.is_anywhere && !self.is_of_warp && self.counters.is_empty();
        if !self.writes || self.is_atomic || !is_plain || !threads.shape().is_required {
            return false;
        }
        let samples = threads.samples().iter().enumerate();
        let mut writers = samples.filter(|(sample, _)| self.set >> sample & 1 == 1);
        let Some((first, thread)) = writers.next() else {
            return false;
        };
        let at = self.own.get(first);
        let meets = writers.any(|(sample, other)| {
            other / LANES != thread / LANES
                && self.own.get(sample) == at
                && !self.repeats(first, sample)
        });
        if let Some(stored) = &self.stored {
            return self.stores_other(stored, threads, first);
        }
        let (Some(ssa), Some(likely), true) = (cx.ssa(), cx.likely(), meets) else {
            return false;
        };
        stored_values(cx, self.stmt).into_iter().any(|value| {
            let is_unknown = threads.value(value).is_none();
            let level = match ssa.value(value) {
                Value::Def { stmt, variable, .. } => likely.def(stmt, variable),
                _ => Uniformity::Grid,
            };
            is_unknown && level > Uniformity::Cta
        })
    }

    /// Whether a sample of another warp stores another number to the address of a sample.
    fn stores_other(&self, stored: &PerThread, threads: &ThreadValues<'_>, first: usize) -> bool {
        let warp = |sample: usize| threads.samples().get(sample).map(|thread| thread / LANES);
        let mut samples = (0..threads.samples().len()).filter(|s| self.set >> s & 1 == 1);
        samples.any(|sample| {
            warp(sample) != warp(first)
                && self.own.get(sample) == self.own.get(first)
                && stored.get(sample) != stored.get(first)
        })
    }

    /// The size of the variable in bytes.
    fn size(&self, cx: &FunctionContext<'_>) -> Option<i64> {
        let Provenance::Variable(variable) = self.provenance else {
            return None;
        };
        i64::try_from(cx.layout(variable)?.size?).ok()
    }

    /// How many samples write a variable of that size from its start to its end.
    fn filling(&self, size: i64) -> Option<usize> {
        let first = *self.own.first()?;
        let stride = self.own.get(1)?.checked_sub(first)?;
        let is_plain =
            self.writes && !self.is_atomic && !self.is_anywhere && self.repeated.is_none();
        if !is_plain || self.set & 1 == 0 || stride != self.bytes {
            return None;
        }
        let count = self.inside(size);
        let last = self.own.get(count.checked_sub(1)?)?;
        (first == 0 && last.checked_add(stride)? == size).then_some(count)
    }

    /// The number of first samples whose known addresses are all inside a variable of that size.
    fn inside(&self, size: i64) -> usize {
        let is_known = !self.is_anywhere && self.repeated.is_none();
        if !self.counters.is_empty() || self.shared.len() > 1 || !is_known {
            return self.own.len();
        }
        let mut own = self.own.iter().enumerate();
        let is_outside = |(sample, own): (usize, &i64)| {
            let is_inside = *own >= 0 && own.saturating_add(self.bytes) <= size;
            self.set >> sample & 1 == 1 && !is_inside
        };
        own.position(is_outside).unwrap_or(self.own.len())
    }
}

fn touch<'t>(
    cx: &FunctionContext<'_>,
    values: &Values,
    (threads, assumptions): (&mut ThreadValues<'t>, &mut Assumptions<'t>),
    sets: &[u128],
    access: &Access,
) -> Option<Touch> {
    let is_shared = matches!(access.space, Space::State(s) if s.base() == StateSpace::Shared);
    let of = &access.access;
    let is_plain = matches!(of.order, Some(Modifier::Weak | Modifier::Volatile));
    let is_atomic = of.access == Kind::ReadModifyWrite;
    if !is_shared || of.is_mbarrier || of.proxy != Proxy::Generic || !(is_plain || is_atomic) {
        return None;
    }
    // Asynchronous operations have different protocols.
    let is_of_warp = performance::is_of_rows(cx, access);
    if !is_of_warp && cx.inst_at(access.stmt)?.action().is_some() {
        return None;
    }
    let block = cx.cfg().of_statement(access.stmt)?;
    let (form, _) = values.without_wrap(&access.address?, 32);
    let known = Parts::new(cx, values, threads, &form);
    let anywhere = || anywhere(cx, values, threads, &form);
    let anywhere = known.is_none().then(anywhere).flatten();
    let is_anywhere = anywhere.is_some();
    let (parts, repeated) = match known.or(anywhere) {
        Some(parts) => (parts, None),
        None => {
            let (parts, repeated) = assumptions.parts(cx, values, threads, &form)?;
            (parts, Some(repeated))
        }
    };
    let mut touch = Touch {
        stmt: access.stmt,
        block,
        bytes: if is_of_warp {
            ROW
        } else {
            i64::try_from(of.bytes?).ok()?
        },
        writes: of.writes(),
        is_atomic,
        is_volatile: cx.inst_at(access.stmt)?.has_modifier(Modifier::Volatile),
        own: parts.own,
        sorted: Vec::new(),
        shared: parts.shared,
        counters: parts.counters,
        set: sets.get(block.index()).copied()?,
        is_exact: parts.is_exact && !is_of_warp && is_exact(cx, threads, block) && !cx.has_local(),
        uses_size: parts.uses_size,
        is_anywhere,
        is_of_warp,
        provenance: access.provenance?,
        stored: stored(cx, threads, access),
        same: Vec::new(),
        form,
        repeated,
    };
    guard(cx, threads, &mut touch);
    touch.sorted = sorted(&touch.own);
    let mut neighbours = touch.sorted.windows(2);
    let meets = neighbours.any(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
    if touch.writes && touch.stored.is_none() && meets {
        touch.same = replicated::warps(cx, threads, access.stmt);
    }
    Some(touch)
}

/// Addresses with their samples, in the order of the addresses.
pub(super) fn sorted(own: &[i64]) -> Vec<(i64, usize)> {
    let samples = own.iter().enumerate();
    let mut sorted: Vec<(i64, usize)> = samples.map(|(sample, own)| (*own, sample)).collect();
    sorted.sort_unstable();
    sorted
}

/// The parts of the address of an element at a loaded index; `None` if it depends on the thread in another way.
fn anywhere(
    cx: &FunctionContext<'_>,
    values: &Values,
    threads: &ThreadValues<'_>,
    form: &Affine,
) -> Option<Parts> {
    let mut loaded = 0;
    for term in form.terms() {
        match values.symbol(term.symbol)? {
            Symbol::Variable(_) | Symbol::Window(_) => {}
            Symbol::Value { value, .. } if is_loaded(cx, value, FOLLOWED) => loaded += 1,
            _ => return None,
        }
    }
    (loaded > 0).then(|| Parts::unknown(threads))
}

/// The value of the only register that an instruction stores, in individual threads.
fn stored(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    access: &Access,
) -> Option<PerThread> {
    match *stored_values(cx, access.stmt) {
        [value] if access.access.writes() => threads.value(value),
        _ => None,
    }
}

/// The values that an instruction reads and that are neither its guard nor its addresses.
pub(super) fn stored_values(cx: &FunctionContext<'_>, stmt: StmtId) -> Vec<ValueId> {
    let (Some(facts), Some(ssa)) = (cx.inst_at(stmt), cx.ssa()) else {
        return Vec::new();
    };
    let variables = cx.analysis().variables();
    let guard = facts.guard_register().map(|(place, _)| place);
    let addresses = facts.memory().filter_map(|access| access.operand);
    let addresses: Vec<Operand> = addresses.collect();
    let places = addresses
        .iter()
        .flat_map(|operand| facts.places(operand))
        .chain(guard);
    let others: Vec<VariableId> = places.flat_map(|place| variables.of(place)).collect();
    let reads = ssa.uses(stmt).iter();
    let reads = reads.filter(|read| !others.contains(&read.variable));
    reads.map(|read| read.value).collect()
}

/// Keeps only the samples for which the guard holds.
fn guard(cx: &FunctionContext<'_>, threads: &mut ThreadValues<'_>, touch: &mut Touch) {
    let Some(facts) = cx.inst_at(touch.stmt).filter(|f| f.guard().is_some()) else {
        return;
    };
    match threads.guard(touch.stmt, &facts) {
        Some(guard) => {
            let samples = (0..threads.samples().len()).filter(|s| guard.get(*s) == 0);
            touch.set = samples.fold(touch.set, |set, sample| set & !(1 << sample));
        }
        None => touch.is_exact = false,
    }
}

/// Whether the samples that may reach a block certainly do.
fn is_exact(cx: &FunctionContext<'_>, threads: &mut ThreadValues<'_>, block: BlockId) -> bool {
    let Some(divergence) = cx.divergence() else {
        return false;
    };
    let causes = divergence.causes(block, Uniformity::Cta);
    causes.iter().all(|branch| {
        let guard = last(cx, *branch);
        guard.is_some_and(|(stmt, facts)| threads.guard(stmt, &facts).is_some())
    }) && (!causes.is_empty() || divergence.level(block) <= Uniformity::Cta)
}
