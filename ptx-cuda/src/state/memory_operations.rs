//! Operations of streams on single values in memory.

use std::fmt;

use super::Driver;
use crate::caller;
use crate::status::{Outcome, Status};

/// An operation of a stream on a value in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum MemoryOperation {
    Wait(Wait),
    Write(Value),
    /// Combines the value in memory with another one.
    Reduce(Reduction, Value),
    /// Orders accesses to memory, which is always the case.
    Barrier,
}

/// A place in memory and a value.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    pub(crate) address: u64,
    /// The bytes of the value: 4 or 8.
    pub(crate) width: u64,
    pub(crate) value: u64,
}

/// A wait for a value in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    pub(crate) operand: Value,
    pub(crate) condition: Condition,
}

/// The condition that the value in memory has to meet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// The difference to the operand, as a signed number, is not negative.
    AtLeast,
    Equal,
    /// A bit is set in both.
    AnyBit,
    /// A bit is set in neither.
    AnyBitOfNeither,
}

/// How a value in memory and another one are combined.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reduction {
    Or,
    And,
    Add,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Value {
            address,
            width,
            value,
        } = self.operand;
        let condition = match self.condition {
            Condition::AtLeast => "to be at least",
            Condition::Equal => "to be",
            Condition::AnyBit => "to have a bit of",
            Condition::AnyBitOfNeither => "to lack a bit that is not in",
        };
        write!(
            f,
            "the {width} bytes at {address:#x} {condition} {value:#x}"
        )
    }
}

impl Driver {
    /// Checks the place of a value.
    pub(crate) fn check_value(&self, operand: &Value) -> Outcome<()> {
        let address = self.device_address(operand.address)?;
        if !address.is_multiple_of(operand.width) {
            return Err(Status::INVALID_VALUE);
        }
        self.memory.check(address, operand.width)
    }

    /// The address in this process of a value.
    fn view_of_value(&self, operand: &Value) -> Outcome<usize> {
        let address = self.device_address(operand.address)?;
        self.memory.view(address, operand.width)
    }

    /// The value in memory.
    fn value_in_memory(&self, operand: &Value) -> Outcome<u64> {
        let view = self.view_of_value(operand)?;
        if operand.width == 4 {
            Ok(caller::read::<u32>(view as *const u32)?.into())
        } else {
            caller::read(view as *const u64)
        }
    }

    /// Whether an operation need not wait.
    pub(super) fn is_met(&self, operation: &MemoryOperation) -> Outcome<bool> {
        let MemoryOperation::Wait(Wait { operand, condition }) = operation else {
            return Ok(true);
        };
        let in_memory = self.value_in_memory(operand)?;
        Ok(match condition {
            Condition::AtLeast if operand.width == 4 => {
                (in_memory as u32).wrapping_sub(operand.value as u32) as i32 >= 0
            }
            Condition::AtLeast => in_memory.wrapping_sub(operand.value) as i64 >= 0,
            Condition::Equal => in_memory == operand.value,
            Condition::AnyBit => in_memory & operand.value != 0,
            Condition::AnyBitOfNeither => {
                let mask = if operand.width == 4 {
                    u64::from(u32::MAX)
                } else {
                    u64::MAX
                };
                !(in_memory | operand.value) & mask != 0
            }
        })
    }

    /// Performs operations up to the first one that has to wait, and returns it and those after it.
    pub(super) fn perform_memory_operations(
        &mut self,
        mut operations: Vec<MemoryOperation>,
    ) -> Outcome<Vec<MemoryOperation>> {
        for index in 0..operations.len() {
            let operation = operations[index];
            if !self.is_met(&operation)? {
                return Ok(operations.split_off(index));
            }
            match operation {
                MemoryOperation::Wait(_) | MemoryOperation::Barrier => {}
                MemoryOperation::Write(value) => self.write_value(value)?,
                MemoryOperation::Reduce(reduction, mut value) => {
                    let in_memory = self.value_in_memory(&value)?;
                    value.value = match reduction {
                        Reduction::Or => in_memory | value.value,
                        Reduction::And => in_memory & value.value,
                        Reduction::Add => in_memory.wrapping_add(value.value),
                    };
                    self.write_value(value)?;
                }
            }
        }
        Ok(Vec::new())
    }

    /// Writes a value to memory.
    fn write_value(&mut self, operand: Value) -> Outcome<()> {
        let view = self.view_of_value(&operand)?;
        let bytes = operand.value.to_le_bytes();
        caller::copy(
            bytes.as_ptr().expose_provenance(),
            view,
            operand.width as usize,
        );
        let address = self.device_address(operand.address)?;
        self.device.set_written(address, operand.width);
        Ok(())
    }
}
