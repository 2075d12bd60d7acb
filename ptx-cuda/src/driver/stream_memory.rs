//! Operations of streams on single values in memory.

use crate::abi::graph::StreamMemoryOperation;
use crate::call::enqueue;
use crate::caller;
use crate::handles::Raw;
use crate::state::{Condition, Driver, MemoryOperation, Operation, Reduction, Value, Wait};
use crate::status::{Outcome, Status};

/// The numbers of kinds of operations, and their flags.
mod kind {
    pub(super) const WAIT_32: u32 = 1;
    pub(super) const WRITE_32: u32 = 2;
    pub(super) const FLUSH_REMOTE_WRITES: u32 = 3;
    pub(super) const WAIT_64: u32 = 4;
    pub(super) const WRITE_64: u32 = 5;
    pub(super) const BARRIER: u32 = 6;
    pub(super) const REDUCTION: u32 = 8;
    /// The flag of waits that also wait for writes of other devices.
    pub(super) const FLUSH: u32 = 1 << 30;
    /// The types of reductions of 32 and of 64 bits.
    pub(super) const UNSIGNED_32: u32 = 0b1110;
    pub(super) const UNSIGNED_64: u32 = 0b1_0110;
}

/// The conditions of waits, and their numbers.
const CONDITIONS: [(u32, Condition); 4] = [
    (0, Condition::AtLeast),
    (1, Condition::Equal),
    (2, Condition::AnyBit),
    (3, Condition::AnyBitOfNeither),
];

/// The reductions, and their numbers.
const REDUCTIONS: [(u32, Reduction); 3] =
    [(0, Reduction::Add), (5, Reduction::And), (6, Reduction::Or)];

fn wait_for(operand: Value, flags: u32) -> Outcome<MemoryOperation> {
    let mut conditions = CONDITIONS.iter();
    let number = flags & !kind::FLUSH;
    let condition = conditions.find(|(flag, _)| *flag == number);
    let (_, condition) = *condition.ok_or(Status::INVALID_VALUE)?;
    Ok(MemoryOperation::Wait(Wait { operand, condition }))
}

fn write(operand: Value, flags: u32) -> Outcome<MemoryOperation> {
    if flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(MemoryOperation::Write(operand))
}

/// A value of 4 or 8 bytes.
const fn value(address: u64, width: u64, value: u64) -> Value {
    let value = if width == 4 {
        value as u32 as u64
    } else {
        value
    };
    Value {
        address,
        width,
        value,
    }
}

