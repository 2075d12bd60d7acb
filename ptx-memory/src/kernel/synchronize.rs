//! Fences and barriers.

use ptx_ir::facts::Facts;
use ptx_isa::{Action, Modifier};

use super::memory::{order, proxy, scope};
use super::step::Done;
use super::variables::Variables;
use super::{Kernel, KernelThread};
use crate::event::{AddressRange, Order};
use crate::program::{BarrierStep, Participants, Step, Value};

impl Kernel<'_> {
    pub(super) fn fence(&self, state: &mut KernelThread, facts: &Facts<'_>, guard: &Value) -> Done {
        let mut dependencies = state.control.clone();
        dependencies.extend(&guard.dependencies);
        let instruction = state.next as u32;
        let fence_order = order(facts.order());
        let is_alias = facts.has_modifier(Modifier::Alias);
        let fence_proxy = proxy(facts.proxy());
        // Fences that order only some operations have more modifiers than an order and a scope.
        let is_whole = facts.signature().is_some_and(|signature| {
            signature.modifiers().all(|modifier| {
                order(Some(modifier)) != Order::Weak
                    || matches!(
                        modifier,
                        Modifier::Cta
                            | Modifier::Cluster
                            | Modifier::Gl
                            | Modifier::Gpu
                            | Modifier::Sys
                    )
            })
        });
        state.next += 1;
        if is_alias || fence_proxy != crate::event::MemoryProxy::Generic {
            return Done::Stop(Step::ProxyFence {
                proxy: (!is_alias).then_some(fence_proxy),
                order: fence_order,
                scope: scope(facts.scope()),
                range: self.fence_range(state, facts),
                dependencies,
                instruction,
            });
        }
        if facts.has_modifier(Modifier::MbarrierInit) {
            // Only the initializations of mbarrier objects by this thread are released.
            state.released.clone_from(&state.initialized);
            return Done::Continue;
        }
        if fence_order == Order::Weak || !is_whole {
            return self.unsupported(facts);
        }
        Done::Stop(Step::Fence {
            order: fence_order,
            scope: scope(facts.scope()),
            dependencies,
            instruction,
        })
    }

    /// The bytes whose accesses a proxy fence orders: those of the state space that it names.
    fn fence_range(&self, state: &KernelThread, facts: &Facts<'_>) -> AddressRange {
        if facts.has_modifier(Modifier::Global) {
            Variables::global_range()
        } else if facts.has_modifier(Modifier::SharedCta) {
            let cta = self.places.get(state.thread).map_or(0, |place| place.cta);
            Variables::shared_range(Some(cta))
        } else if facts.has_modifier(Modifier::SharedCluster) {
            Variables::shared_range(None)
        } else {
            AddressRange::ALL
        }
    }

    pub(super) fn barrier(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        action: Action,
        guard: &Value,
    ) -> Done {
        let is_cluster = matches!(action, Action::ClusterArrive | Action::ClusterWait);
        let mut values = Vec::new();
        if !is_cluster {
            for number in 0..facts.sources().count() {
                let Some(value) = self.numbered_source(state, facts, number) else {
                    return self.unsupported(facts);
                };
                if value.bits.is_none() {
                    return Done::Stop(Step::Blocked(value.dependencies));
                }
                state.control.extend(&value.dependencies);
                values.push(value.bits.unwrap_or(0) as u64);
            }
        }
        // The last source of a reduction is the predicate, which does not select the barrier.
        let exchange = match action {
            Action::BarrierReduce => values.pop().map(u128::from),
            _ => None,
        };
        let participants = match values.get(1) {
            _ if is_cluster => Participants::Cluster,
            Some(&count) if count < u64::from(self.launch.threads) => {
                Participants::Count(count as u32)
            }
            _ => Participants::Cta,
        };
        let mut dependencies = state.control.clone();
        dependencies.extend(&guard.dependencies);
        let instruction = state.next as u32;
        if exchange.is_none() {
            state.next += 1;
        }
        Done::Stop(Step::Barrier(BarrierStep {
            barrier: values.first().copied().unwrap_or(0),
            participants,
            arrives: action != Action::ClusterWait,
            waits: action != Action::BarrierArrive && action != Action::ClusterArrive,
            exchange,
            // A relaxed arrival orders no memory accesses, but fences before it do.
            orders: !facts.has_modifier(Modifier::Relaxed),
            released: state.released.clone(),
            dependencies,
            instruction,
        }))
    }

    /// A barrier of the threads of a warp that a mask selects.
    pub(super) fn warp_barrier(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        guard: &Value,
    ) -> Done {
        let Some(mask) = self.numbered_source(state, facts, 0) else {
            return self.unsupported(facts);
        };
        let Some(bits) = mask.bits else {
            return Done::Stop(Step::Blocked(mask.dependencies));
        };
        let mut dependencies = state.control.clone();
        dependencies.extend(&guard.dependencies);
        dependencies.extend(&mask.dependencies);
        let (warp, members) = self.members(state, bits as u32);
        let instruction = state.next as u32;
        state.next += 1;
        Done::Stop(Step::Barrier(BarrierStep {
            // Named barriers have smaller numbers.
            barrier: 1 << 63 | u64::from(warp) << 32 | u64::from(members),
            participants: Participants::Group(members.count_ones()),
            arrives: true,
            waits: true,
            exchange: None,
            orders: true,
            released: Vec::new(),
            dependencies,
            instruction,
        }))
    }
}
