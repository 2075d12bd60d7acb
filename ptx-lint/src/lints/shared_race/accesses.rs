//! Accesses to shared memory with their addresses in individual threads.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::{Affine, Values, VariableRef};
use ptx_ir::EntityId as _;
use ptx_ir::facts::Space;
use ptx_ir::{Operand, StmtId};
use ptx_isa::{Access as Usage, Modifier, Proxy, StateSpace};

use super::super::performance;
use super::address::{Address, Addresses};
use super::pending::Pair;
use super::replicated;
use crate::context::FunctionContext;

/// The lanes of a warp.
const LANES: u32 = 32;
/// Bytes of a row of a matrix.
const ROW: i64 = performance::ROW as i64;

/// An access to shared memory.
pub(super) struct SharedAccess {
    pub(super) stmt: StmtId,
    pub(super) block: BlockId,
    /// The number of bytes that each thread accesses.
    pub(super) bytes: i64,
    pub(super) writes: bool,
    pub(super) is_atomic: bool,
    pub(super) is_volatile: bool,
    /// The lanes of a warp access each other's elements: each lane provides the address of a row of a matrix.
    pub(super) is_of_rows: bool,
    pub(super) provenance: Provenance,
    /// The address, including its unknown parts.
    pub(super) form: Affine,
    /// The address without its constant. Accesses whose addresses differ by a constant share it.
    pub(super) address: Rc<Address>,
    /// Bit `i` is set if the sample thread `i` may execute the access. There are at most 128 sample threads.
    pub(super) executing: u128,
    /// `executing` contains no thread that does not execute the access, and the address is certain.
    pub(super) is_exact: bool,
    /// The stored values by sample thread, if they are known.
    pub(super) stored: Option<PerThread>,
    /// For each sample thread, the first one of the same lane in a warp that stores the same values; empty if that is not known or not needed.
    pub(super) replicas: Vec<u32>,
}

/// The accesses to a variable in the sample threads.
struct VariableUse {
    /// The size of the variable in bytes, if it is known.
    size: Option<i64>,
    /// The least number of first sample threads that write the whole variable.
    filling: Option<usize>,
    /// The number of first sample threads that access nothing after the variable.
    inside: usize,
}

/// The accesses of a function to shared memory.
pub(super) struct SharedAccesses {
    /// In the order of the blocks and statements.
    pub(super) all: Vec<SharedAccess>,
}

impl SharedAccesses {
    /// Evaluates the addresses. `reaching` contains the sample threads that reach each block.
    pub(super) fn new(
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
        reaching: &[u128],
    ) -> Option<Self> {
        let values = cx.values()?;
        let mut addresses = Addresses::new(cx, values);
        let accesses = cx.accesses()?.all().iter();
        let all = accesses
            .filter_map(|access| {
                shared_access(cx, values, threads, &mut addresses, reaching, access)
            })
            .collect();
        Some(Self { all })
    }

    /// Finds the replicas of the stores for which they matter: stores that follow themselves, and stores of CTAs of a known size.
    pub(super) fn find_replicas(
        &mut self,
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
        pairs: &[Pair],
    ) {
        let mut is_needed = vec![threads.shape().is_required; self.all.len()];
        for pair in pairs {
            is_needed[pair.first] |= pair.first == pair.second;
        }
        for (access, is_needed) in self.all.iter_mut().zip(is_needed) {
            let may_store_twice = access.address.offsets.least_distance == 0;
            if is_needed && access.writes && access.stored.is_none() && may_store_twice {
                access.replicas = replicated::warps(cx, threads, access.stmt);
            }
        }
    }

    /// The number of sample threads that write all of a variable, if each thread writes another element and none accesses what lies after the
    /// variable: it was declared for as many threads.
    pub(super) fn filling(&self, cx: &FunctionContext<'_>) -> usize {
        let mut uses: BTreeMap<VariableRef, VariableUse> = BTreeMap::new();
        for access in &self.all {
            let Provenance::Variable(variable) = access.provenance else {
                continue;
            };
            let usage = uses.entry(variable).or_insert_with(|| VariableUse {
                size: access.variable_size(cx),
                filling: None,
                inside: usize::MAX,
            });
            let Some(size) = usage.size else { continue };
            usage.inside = usage.inside.min(access.count_inside(size));
            usage.filling = [usage.filling, access.filling(size)]
                .into_iter()
                .flatten()
                .min();
        }
        uses.values()
            .filter_map(|usage| Some(usage.filling?.min(usage.inside)))
            .min()
            .unwrap_or(0)
    }
}