/// The operation that a program describes.
fn operation(given: &StreamMemoryOperation) -> Outcome<MemoryOperation> {
    let [first, second, third, fourth, ..] = given.words;
    let low = |word: u64| word as u32;
    let high = |word: u64| (word >> 32) as u32;
    match low(first) {
        kind::WAIT_32 => wait_for(value(second, 4, third), low(fourth)),
        kind::WAIT_64 => wait_for(value(second, 8, third), low(fourth)),
        kind::WRITE_32 => write(value(second, 4, third), low(fourth)),
        kind::WRITE_64 => write(value(second, 8, third), low(fourth)),
        kind::FLUSH_REMOTE_WRITES | kind::BARRIER => Ok(MemoryOperation::Barrier),
        kind::REDUCTION => {
            let mut reductions = REDUCTIONS.iter();
            let reduction = reductions.find(|(number, _)| *number == low(second));
            let (_, reduction) = *reduction.ok_or(Status::INVALID_VALUE)?;
            let width = match high(second) {
                kind::UNSIGNED_32 => 4,
                kind::UNSIGNED_64 => 8,
                _ => return Err(Status::INVALID_VALUE),
            };
            Ok(MemoryOperation::Reduce(
                reduction,
                value(third, width, fourth),
            ))
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The description of an operation.
pub(super) fn description(operation: &MemoryOperation) -> StreamMemoryOperation {
    let mut words = [0; 6];
    let number_of = |width: u64, narrow: u32, wide: u32| if width == 4 { narrow } else { wide };
    match operation {
        MemoryOperation::Wait(Wait { operand, condition }) => {
            words[0] = number_of(operand.width, kind::WAIT_32, kind::WAIT_64).into();
            words[1] = operand.address;
            words[2] = operand.value;
            let mut conditions = CONDITIONS.iter();
            let flag = conditions.find(|(_, other)| other == condition);
            words[3] = flag.map_or(0, |(flag, _)| (*flag).into());
        }
        MemoryOperation::Write(operand) => {
            words[0] = number_of(operand.width, kind::WRITE_32, kind::WRITE_64).into();
            words[1] = operand.address;
            words[2] = operand.value;
        }
        MemoryOperation::Reduce(reduction, operand) => {
            words[0] = kind::REDUCTION.into();
            let mut reductions = REDUCTIONS.iter();
            let number = reductions.find(|(_, other)| other == reduction);
            let number = number.map_or(0, |(number, _)| u64::from(*number));
            let width = number_of(operand.width, kind::UNSIGNED_32, kind::UNSIGNED_64);
            words[1] = number | u64::from(width) << 32;
            words[2] = operand.address;
            words[3] = operand.value;
        }
        MemoryOperation::Barrier => words[0] = kind::BARRIER.into(),
    }
    StreamMemoryOperation { words }
}

/// The operations that a program describes. There are at most 256.
pub(super) fn operations(
    driver: &Driver,
    count: u32,
    given: *const StreamMemoryOperation,
    flags: u32,
) -> Outcome<Vec<MemoryOperation>> {
    const LIMIT: u32 = 256;
    if count > LIMIT || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let given = caller::slice(given, count as usize)?;
    let operations = given.iter().map(|given| {
        let operation = operation(given)?;
        match &operation {
            MemoryOperation::Wait(Wait { operand, .. })
            | MemoryOperation::Write(operand)
            | MemoryOperation::Reduce(_, operand) => driver.check_value(operand)?,
            MemoryOperation::Barrier => {}
        }
        Ok(operation)
    });
    operations.collect()
}

/// The result of a function that appends one operation to a stream.
fn append(
    name: &str,
    stream: Raw,
    operand: Value,
    operation: impl FnOnce() -> Outcome<MemoryOperation>,
) -> Status {
    enqueue(name, stream, |driver| {
        driver.check_value(&operand)?;
        Ok(Operation::Memory(vec![operation()?]))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitValue32_v2(
    stream: Raw,
    address: u64,
    expected: u32,
    flags: u32,
) -> Status {
    let operand = value(address, 4, expected.into());
    append("cuStreamWaitValue32_v2", stream, operand, || {
        wait_for(operand, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitValue64_v2(
    stream: Raw,
    address: u64,
    expected: u64,
    flags: u32,
) -> Status {
    let operand = value(address, 8, expected);
    append("cuStreamWaitValue64_v2", stream, operand, || {
        wait_for(operand, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWriteValue32_v2(
    stream: Raw,
    address: u64,
    written: u32,
    flags: u32,
) -> Status {
    let operand = value(address, 4, written.into());
    append("cuStreamWriteValue32_v2", stream, operand, || {
        write(operand, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWriteValue64_v2(
    stream: Raw,
    address: u64,
    written: u64,
    flags: u32,
) -> Status {
    let operand = value(address, 8, written);
    append("cuStreamWriteValue64_v2", stream, operand, || {
        write(operand, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBatchMemOp_v2(
    stream: Raw,
    count: u32,
    parameters: *const StreamMemoryOperation,
    flags: u32,
) -> Status {
    enqueue("cuStreamBatchMemOp_v2", stream, |driver| {
        Ok(Operation::Memory(operations(
            driver, count, parameters, flags,
        )?))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitValue32(
    stream: Raw,
    address: u64,
    expected: u32,
    flags: u32,
) -> Status {
    cuStreamWaitValue32_v2(stream, address, expected, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitValue64(
    stream: Raw,
    address: u64,
    expected: u64,
    flags: u32,
) -> Status {
    cuStreamWaitValue64_v2(stream, address, expected, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWriteValue32(
    stream: Raw,
    address: u64,
    written: u32,
    flags: u32,
) -> Status {
    cuStreamWriteValue32_v2(stream, address, written, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWriteValue64(
    stream: Raw,
    address: u64,
    written: u64,
    flags: u32,
) -> Status {
    cuStreamWriteValue64_v2(stream, address, written, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBatchMemOp(
    stream: Raw,
    count: u32,
    parameters: *const StreamMemoryOperation,
    flags: u32,
) -> Status {
    cuStreamBatchMemOp_v2(stream, count, parameters, flags)
}
