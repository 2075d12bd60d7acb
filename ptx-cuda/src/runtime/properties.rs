//! The properties of the device: a structure that CUDA 12 and CUDA 13 declare with other fields.

use super::call::without_context;
use super::version::{Major, major};
use crate::caller;
use crate::driver::device::{NAME, UUID, check_device};
use crate::state::Driver;
use crate::state::attributes::attribute;
use crate::status::{Outcome, Status};

/// The fields of the structure in their order: the name, the type, the number of elements, the versions of CUDA with the field, and the values.
const FIELDS: &str = include_str!("../../api/device_properties.txt");

/// A version of the structure.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// The first fields of that of CUDA 12, as earlier versions have them.
    Eleven,
    Twelve,
    Thirteen,
}

/// The field after the last one of CUDA 11.
const FIRST_OF_TWELVE: &str = "hostRegisterSupported";

/// A value of a field: an attribute of the device, or a number.
fn value(driver: &Driver, source: &str) -> Outcome<u64> {
    if source == "total" {
        return Ok(driver.memory.total);
    }
    let unknown = Status::UNKNOWN;
    match source.strip_prefix('@') {
        Some(number) => {
            let number = number.parse().map_err(|_| unknown)?;
            Ok(attribute(driver, number)? as u64)
        }
        None => source.parse().map_err(|_| unknown),
    }
}

/// A field of the structure.
#[derive(Debug)]
struct Field {
    name: &'static str,
    /// The bytes before it.
    offset: usize,
    /// The bytes of an element.
    width: usize,
    /// The number of elements.
    count: usize,
    /// The values of the first elements; the others are 0.
    sources: Vec<&'static str>,
}

/// The fields of a layout. A line that is not one of a field is skipped.
fn fields(layout: Layout) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut end: usize = 0;
    for line in FIELDS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(kind), Some(count), Some(versions)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        match (layout, versions) {
            (Layout::Eleven, _) if name == FIRST_OF_TWELVE => break,
            (Layout::Thirteen, "12") | (Layout::Eleven | Layout::Twelve, "13") => continue,
            _ => {}
        }
        let width = match kind {
            "size" => 8,
            "int" => 4,
            _ => 1,
        };
        let offset = end.next_multiple_of(width);
        let count = count.parse().unwrap_or(1);
        end = offset + width * count;
        fields.push(Field {
            name,
            offset,
            width,
            count,
            sources: words.collect(),
        });
    }
    fields
}

/// The alignment of the structure, which contains numbers of 8 bytes.
const ALIGN: usize = 8;

/// The bytes of the structure.
fn properties(driver: &Driver, layout: Layout) -> Outcome<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    for field in fields(layout) {
        bytes.resize(field.offset, 0);
        match field.name {
            "name" => bytes.extend_from_slice(NAME.as_bytes()),
            "uuid" => bytes.extend_from_slice(&UUID),
            _ => {
                for source in field.sources.iter().take(field.count) {
                    let value = value(driver, source)?.to_le_bytes();
                    bytes.extend_from_slice(&value[..field.width]);
                }
            }
        }
        bytes.resize(field.offset + field.width * field.count, 0);
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    Ok(bytes)
}

/// The result of a function that writes the structure to memory of the program.
fn write(name: &str, result: usize, device: i32, layout: Layout) -> Status {
    without_context(name, |driver| {
        if result == 0 {
            return Err(Status::INVALID_VALUE);
        }
        check_device(device)?;
        let bytes = properties(driver, layout)?;
        caller::put(&bytes, result);
        Ok(())
    })
}

/// The function of CUDA 13, and that of CUDA 11, whose name programs for CUDA 12 do not use.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties(result: usize, device: i32) -> Status {
    let layout = match major() {
        Major::Twelve => Layout::Eleven,
        Major::Thirteen => Layout::Thirteen,
    };
    write("cudaGetDeviceProperties", result, device, layout)
}

/// The function of CUDA 12.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties_v2(result: usize, device: i32) -> Status {
    write("cudaGetDeviceProperties_v2", result, device, Layout::Twelve)
}

/// The names and the offsets of the fields of a layout, for a test.
#[cfg(test)]
pub(super) fn offsets(layout: Layout) -> Vec<(&'static str, usize)> {
    let fields = fields(layout).into_iter();
    fields.map(|field| (field.name, field.offset)).collect()
}
