//! Adjacent accesses that could be combined into one vector access.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::Statement;
use ptx_ir::facts::Space;
use ptx_isa::{Access as Usage, Modifier, Proxy, SpecialReg, StateSpace};

use super::{Access, Context};
use crate::cfg::BlockId;
use crate::ssa::ValueId;
use crate::values::{Affine, AffineSymbol};

/// The size in bytes of the longest vector that all targets support.
const MAX_BYTES: u64 = 16;

/// Accesses that could be combined into one vector access.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Adjacent {
    /// Their indices in [`Accesses::all`](super::Accesses::all), in order of ascending addresses.
    pub accesses: Vec<usize>,
    /// The total number of bytes.
    pub bytes: u64,
}

/// An access that may be part of a vector.
struct Candidate {
    index: usize,
    offset: i64,
    bytes: u64,
}

/// Accesses with addresses that differ by constants.
#[derive(Default)]
struct Group {
    base: Option<Affine>,
    candidates: Vec<Candidate>,
}

/// The properties that the accesses of a vector have in common.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    space: StateSpace,
    writes: bool,
    bytes: u64,
    is_read_only: bool,
    /// The predicate of the guard, and whether it is negated.
    guard: Option<(ValueId, bool)>,
}

/// The accesses of each block that could be vectors: for certain, and if pointers that a kernel gets are aligned.
pub(super) fn adjacent(context: &Context<'_>, all: &[Access]) -> [Vec<Adjacent>; 2] {
    let mut vectors = Vectors {
        context,
        all,
        certain: Vec::new(),
        likely: Vec::new(),
    };
    let mut open: BTreeMap<Key, Vec<Group>> = BTreeMap::new();
    let mut block: Option<BlockId> = None;
    let mut previous = None;
    for (index, access) in all.iter().enumerate() {
        let access_block = context.block(access.stmt);
        if access_block != block || previous.is_some_and(|stmt| context.orders(stmt, access.stmt)) {
            vectors.close(&mut open);
            block = access_block;
        }
        previous = Some(access.stmt);
        let key = context.key(access);
        let writes = access.access.writes();
        // Accesses are not moved after a write of memory that they may access, and stores not after a read of memory that they may write.
        let ended: Vec<Key> = open
            .keys()
            .copied()
            .filter(|other| (writes || other.writes) && Some(*other) != key)
            .collect();
        for other in ended {
            if let Some(groups) = open.remove(&other) {
                vectors.finish(groups);
            }
        }
        if let (Some(key), Some(form)) = (key, access.address) {
            let groups = open.entry(key).or_default();
            vectors.add(groups, index, &form, key);
        }
    }
    vectors.close(&mut open);
    [vectors.certain, vectors.likely]
}

fn key(access: &Access, guard: Option<(ValueId, bool)>) -> Option<Key> {
    let Space::State(space) = access.space else {
        return None;
    };
    let bytes = access.access.bytes?;
    let is_read_only = access.access.proxy == Proxy::ReadOnly;
    let is_weak =
        access.access.proxy == Proxy::Generic && access.access.order == Some(Modifier::Weak);
    let is_plain = (is_weak || is_read_only)
        && matches!(access.access.access, Usage::Read | Usage::Write)
        && access.access.data.is_some();
    let has_vectors = matches!(
        space.base(),
        StateSpace::Global | StateSpace::Shared | StateSpace::Local | StateSpace::Const
    );
    (is_plain && has_vectors && bytes < MAX_BYTES && bytes.is_power_of_two()).then_some(Key {
        space: space.base(),
        writes: access.access.writes(),
        bytes,
        is_read_only,
        guard,
    })
}

/// The vectors that were found.
struct Vectors<'a> {
    context: &'a Context<'a>,
    all: &'a [Access],
    certain: Vec<Adjacent>,
    likely: Vec<Adjacent>,
}

