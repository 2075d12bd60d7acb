//! Reads through other proxies than the generic one: of asynchronous operations, of tensor maps, and of data that does not change.

use ptx_ir::Code;

use super::Checker;
use super::checkers::Checkers;
use super::clock::FencedAccesses;
use super::memcheck::describe_access;
use super::racecheck::{Race, memory_name};
use super::report::{Actor, Text};
use crate::execute::{Execution, Memory, Touch, Use};
use crate::lanes::LANES;

impl Checkers {
    /// The proxy fence that an access needs after earlier writes through the generic proxy; `None` if it uses this proxy or does not read.
    pub(super) fn needed_fence(
        &self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        site: u32,
    ) -> Option<FencedAccesses> {
        if touch.usage != Use::Read || !self.has(Checker::Racecheck) {
            return None;
        }
        let site = self.sites.get(site)?;
        match self.operation {
            // Caches of textures and surfaces are not kept coherent within a launch either.
            None => (site.reads_constants || site.is_texture || site.is_surface)
                .then_some(FencedAccesses::ReadOnly),
            Some(_) => site
                .async_proxy
                .then(|| fence_of_operation(execution, touch)),
        }
    }

    /// Reports a read through another proxy of bytes that were written through the generic one, without the fence between the proxies that it needs.
    pub(super) fn report_unfenced(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        race: &Race,
        needed_fence: FencedAccesses,
    ) {
        let earlier = race.earlier.access;
        let reader = self
            .sites
            .number(execution.function_id, execution.step_index);
        let sites = std::sync::Arc::clone(&self.sites);
        let is_texture = sites.get(reader).is_some_and(|site| site.is_texture);
        let is_surface = |site| sites.get(site).is_some_and(|site| site.is_surface);
        // Accesses through one proxy by threads of one CTA are ordered without a fence.
        let is_own_block = u64::from(earlier.block) == execution.grid.linear(execution.block.index);
        if is_surface(reader) && is_surface(earlier.site) && is_own_block {
            return;
        }
        let access = describe_access(touch.usage, touch.bytes);
        let memory = memory_name(touch.memory);
        let other = Actor {
            site: earlier.site,
            block: earlier.block.into(),
            thread: u32::from(earlier.first) + race.earlier.lanes.trailing_zeros() % LANES as u32,
        };
        let address = race.address;
        let (message, help) = match needed_fence {
            FencedAccesses::ReadOnly if is_texture || is_surface(reader) => (
                format!(
                    "{access} of texels at {address:#x} through a {}, after a write of the same launch",
                    if is_texture { "texture" } else { "surface" }
                ),
                "read the texels in a later launch: within a launch, textures do not see writes, and surfaces only those through surfaces by the same CTA",
            ),
            FencedAccesses::ReadOnly => (
                format!(
                    "{access} at {address:#x} as data that does not change, after a write of the same launch"
                ),
                "use a load from global memory without `.nc`, or write the data in an earlier launch",
            ),
            FencedAccesses::TensorMaps => (
                format!(
                    "read of a tensor map at {address:#x}, without an acquiring proxy fence after an ordinary write"
                ),
                "execute `fence.proxy.tensormap::generic.acquire` after the write, and before the operation starts",
            ),
            FencedAccesses::Shared | FencedAccesses::Global => (
                format!(
                    "{access} at {address:#x} in {memory} memory by the asynchronous proxy, without a proxy fence after an ordinary write"
                ),
                "execute `fence.proxy.async` after the write, before the thread synchronizes with the one that starts the operation",
            ),
        };
        self.report(execution, Code::UnfencedProxy, race.lane, || Text {
            message,
            other: Some((other, "the ordinary write")),
            help,
        });
    }
}

/// The proxy fence that a read of an asynchronous operation needs after earlier writes. The operation may read data and a tensor map.
fn fence_of_operation(execution: &Execution<'_>, touch: &Touch<'_>) -> FencedAccesses {
    if let Memory::Shared(_) = touch.memory {
        return FencedAccesses::Shared;
    }
    let lane = touch.lanes.trailing_zeros() as usize % LANES;
    let reads_map = execution
        .tensor_map(lane)
        .is_some_and(|map| map.contains(&touch.addresses[lane]));
    if reads_map {
        FencedAccesses::TensorMaps
    } else {
        FencedAccesses::Global
    }
}