impl SharedAccess {
    /// The address of a sample thread, without the parts that are uniform in the CTA.
    fn offset(&self, sample: usize) -> Option<i64> {
        let offset = self.address.by_sample.get(sample)?;
        Some(offset.wrapping_add(self.form.constant()))
    }

    /// Whether a sample thread may execute the access.
    pub(super) fn is_executed_by(&self, sample: usize) -> bool {
        self.executing >> sample & 1 == 1
    }

    /// Whether two threads of the first warp certainly write different values to one address.
    pub(super) fn writes_differ(
        &self,
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
    ) -> bool {
        let is_plain = self.is_exact && !self.address.is_anywhere && !self.is_of_rows;
        if !self.writes || self.is_atomic || !is_plain {
            return false;
        }
        let Some(ssa) = cx.ssa() else { return false };
        let first_warp = threads.samples().iter().take_while(|t| **t < LANES).count();
        let mut writers = (0..first_warp).filter(|sample| self.is_executed_by(*sample));
        let Some(first) = writers.next() else {
            return false;
        };
        let offsets = &self.address.by_sample;
        let conflicting: Vec<usize> = writers
            .filter(|writer| offsets.get(*writer) == offsets.get(first))
            .collect();
        // The address is uniform, so a varying register is the stored value.
        !conflicting.is_empty()
            && ssa.uses(self.stmt).iter().any(|read| {
                threads.value(read.value).is_some_and(|v| {
                    conflicting
                        .iter()
                        .any(|other| v.get(*other) != v.get(first))
                })
            })
    }

    /// Whether two sample threads store the same value, because their warps compute the same values.
    pub(super) fn is_replica(&self, first: usize, second: usize) -> bool {
        match (self.replicas.get(first), self.replicas.get(second)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }

    /// Whether threads of several warps store values to one address that differ between warps.
    pub(super) fn differs_by_warp(
        &self,
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
    ) -> bool {
        let address = &self.address;
        let is_plain = self.is_exact
            && !address.is_anywhere
            && !self.is_of_rows
            && address.counters.is_empty();
        if !self.writes || self.is_atomic || !is_plain || !threads.shape().is_required {
            return false;
        }
        let samples = threads.samples().iter().enumerate();
        let mut writers = samples.filter(|(sample, _)| self.is_executed_by(*sample));
        let Some((first, thread)) = writers.next() else {
            return false;
        };
        if let Some(stored) = &self.stored {
            return self.stores_other_number(stored, threads, first);
        }
        let is_written_by_other_warp = writers.any(|(sample, other)| {
            other / LANES != thread / LANES
                && address.by_sample.get(sample) == address.by_sample.get(first)
                && !self.is_replica(first, sample)
        });
        let (Some(ssa), Some(likely), true) = (cx.ssa(), cx.likely(), is_written_by_other_warp)
        else {
            return false;
        };
        stored_values(cx, self.stmt).into_iter().any(|value| {
            let level = match ssa.value(value) {
                Value::Def { stmt, variable, .. } => likely.def(stmt, variable),
                _ => Uniformity::Grid,
            };
            threads.value(value).is_none() && level > Uniformity::Cta
        })
    }

    /// Whether a sample thread of another warp stores another number to the address of a sample thread.
    fn stores_other_number(
        &self,
        stored: &PerThread,
        threads: &ThreadValues<'_>,
        first: usize,
    ) -> bool {
        let warp = |sample: usize| threads.samples().get(sample).map(|thread| thread / LANES);
        let offsets = &self.address.by_sample;
        (0..threads.samples().len()).any(|sample| {
            self.is_executed_by(sample)
                && warp(sample) != warp(first)
                && offsets.get(sample) == offsets.get(first)
                && stored.get(sample) != stored.get(first)
        })
    }

    /// The size of the accessed variable in bytes.
    fn variable_size(&self, cx: &FunctionContext<'_>) -> Option<i64> {
        let Provenance::Variable(variable) = self.provenance else {
            return None;
        };
        i64::try_from(cx.layout(variable)?.size?).ok()
    }

    /// The number of sample threads that write a variable of a size from its start to its end.
    fn filling(&self, size: i64) -> Option<usize> {
        let first = self.offset(0)?;
        let stride = self.offset(1)?.checked_sub(first)?;
        let is_plain = self.writes
            && !self.is_atomic
            && !self.address.is_anywhere
            && self.address.repeated.is_none();
        if !is_plain || !self.is_executed_by(0) || stride != self.bytes {
            return None;
        }
        let count = self.count_inside(size);
        let last = self.offset(count.checked_sub(1)?)?;
        (first == 0 && last.checked_add(stride)? == size).then_some(count)
    }

    /// The number of first sample threads whose known addresses are all inside a variable of a size.
    fn count_inside(&self, size: i64) -> usize {
        let address = &self.address;
        let samples = address.by_sample.len();
        let is_known = !address.is_anywhere && address.repeated.is_none();
        if !address.counters.is_empty() || address.uniform_terms.len() > 1 || !is_known {
            return samples;
        }
        (0..samples)
            .position(|sample| {
                let is_inside = self
                    .offset(sample)
                    .is_some_and(|offset| offset >= 0 && offset.saturating_add(self.bytes) <= size);
                self.is_executed_by(sample) && !is_inside
            })
            .unwrap_or(samples)
    }
}

/// An access with its address in individual threads; `None` if it is not to shared memory, has its own protocol, or has an unknown address.
fn shared_access<'t>(
    cx: &FunctionContext<'_>,
    values: &Values,
    threads: &mut ThreadValues<'t>,
    addresses: &mut Addresses<'_, '_, 't>,
    reaching: &[u128],
    access: &Access,
) -> Option<SharedAccess> {
    let is_shared = matches!(access.space, Space::State(s) if s.base() == StateSpace::Shared);
    let operation = &access.access;
    let is_plain = matches!(operation.order, Some(Modifier::Weak | Modifier::Volatile));
    let is_atomic = operation.access == Usage::ReadModifyWrite;
    let is_generic_proxy = operation.proxy == Proxy::Generic;
    if !is_shared || operation.is_mbarrier || !is_generic_proxy || !(is_plain || is_atomic) {
        return None;
    }
    let facts = cx.inst_at(access.stmt)?;
    // Asynchronous operations have different protocols.
    let is_of_rows = performance::is_of_rows(cx, access);
    if !is_of_rows && facts.action().is_some() {
        return None;
    }
    let block = cx.cfg().of_statement(access.stmt)?;
    let (form, _) = values.without_wrap(&access.address?, 32);
    let address = addresses.address(threads, &form)?;
    let mut shared = SharedAccess {
        stmt: access.stmt,
        block,
        bytes: if is_of_rows {
            ROW
        } else {
            i64::try_from(operation.bytes?).ok()?
        },
        writes: operation.writes(),
        is_atomic,
        is_volatile: facts.has_modifier(Modifier::Volatile),
        is_of_rows,
        provenance: access.provenance?,
        form,
        executing: reaching.get(block.index()).copied()?,
        is_exact: address.is_exact
            && !is_of_rows
            && !cx.has_local()
            && is_exact(cx, threads, block),
        address,
        stored: stored_number(cx, threads, access),
        replicas: Vec::new(),
    };
    exclude_by_guard(cx, threads, &mut shared);
    Some(shared)
}

