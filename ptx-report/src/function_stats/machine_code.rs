//! Metrics of the machine code, which ptxas reports.

use serde::Serialize;

/// The metrics that ptxas reports for a function.
#[derive(Default, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineCode {
    /// The number of registers of a thread; absent for a function that is not a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u64>,
    /// The size of the stack frame of a thread in bytes.
    pub stack_bytes: u64,
    /// The number of bytes of spill stores.
    pub spill_store_bytes: u64,
    /// The number of bytes of spill loads.
    pub spill_load_bytes: u64,
    /// The size of static shared memory in bytes.
    pub shared_bytes: u64,
    /// The number of named barriers.
    pub barriers: u64,
}
