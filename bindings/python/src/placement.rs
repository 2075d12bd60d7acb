//! Buffers in the memory of a machine: those that share memory of the host share memory of the machine.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::error::Failure;
use crate::machine::State;

/// Where an element of an array is in a vector of 16 bytes is the same in the memory of the host and of the machine if arrays overlap.
const ALIGN: u64 = 16;

/// A buffer that is passed for a parameter.
struct Passed<'py> {
    /// The name of the parameter.
    parameter: String,
    buffer: Buffer<'py>,
    /// Its bytes in the memory of the host; `0..0` if it is empty.
    host: Range<u64>,
    /// Its bytes in the region.
    offsets: Range<usize>,
    region: usize,
}

/// Memory of the machine for one buffer, or for several ones that overlap.
struct Region {
    address: u64,
    size: usize,
    /// The indices of the buffers.
    members: Vec<usize>,
    /// The bytes before the launch, if one of the buffers is read-only.
    initial_bytes: Option<Vec<u8>>,
}

/// The buffers of a launch.
#[derive(Default)]
pub(crate) struct Placement<'py> {
    passed: Vec<Passed<'py>>,
    regions: Vec<Region>,
}

impl<'py> Placement<'py> {
    /// Adds a buffer that is passed for a parameter. Returns its index.
    pub(crate) fn add(&mut self, parameter: &str, buffer: Buffer<'py>) -> PyResult<usize> {
        self.passed.push(Passed {
            parameter: parameter.to_owned(),
            host: buffer.host_range()?,
            buffer,
            offsets: 0..0,
            region: 0,
        });
        Ok(self.passed.len() - 1)
    }

    /// Copies all buffers to memory of the machine.
    pub(crate) fn copy_in(&mut self, state: &mut State) -> PyResult<()> {
        let mut order: Vec<usize> = (0..self.passed.len()).collect();
        order.sort_by_key(|index| self.passed.get(*index).map(|passed| passed.host.start));
        let mut order = order.into_iter().peekable();
        while let Some(first) = order.next() {
            let Some(Passed { host, .. }) = self.passed.get(first) else {
                continue;
            };
            let (start, mut end) = (host.start, host.end);
            let mut members = vec![first];
            let mut has_other_start = false;
            while let Some(next) = order.peek().and_then(|index| self.passed.get(*index))
                && next.host.start < end
            {
                has_other_start |= next.host.start != start;
                end = end.max(next.host.end);
                members.extend(order.next());
            }
            let skipped = if has_other_start { start % ALIGN } else { 0 };
            self.copy_region(state, members, start - skipped..end)?;
        }
        Ok(())
    }

    /// Copies buffers that are in a range of the memory of the host to a new region.
    fn copy_region(
        &mut self,
        state: &mut State,
        members: Vec<usize>,
        host: Range<u64>,
    ) -> PyResult<()> {
        let size = (host.end - host.start) as usize;
        let mut bytes = vec![0; size];
        let mut has_read_only = false;
        for index in &members {
            let Some(passed) = self.passed.get_mut(*index) else {
                continue;
            };
            let offset = (passed.host.start - host.start) as usize;
            let content = passed.buffer.bytes()?;
            passed.offsets = offset..offset + content.len();
            passed.region = self.regions.len();
            has_read_only |= passed.buffer.is_read_only();
            if let Some(part) = bytes.get_mut(passed.offsets.clone()) {
                part.copy_from_slice(&content);
            }
        }
        let address = state.place(&bytes)?;
        self.regions.push(Region {
            address,
            size,
            members,
            initial_bytes: has_read_only.then_some(bytes),
        });
        Ok(())
    }

    /// The address of a buffer in the memory of the machine, after [`copy_in`](Self::copy_in).
    pub(crate) fn address(&self, index: usize) -> u64 {
        let passed = self.passed.get(index);
        let region = passed.and_then(|passed| self.regions.get(passed.region));
        match (passed, region) {
            (Some(passed), Some(region)) => region.address + passed.offsets.start as u64,
            _ => 0,
        }
    }

    /// Copies the memory of the machine to the buffers that can be changed.
    ///
    /// # Errors
    ///
    /// If the bytes of a read-only buffer changed that no other buffer contains. All others are copied.
    pub(crate) fn copy_out(&self, state: &State) -> PyResult<()> {
        let mut lost = None;
        for region in &self.regions {
            let bytes = state.machine.read(region.address, region.size);
            let lost_in_region = self.copy_region_out(region, &bytes.map_err(Failure::from)?)?;
            lost = lost.or(lost_in_region);
        }
        match lost {
            None => Ok(()),
            Some(passed) => Err(PyValueError::new_err(format!(
                "parameter `{}`: expected an array that can be changed, because the kernel writes to it, found a read-only one: pass a copy, such as numpy.array(a) or bytearray(a)",
                passed.parameter
            ))),
        }
    }

    /// Copies the bytes of a region to its buffers. Returns a read-only one that they would have changed.
    fn copy_region_out(
        &self,
        region: &Region,
        machine_bytes: &[u8],
    ) -> PyResult<Option<&Passed<'py>>> {
        let members = region.members.iter();
        let passed: Vec<_> = members.filter_map(|i| self.passed.get(*i)).collect();
        // What the memory of the host contains after the copies.
        let mut copied = region.initial_bytes.clone();
        for member in passed.iter().filter(|p| !p.buffer.is_read_only()) {
            let Some(bytes) = machine_bytes.get(member.offsets.clone()) else {
                continue;
            };
            member.buffer.set(bytes)?;
            let part = copied
                .as_mut()
                .and_then(|copied| copied.get_mut(member.offsets.clone()));
            if let Some(part) = part {
                part.copy_from_slice(bytes);
            }
        }
        let Some(copied) = copied else {
            return Ok(None);
        };
        let lost = passed.into_iter().find(|member| {
            let offsets = member.offsets.clone();
            member.buffer.is_read_only()
                && copied.get(offsets.clone()) != machine_bytes.get(offsets)
        });
        Ok(lost)
    }

    /// Lets later launches use the memory of the machine.
    pub(crate) fn release(&self, state: &mut State) {
        for region in &self.regions {
            state.release(region.address, region.size as u64);
        }
    }
}
