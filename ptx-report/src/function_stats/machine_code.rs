//! Figures of the machine code, which only ptxas knows.

use serde::Serialize;

/// What ptxas reports of a function.
#[derive(Default, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineCode {
    /// Registers of a thread; absent for a function that is not a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u64>,
    /// Bytes of the stack frame of a thread.
    pub stack_bytes: u64,
    /// Bytes of registers that are stored to local memory.
    pub spill_store_bytes: u64,
    /// Bytes of registers that are loaded from local memory.
    pub spill_load_bytes: u64,
    /// Bytes of static shared memory.
    pub shared_bytes: u64,
    /// Named barriers.
    pub barriers: u64,
}
