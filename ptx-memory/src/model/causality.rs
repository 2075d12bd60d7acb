//! Causality order.

use super::{Relations, Version};
use crate::event::{Event, EventKind, MemoryProxy, Order};
use crate::execution::Execution;
use crate::relation::Relation;

/// The causality orders of an execution (8.9.5).
#[derive(Clone, Debug)]
pub struct Causality {
    /// Base causality order.
    pub base: Relation,
    /// Causality order of memory operations.
    pub order: Relation,
}

impl Causality {
    /// The causality orders with this Fence-SC order.
    #[must_use]
    pub fn new(
        execution: &Execution,
        relations: &Relations,
        version: Version,
        fence_sc: &Relation,
    ) -> Self {
        let base = base_causality(relations, fence_sc);
        let order = match version {
            Version::Ptx60 => causality_of_6_0(relations, fence_sc),
            Version::Ptx75 => {
                let preserved = proxy_preserved(execution, &base);
                causality(relations, &preserved)
            }
        };
        Self { base, order }
    }
}

/// Base causality order (8.9.5): the transitive closure of program order and of the pairs that synchronize, possibly before the start of an
/// asynchronous operation (8.9.1.1).
fn base_causality(relations: &Relations, fence_sc: &Relation) -> Relation {
    let mut result = relations.program_order.union(&relations.synchronizes);
    result.extend(fence_sc);
    result.close();
    if !relations.starts.is_empty() {
        let started = result.then(&relations.starts);
        result.extend(&started);
        result.extend(&relations.starts);
    }
    result
}

/// Causality order (8.9.5): proxy-preserved base causality order, possibly after observation order.
fn causality(relations: &Relations, preserved: &Relation) -> Relation {
    relations.observation.then(preserved).union(preserved)
}

/// Causality order in the PTX ISA manual of version 6.0: program order alone orders nothing; after an observation, it orders accesses of the
/// same location.
fn causality_of_6_0(relations: &Relations, fence_sc: &Relation) -> Relation {
    let synchronizes = relations.synchronizes.union(fence_sc);
    let mut base = synchronizes.union(&relations.program_order.then(&synchronizes));
    base = base.union(&base.then(&relations.program_order));
    base.close();
    let after_observation = base.union(&relations.program_order_of_location);
    relations.observation.then(&after_observation).union(&base)
}

/// Proxy-preserved base causality order (8.9.5), with the proxy fences of other proxies than the generic one, as the PTX ISA manual describes
/// them with `fence.proxy`: a path from or to an access by another proxy leads through a fence of that proxy in the CTA of the access.
fn proxy_preserved(execution: &Execution, base: &Relation) -> Relation {
    let has_fences = execution
        .events
        .iter()
        .any(|event| matches!(event.kind, EventKind::ProxyFence { .. }));
    base.filtered(|first, second| {
        let (Some(x), Some(y)) = (execution.event(first), execution.event(second)) else {
            return false;
        };
        let (Some(one), Some(other)) = (x.location(), y.location()) else {
            return false;
        };
        if !one.shares_bytes(other) {
            return false;
        }
        if one.mapping == other.mapping && is_direct(execution, x, y) {
            return true;
        }
        has_fences && has_fenced_path(execution, base, (first, x), (second, y))
    })
}

/// Whether no proxy fence is necessary between two accesses of one address.
fn is_direct(execution: &Execution, x: &Event, y: &Event) -> bool {
    let (one, other) = (execution.place(x), execution.place(y));
    x.proxy == y.proxy
        && (x.proxy == MemoryProxy::Generic || (one.cta == other.cta && one.gpu == other.gpu))
}

/// Whether a path in base causality order leads through the proxy fences that two accesses of the same bytes need.
fn has_fenced_path(
    execution: &Execution,
    base: &Relation,
    (first, x): (usize, &Event),
    (second, y): (usize, &Event),
) -> bool {
    let reaches = |a: usize, b: usize| a == b || base.contains(a, b);
    let needs_alias = match (x.location(), y.location()) {
        (Some(one), Some(other)) => one.mapping != other.mapping,
        _ => false,
    };
    let fences_of = |access: &Event, is_wanted: &dyn Fn(usize, &Event) -> bool| -> Vec<usize> {
        execution
            .events
            .iter()
            .enumerate()
            .filter(|(number, fence)| {
                is_fence_of(execution, fence, access) && is_wanted(*number, fence)
            })
            .map(|(number, _)| number)
            .collect()
    };
    let starts = if x.proxy == MemoryProxy::Generic {
        vec![first]
    } else {
        fences_of(x, &|fence, _| base.contains(first, fence))
    };
    let ends = if y.proxy == MemoryProxy::Generic {
        vec![second]
    } else {
        fences_of(y, &|fence, event| {
            base.contains(fence, second) && event.order != Order::Release
        })
    };
    let aliases: Vec<usize> = execution
        .events
        .iter()
        .enumerate()
        .filter(|(_, event)| matches!(event.kind, EventKind::ProxyFence { is_alias: true, .. }))
        .map(|(number, _)| number)
        .collect();
    starts.iter().any(|&start| {
        ends.iter().any(|&end| {
            if needs_alias {
                aliases
                    .iter()
                    .any(|&alias| base.contains(start, alias) && base.contains(alias, end))
            } else {
                reaches(start, end)
            }
        })
    })
}

/// Whether a fence is a fence of the proxy of an access, in the same CTA.
fn is_fence_of(execution: &Execution, fence: &Event, access: &Event) -> bool {
    let (one, other) = (execution.place(fence), execution.place(access));
    let orders_access = match (fence.kind, access.location()) {
        (EventKind::ProxyFence { is_alias, range }, Some(location)) => {
            !is_alias && range.contains(location)
        }
        _ => false,
    };
    orders_access && fence.proxy == access.proxy && one.cta == other.cta && one.gpu == other.gpu
}
