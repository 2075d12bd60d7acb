//! Batches of copies. The copies of a batch are performed in their order, and the default stream is accepted. The order of accesses and the places of memory are hints,
//! which have no effect.

use crate::abi::arrays::{BatchCopy, BatchOperand, CopyAttributes, operand_type};
use crate::call::enqueue;
use crate::caller::{Out, given, set_if_wanted, slice};
use crate::handles::Raw;
use crate::state::{Copy, Driver, Operation, Place, Region};
use crate::status::{Outcome, Status};

/// The greatest number of `CUmemcpySrcAccessOrder`; 0 is not valid.
const LAST_ORDER: u32 = 3;

/// The result of a function that appends a copy to a stream.
fn append(name: &str, stream: Raw, copy: impl FnOnce(&Driver) -> Outcome<Copy>) -> Status {
    enqueue(name, stream, |driver| {
        let copy = copy(driver)?;
        driver.check_copy(&copy)?;
        Ok(Operation::Copy(copy))
    })
}

/// The result of a function that appends copies to a stream, up to the first one that fails, whose number is the second result.
fn append_all(count: usize, append: impl Fn(usize) -> Status) -> (Status, usize) {
    let results = (0..count).map(|index| (append(index), index));
    let mut failed = results.filter(|(status, _)| *status != Status::SUCCESS);
    failed.next().unwrap_or((Status::SUCCESS, usize::MAX))
}

/// Checks the attributes of copies, the first of which begin at copy 0.
fn check_attributes(
    attributes: *const CopyAttributes,
    starts: *const usize,
    attribute_count: usize,
    count: usize,
) -> Outcome<()> {
    let attributes = slice(attributes, attribute_count)?;
    let starts = slice(starts, attribute_count)?;
    let orders = attributes.iter().map(|attribute| attribute.source_order);
    let is_valid = starts.first() == Some(&0)
        && starts.is_sorted_by(|first, second| first < second)
        && starts.iter().all(|start| *start < count)
        && orders.into_iter().all(is_order);
    if is_valid {
        Ok(())
    } else {
        Err(Status::INVALID_VALUE)
    }
}

fn is_order(order: u32) -> bool {
    (1..=LAST_ORDER).contains(&order)
}

/// Addresses and sizes of copies.
struct Lists {
    to: *const u64,
    from: *const u64,
    bytes: *const usize,
    count: usize,
}

/// The attributes of copies, and the numbers of the copies from which on they apply.
struct Attributes {
    attributes: *const CopyAttributes,
    starts: *const usize,
    count: usize,
}

