//! Adjacent accesses that could be combined into one vector access.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::Statement;
use ptx_ir::facts::Space;
use ptx_isa::{Access as Usage, Modifier, Proxy, SpecialReg, StateSpace};

use super::{Access, Context};
use crate::cfg::BlockId;
use crate::ssa::ValueId;
use crate::values::{Affine, Symbol};

/// The size in bytes of the longest vector that all targets support.
const LONGEST: u64 = 16;

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

/// What may be joined: spaces with vectors, reads apart from writes, elements of one size, what is read-only apart from the rest, and what is
/// executed under one condition.
type Key = (StateSpace, bool, u64, bool, Option<(ValueId, bool)>);

/// The accesses of each block that could be vectors: for certain, and if pointers that a kernel gets are aligned.
pub(super) fn adjacent(context: &Context<'_>, all: &[Access]) -> [Vec<Adjacent>; 2] {
    let mut found = Found {
        context,
        all,
        certain: Vec::new(),
        likely: Vec::new(),
    };
    let mut open: BTreeMap<Key, Vec<Group>> = BTreeMap::new();
    let mut block: Option<BlockId> = None;
    let mut before = None;
    for (index, access) in all.iter().enumerate() {
        let here = context.block(access.stmt);
        if here != block || before.is_some_and(|stmt| context.orders(stmt, access.stmt)) {
            found.close(&mut open);
            block = here;
        }
        before = Some(access.stmt);
        let key = context.key(access);
        if access.access.writes() || key.is_none() {
            // What it may change is not read or written later than it was.
            let others = |k: &Key| access.access.writes() || k.1;
            let keys: Vec<Key> = open.keys().copied().filter(others).collect();
            for other in keys.into_iter().filter(|k| Some(*k) != key) {
                if let Some(groups) = open.remove(&other) {
                    found.finish(groups);
                }
            }
        } else {
            // Stores are not moved after a read of what they may write.
            let keys: Vec<Key> = open.keys().copied().filter(|k| k.1).collect();
            for other in keys {
                if let Some(groups) = open.remove(&other) {
                    found.finish(groups);
                }
            }
        }
        if let (Some(key), Some(form)) = (key, access.address) {
            let groups = open.entry(key).or_default();
            found.add(groups, (index, &form), key);
        }
    }
    found.close(&mut open);
    [found.certain, found.likely]
}

fn key(access: &Access, guard: Option<(ValueId, bool)>) -> Option<Key> {
    let Space::State(space) = access.space else {
        return None;
    };
    let bytes = access.access.bytes?;
    let read_only = access.access.proxy == Proxy::ReadOnly;
    let weak = access.access.proxy == Proxy::Generic && access.access.order == Some(Modifier::Weak);
    let plain = (weak || read_only)
        && matches!(access.access.access, Usage::Read | Usage::Write)
        && access.access.data.is_some();
    let vectors = matches!(
        space.base(),
        StateSpace::Global | StateSpace::Shared | StateSpace::Local | StateSpace::Const
    );
    let writes = access.access.writes();
    (plain && vectors && bytes < LONGEST && bytes.is_power_of_two()).then_some((
        space.base(),
        writes,
        bytes,
        read_only,
        guard,
    ))
}

/// What was found so far.
struct Found<'a> {
    context: &'a Context<'a>,
    all: &'a [Access],
    certain: Vec<Adjacent>,
    likely: Vec<Adjacent>,
}

impl Found<'_> {
    fn add(
        &mut self,
        groups: &mut Vec<Group>,
        (index, form): (usize, &Affine),
        (_, writes, bytes, ..): Key,
    ) {
        let base = form.without_constant();
        let candidate = Candidate {
            index,
            offset: form.constant(),
            bytes,
        };
        if writes && groups.iter().any(|g| g.base != Some(base)) {
            // It may write what another store writes, which is not moved after it.
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
            let found = self.certain.len();
            let alignment = |c: &Candidate| self.all.get(c.index).map_or(1, |a| a.alignment);
            let certain: Vec<Adjacent> = divide(&group.candidates, alignment);
            self.certain.extend(certain);
            if self.certain.len() == found {
                self.likely.extend(self.element(&group));
            }
        }
    }

    /// All accesses of a group, if they are the element of each thread in what a parameter points to.
    fn element(&self, group: &Group) -> Option<Adjacent> {
        let values = self.context.values;
        let (base, _) = values.without_wrap(&group.base?, 64);
        let is_index = |s| matches!(values.symbol(s), Some(Symbol::Special(SpecialReg::Tid, 0)));
        let index = base.terms().iter().find(|t| is_index(t.symbol))?;
        let step = u64::try_from(index.factor).ok();
        let step = step.filter(|step| *step <= LONGEST && step.is_power_of_two())?;
        let mut pointers = 0;
        for term in base.terms() {
            match values.symbol(term.symbol)? {
                Symbol::Parameter { bytes: 8, .. } if values.is_kernel() && term.factor == 1 => {
                    pointers += 1;
                }
                _ if term.factor.unsigned_abs() % step == 0 => {}
                _ => return None,
            }
        }
        if pointers != 1 {
            return None;
        }
        let found = divide(&group.candidates, |c| {
            let alignment = c.offset.rem_euclid(step as i64);
            if alignment == 0 { step } else { c.bytes }
        });
        match <[Adjacent; 1]>::try_from(found) {
            Ok([only]) if only.bytes == step => Some(only),
            _ => None,
        }
    }
}

/// Divides accesses in the order of their addresses into vectors.
fn divide(candidates: &[Candidate], alignment: impl Fn(&Candidate) -> u64) -> Vec<Adjacent> {
    let mut found = Vec::new();
    let mut rest = candidates;
    while let Some(first) = rest.first() {
        let most = (LONGEST.min(alignment(first)) / first.bytes).min(4) as usize;
        let run = rest.iter().zip(0i64..).take_while(|(c, n)| {
            let next = first
                .offset
                .wrapping_add(n.wrapping_mul(first.bytes as i64));
            c.offset == next
        });
        let run = run.count().min(most.max(1));
        // Two or four elements.
        let length = 1usize << run.ilog2();
        let (vector, others) = rest.split_at(length);
        if length > 1 {
            found.push(Adjacent {
                accesses: vector.iter().map(|c| c.index).collect(),
                bytes: first.bytes * length as u64,
            });
        }
        rest = others;
    }
    found
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
        key(access, guard)
            .filter(|(space, ..)| *space != StateSpace::Const || !self.is_constant(access))
    }

    /// Whether the address is known when the code is compiled: constants at such addresses are operands of instructions.
    fn is_constant(&self, access: &Access) -> bool {
        access.address.is_none_or(|form| {
            let mut terms = form.terms().iter();
            terms.all(|t| matches!(self.values.symbol(t.symbol), Some(Symbol::Variable(_))))
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
