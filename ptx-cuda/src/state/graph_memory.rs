//! Memory that nodes of graphs allocate. Its address is that of the node's creation, and stays reserved as long as the graph or an executable graph exists.

use super::{AllocationKind, Driver, Operation};
use crate::status::{Outcome, Status};

/// Memory that a node of a graph allocates.
#[derive(Copy, Clone, Debug)]
pub(crate) struct GraphMemory {
    bytes: u64,
    /// Whether a launch has allocated it, and nothing has freed it since.
    pub(crate) is_allocated: bool,
    /// The number of graphs and executable graphs with the node.
    holders: u32,
}

/// The bytes that graphs use, now and at most.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct GraphMemoryUse {
    pub(crate) used: u64,
    pub(crate) used_most: u64,
    pub(crate) reserved: u64,
    pub(crate) reserved_most: u64,
}

impl Driver {
    /// Reserves memory for a new node.
    pub(crate) fn reserve_graph_memory(&mut self, bytes: u64) -> Outcome<u64> {
        let address = self.allocate_in_order(bytes, AllocationKind::Device)?;
        let memory = GraphMemory {
            bytes,
            is_allocated: false,
            holders: 1,
        };
        self.graph_memory.insert(address, memory);
        let usage = &mut self.graph_memory_use;
        usage.reserved += bytes;
        usage.reserved_most = usage.reserved_most.max(usage.reserved);
        Ok(address)
    }

    /// Adds a holder of memory of a graph.
    pub(super) fn hold_graph_memory(&mut self, address: u64) {
        if let Some(memory) = self.graph_memory.get_mut(&address) {
            memory.holders += 1;
        }
    }

    /// Removes a holder of memory of a graph. Without holders, the memory is freed when it is not allocated.
    pub(crate) fn release_graph_memory(&mut self, address: u64) {
        if let Some(memory) = self.graph_memory.get_mut(&address) {
            memory.holders -= 1;
            self.return_graph_memory(address);
        }
    }

    /// Allocates memory of a graph, as a launch does.
    pub(super) fn allocate_graph_memory(&mut self, address: u64) -> Outcome<()> {
        let memory = self.graph_memory.get_mut(&address);
        let memory = memory.ok_or(Status::INVALID_VALUE)?;
        if !memory.is_allocated {
            memory.is_allocated = true;
            let usage = &mut self.graph_memory_use;
            usage.used += memory.bytes;
            usage.used_most = usage.used_most.max(usage.used);
        }
        Ok(())
    }

    /// The operation of a node that frees memory of a graph.
    pub(crate) fn graph_free(&self, address: u64) -> Outcome<Operation> {
        match self.graph_memory.get(&address) {
            Some(_) => Ok(Operation::Free(address)),
            None => Err(Status::INVALID_VALUE),
        }
    }

    /// Frees memory of a graph, and returns whether the address is one.
    pub(super) fn free_graph_memory(&mut self, address: u64) -> Outcome<bool> {
        let Some(memory) = self.graph_memory.get_mut(&address) else {
            return Ok(false);
        };
        if !memory.is_allocated {
            return Err(Status::INVALID_VALUE);
        }
        memory.is_allocated = false;
        self.graph_memory_use.used -= memory.bytes;
        self.return_graph_memory(address);
        Ok(true)
    }

    /// Frees memory that is neither allocated nor held.
    fn return_graph_memory(&mut self, address: u64) {
        let memory = self.graph_memory.get(&address);
        if let Some(memory) = memory.filter(|memory| memory.holders == 0 && !memory.is_allocated) {
            self.graph_memory_use.reserved -= memory.bytes;
            self.graph_memory.remove(&address);
            let _ = self.free(address);
        }
    }

    /// Whether a launch has allocated memory of a graph that nothing has freed since.
    pub(super) fn is_graph_memory_allocated(&self, address: u64) -> bool {
        let memory = self.graph_memory.get(&address);
        memory.is_some_and(|memory| memory.is_allocated)
    }
}