fn linear_batch(
    name: &str,
    lists: &Lists,
    attributes: &Attributes,
    stream: Raw,
) -> (Status, usize) {
    let all = || {
        check_attributes(
            attributes.attributes,
            attributes.starts,
            attributes.count,
            lists.count,
        )?;
        let [to, from] = [
            slice(lists.to, lists.count)?,
            slice(lists.from, lists.count)?,
        ];
        Ok((to, from, slice(lists.bytes, lists.count)?))
    };
    match all() {
        Err(status) => (crate::call::plain(name, || Err(status)), usize::MAX),
        Ok((to, from, bytes)) => append_all(lists.count, |index| {
            append(name, stream, |_| {
                Ok(Copy::linear(from[index], to[index], bytes[index] as u64))
            })
        }),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyBatchAsync_v2(
    to: *const u64,
    from: *const u64,
    bytes: *const usize,
    count: usize,
    attributes: *const CopyAttributes,
    starts: *const usize,
    attribute_count: usize,
    stream: Raw,
) -> Status {
    let lists = Lists {
        to,
        from,
        bytes,
        count,
    };
    let attributes = Attributes {
        attributes,
        starts,
        count: attribute_count,
    };
    linear_batch("cuMemcpyBatchAsync_v2", &lists, &attributes, stream).0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyBatchAsync(
    to: *const u64,
    from: *const u64,
    bytes: *const usize,
    count: usize,
    attributes: *const CopyAttributes,
    starts: *const usize,
    attribute_count: usize,
    failed: Out<'_, usize>,
    stream: Raw,
) -> Status {
    let lists = Lists {
        to,
        from,
        bytes,
        count,
    };
    let attributes = Attributes {
        attributes,
        starts,
        count: attribute_count,
    };
    let (status, index) = linear_batch("cuMemcpyBatchAsync", &lists, &attributes, stream);
    set_if_wanted(failed, index);
    status
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyWithAttributesAsync(
    to: u64,
    from: u64,
    bytes: usize,
    attributes: Option<&CopyAttributes>,
    stream: Raw,
) -> Status {
    append("cuMemcpyWithAttributesAsync", stream, |_| {
        if !is_order(given(attributes)?.source_order) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Copy::linear(from, to, bytes as u64))
    })
}

/// The place of an operand. Its sizes are in elements, as those of the copy.
fn place(operand: &BatchOperand, element: u64, [width, height]: [u64; 2]) -> Outcome<Place> {
    let invalid = Status::INVALID_VALUE;
    let [first, second, third, fourth] = operand.words;
    match operand.operand_type {
        operand_type::ARRAY => Ok(Place::Array {
            array: first as Raw,
            position: [second.checked_mul(element).ok_or(invalid)?, third, fourth],
        }),
        operand_type::POINTER => {
            let length = if second == 0 { width } else { second };
            let rows = if third == 0 { height } else { third };
            if length < width || rows < height {
                return Err(invalid);
            }
            let row = length.checked_mul(element).ok_or(invalid)?;
            Ok(Place::Address {
                address: first,
                row,
                layer: row.checked_mul(rows).ok_or(invalid)?,
            })
        }
        _ => Err(invalid),
    }
}

/// The copy of an operation of a batch.
fn batch_copy(driver: &Driver, operation: &BatchCopy) -> Outcome<Copy> {
    let invalid = Status::INVALID_VALUE;
    if !is_order(operation.source_order) || operation.extent.contains(&0) {
        return Err(invalid);
    }
    let mut element = None;
    for operand in [&operation.from, &operation.to] {
        if operand.operand_type == operand_type::ARRAY {
            let bytes = driver.array_element_bytes(operand.words[0] as Raw)?;
            if *element.get_or_insert(bytes) != bytes {
                return Err(invalid);
            }
        }
    }
    let element = element.unwrap_or(1) as u64;
    let [width, height, depth] = operation.extent.map(|size| size as u64);
    Ok(Copy {
        from: place(&operation.from, element, [width, height])?,
        to: place(&operation.to, element, [width, height])?,
        region: Region {
            bytes: width.checked_mul(element).ok_or(invalid)?,
            rows: height,
            layers: depth,
        },
    })
}

/// Appends copies of boxes. The second result is the number of the copy that fails.
pub(crate) fn shaped_batch(
    name: &str,
    count: usize,
    operations: *const BatchCopy,
    flags: u64,
    stream: Raw,
) -> (Status, usize) {
    match slice(operations, count) {
        Ok(operations) if flags == 0 => append_all(count, |index| {
            append(name, stream, |driver| {
                batch_copy(driver, &operations[index])
            })
        }),
        _ => {
            let refused = crate::call::plain(name, || Err(Status::INVALID_VALUE));
            (refused, usize::MAX)
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3DBatchAsync_v2(
    count: usize,
    operations: *const BatchCopy,
    flags: u64,
    stream: Raw,
) -> Status {
    shaped_batch("cuMemcpy3DBatchAsync_v2", count, operations, flags, stream).0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3DBatchAsync(
    count: usize,
    operations: *const BatchCopy,
    failed: Out<'_, usize>,
    flags: u64,
    stream: Raw,
) -> Status {
    let (status, index) = shaped_batch("cuMemcpy3DBatchAsync", count, operations, flags, stream);
    set_if_wanted(failed, index);
    status
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpy3DWithAttributesAsync(
    operation: *const BatchCopy,
    flags: u64,
    stream: Raw,
) -> Status {
    shaped_batch("cuMemcpy3DWithAttributesAsync", 1, operation, flags, stream).0
}