/// The value of the only register that an instruction stores, in individual threads.
fn stored_number(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    access: &Access,
) -> Option<PerThread> {
    if !access.access.writes() {
        return None;
    }
    match *stored_values(cx, access.stmt) {
        [value] => threads.value(value),
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
    let addresses: Vec<Operand> = facts.memory().filter_map(|access| access.operand).collect();
    let control_variables: Vec<VariableId> = addresses
        .iter()
        .flat_map(|operand| facts.places(operand))
        .chain(guard)
        .flat_map(|place| variables.of(place))
        .collect();
    ssa.uses(stmt)
        .iter()
        .filter(|read| !control_variables.contains(&read.variable))
        .map(|read| read.value)
        .collect()
}

/// Keeps only the sample threads for which the guard holds.
fn exclude_by_guard(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    access: &mut SharedAccess,
) {
    let Some(facts) = cx.inst_at(access.stmt).filter(|f| f.guard().is_some()) else {
        return;
    };
    let Some(guard) = threads.guard(access.stmt, &facts) else {
        access.is_exact = false;
        return;
    };
    for sample in 0..threads.samples().len() {
        if guard.get(sample) == 0 {
            access.executing &= !(1 << sample);
        }
    }
}

/// Whether the sample threads that may reach a block certainly do.
fn is_exact(cx: &FunctionContext<'_>, threads: &mut ThreadValues<'_>, block: BlockId) -> bool {
    let Some(divergence) = cx.divergence() else {
        return false;
    };
    let causes = divergence.causes(block, Uniformity::Cta);
    if causes.is_empty() {
        return divergence.level(block) <= Uniformity::Cta;
    }
    causes.iter().all(|branch| {
        cx.last_instruction(*branch)
            .is_some_and(|(stmt, facts)| threads.guard(stmt, &facts).is_some())
    })
}