impl Vectors<'_> {
    fn add(&mut self, groups: &mut Vec<Group>, index: usize, form: &Affine, key: Key) {
        let base = form.without_constant();
        let candidate = Candidate {
            index,
            offset: form.constant(),
            bytes: key.bytes,
        };
        if key.writes && groups.iter().any(|g| g.base != Some(base)) {
            // It may write the memory of another store, which is not moved after it.
            self.finish(core::mem::take(groups));
        }
        match groups.iter_mut().find(|g| g.base == Some(base)) {
            Some(group) => group.candidates.push(candidate),
            None => groups.push(Group {
                base: Some(base),
                candidates: vec![candidate],
            }),
        }
    }

    fn close(&mut self, open: &mut BTreeMap<Key, Vec<Group>>) {
        for (_, groups) in core::mem::take(open) {
            self.finish(groups);
        }
    }

    /// Divides the accesses of groups into vectors of proven alignment.
    fn finish(&mut self, groups: Vec<Group>) {
        for mut group in groups {
            group.candidates.sort_by_key(|c| (c.offset, c.index));
            group.candidates.dedup_by_key(|c| c.offset);
            let certain = divide(&group.candidates, |candidate| {
                let access = self.all.get(candidate.index);
                access.map_or(1, |access| access.alignment)
            });
            if certain.is_empty() {
                self.likely.extend(self.element(&group));
            }
            self.certain.extend(certain);
        }
    }

    /// All accesses of a group, if they are the element of each thread in what a parameter points to.
    fn element(&self, group: &Group) -> Option<Adjacent> {
        let values = self.context.values;
        let (base, _) = values.without_wrap(&group.base?, 64);
        let index = base.terms().iter().find(|term| {
            let symbol = values.symbol(term.symbol);
            matches!(symbol, Some(AffineSymbol::Special(SpecialReg::Tid, 0)))
        })?;
        let step = u64::try_from(index.factor)
            .ok()
            .filter(|step| *step <= MAX_BYTES && step.is_power_of_two())?;
        let mut pointers = 0;
        for term in base.terms() {
            match values.symbol(term.symbol)? {
                AffineSymbol::Parameter { bytes: 8, .. }
                    if values.is_kernel() && term.factor == 1 =>
                {
                    pointers += 1;
                }
                _ if term.factor.unsigned_abs() % step == 0 => {}
                _ => return None,
            }
        }
        if pointers != 1 {
            return None;
        }
        let vectors = divide(&group.candidates, |candidate| {
            let is_aligned = candidate.offset.rem_euclid(step as i64) == 0;
            if is_aligned { step } else { candidate.bytes }
        });
        match <[Adjacent; 1]>::try_from(vectors) {
            Ok([only]) if only.bytes == step => Some(only),
            _ => None,
        }
    }
}

/// Divides accesses in the order of their addresses into vectors.
fn divide(candidates: &[Candidate], alignment: impl Fn(&Candidate) -> u64) -> Vec<Adjacent> {
    let mut vectors = Vec::new();
    let mut remaining = candidates;
    while let Some(first) = remaining.first() {
        let max_length = (MAX_BYTES.min(alignment(first)) / first.bytes).min(4) as usize;
        let consecutive = remaining
            .iter()
            .zip(0i64..)
            .take_while(|(candidate, n)| {
                let distance = n.wrapping_mul(first.bytes as i64);
                candidate.offset == first.offset.wrapping_add(distance)
            })
            .count();
        // Two or four elements.
        let length = 1usize << consecutive.min(max_length.max(1)).ilog2();
        let (vector, tail) = remaining.split_at(length);
        if length > 1 {
            vectors.push(Adjacent {
                accesses: vector.iter().map(|candidate| candidate.index).collect(),
                bytes: first.bytes * length as u64,
            });
        }
        remaining = tail;
    }
    vectors
}

impl Context<'_> {
    fn key(&self, access: &Access) -> Option<Key> {
        let facts = self.facts.inst(access.inst);
        let guard = match facts.guard_register() {
            Some((register, sense)) => {
                let variable = self.analysis.variables().of(register).first();
                Some((self.ssa.read(access.stmt, variable)?, sense.is_negated()))
            }
            None if facts.guard().is_some() => return None,
            None => None,
        };
        key(access, guard).filter(|key| key.space != StateSpace::Const || !self.is_constant(access))
    }

    /// Whether the address is known when the code is compiled: constants at such addresses are operands of instructions.
    fn is_constant(&self, access: &Access) -> bool {
        access.address.is_none_or(|form| {
            let mut terms = form.terms().iter();
            terms.all(|t| {
                matches!(
                    self.values.symbol(t.symbol),
                    Some(AffineSymbol::Variable(_))
                )
            })
        })
    }

    /// Whether an instruction between two statements of a block orders accesses, or may access any memory.
    fn orders(&self, from: ptx_ir::StmtId, to: ptx_ir::StmtId) -> bool {
        let mut between = self.facts.body().range(from, to).skip(1);
        between.any(|(_, statement)| match statement {
            Statement::Inst(inst) => {
                let f = self.facts.inst(inst);
                !f.is_known() || f.is_fence() || f.is_barrier() || f.convergence().is_some()
            }
            _ => false,
        })
    }
}
