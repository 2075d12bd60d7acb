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
pub(crate) enum Layout {
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

/// The bytes of the structure.
pub(crate) fn properties(driver: &Driver, layout: Layout) -> Outcome<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut align = 1;
    for line in FIELDS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, count, versions, ref sources @ ..] = fields[..] else {
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
        align = align.max(width);
        bytes.resize(bytes.len().next_multiple_of(width), 0);
        let count: usize = count.parse().map_err(|_| Status::UNKNOWN)?;
        let end = bytes.len() + width * count;
        match name {
            "name" => bytes.extend_from_slice(NAME.as_bytes()),
            "uuid" => bytes.extend_from_slice(&UUID),
            _ => {
                for source in sources.iter().take(count) {
                    let value = value(driver, source)?.to_le_bytes();
                    bytes.extend_from_slice(&value[..width]);
                }
            }
        }
        bytes.resize(end, 0);
    }
    bytes.resize(bytes.len().next_multiple_of(align), 0);
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
        caller::copy(bytes.as_ptr().addr(), result, bytes.len());
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
