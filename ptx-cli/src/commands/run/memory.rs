//! The buffers of a run in the memory of the machine.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ptx_vm::Machine;

use super::argument::{Buffer, Content};
use super::npy::{self, Layout, Reader};
use ptx_report::clean;

/// The number of bytes of the buffers that are compared between two orders.
const COMPARED_BYTES: u64 = 1 << 30;
/// The number of bytes that are compared at a time.
const PART_BYTES: u64 = 64 << 10;

/// The addresses of the buffers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    buffers: Vec<Allocated>,
}

#[derive(Debug)]
struct Allocated {
    address: u64,
    bytes: u64,
    output: Option<(PathBuf, Layout)>,
}

/// A part of a buffer.
pub(super) struct Part {
    /// The number of the buffer, counted from 1.
    pub(super) buffer: usize,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// A file that was written.
pub(super) struct WrittenFile<'a> {
    pub(super) path: &'a Path,
    pub(super) layout: &'a Layout,
}

impl Memory {
    /// Allocates buffers and reads their files.
    pub(super) fn new<'b>(
        machine: &mut Machine<'_>,
        buffers: impl Iterator<Item = &'b Buffer>,
    ) -> Result<Self> {
        let mut memory = Self::default();
        for (number, buffer) in buffers.enumerate() {
            if let Content::Members(members) = &buffer.content {
                let range = memory.multimem(machine, members)?;
                memory.buffers.push(range);
                continue;
            }
            let mut file = None;
            let layout = match &buffer.content {
                Content::Zeros(_)
                | Content::Unwritten(_)
                | Content::Multimem(_)
                | Content::Members(_) => None,
                Content::Random(random) => Some(random.layout.clone()),
                Content::Array(layout) => Some(layout.clone()),
                Content::File(path) => {
                    let reader = Reader::open(path).with_context(|| display_path(path))?;
                    let layout = reader.layout.clone();
                    file = Some((path, reader));
                    Some(layout)
                }
            };
            let bytes = match (&buffer.content, &layout) {
                (Content::Zeros(bytes) | Content::Unwritten(bytes), _) => *bytes,
                (_, Some(layout)) => layout.bytes().map_err(anyhow::Error::msg)?,
                (_, None) => 0,
            };
            let Some(address) = machine.allocate(bytes) else {
                bail!("the buffers need more than 1 TiB");
            };
            if let Some((path, reader)) = file {
                reader
                    .copy(|offset, bytes| Ok(machine.write(address + offset, bytes)?))
                    .with_context(|| display_path(path))?;
            }
            if let Content::Random(random) = &buffer.content {
                random.copy(number, |offset, bytes| {
                    machine.write(address + offset, bytes)
                })?;
            }
            if !matches!(buffer.content, Content::Unwritten(_)) {
                machine.set_written(address, bytes);
            }
            memory.buffers.push(Allocated {
                address,
                bytes,
                output: buffer.output.clone().zip(layout),
            });
        }
        Ok(memory)
    }

    /// Multimem addresses of buffers. They are not memory of their own, so they have no bytes.
    fn multimem(&self, machine: &mut Machine<'_>, members: &[(usize, u64)]) -> Result<Allocated> {
        let sizes = members.iter().map(|(number, offset)| {
            let buffer = self.buffers.get(*number);
            buffer.map_or(0, |buffer| buffer.bytes.saturating_sub(*offset))
        });
        let sizes: Vec<u64> = sizes.collect();
        let bytes = sizes.first().copied().unwrap_or(0);
        if let Some(other) = sizes.iter().find(|size| **size != bytes) {
            bail!(
                "the buffers of `multimem:` have {bytes} and {other} bytes, but equal sizes are expected"
            );
        }
        let addresses = members
            .iter()
            .map(|(number, offset)| self.address(*number).wrapping_add(*offset));
        let addresses: Vec<u64> = addresses.collect();
        Ok(Allocated {
            address: machine.multicast(&addresses, bytes)?,
            bytes: 0,
            output: None,
        })
    }

    pub(super) fn address(&self, buffer: usize) -> u64 {
        self.buffers.get(buffer).map_or(0, |b| b.address)
    }

    /// The contents of all buffers in parts, at most [`COMPARED_BYTES`] bytes.
    pub(super) fn parts<'a>(&'a self, machine: &'a Machine<'_>) -> impl Iterator<Item = Part> + 'a {
        let max_parts = usize::try_from(COMPARED_BYTES / PART_BYTES).unwrap_or(usize::MAX);
        (1..)
            .zip(&self.buffers)
            .flat_map(|(number, buffer)| {
                let offsets = (0..buffer.bytes).step_by(PART_BYTES as usize);
                offsets.map(move |offset| (number, offset, buffer))
            })
            .take(max_parts)
            .map(|(number, offset, buffer)| {
                let count = PART_BYTES.min(buffer.bytes - offset) as usize;
                let bytes = machine.read(buffer.address + offset, count);
                Part {
                    buffer: number,
                    offset,
                    bytes: bytes.unwrap_or_default(),
                }
            })
    }

    /// Writes the files of buffers.
    pub(super) fn write(&self, machine: &Machine<'_>) -> Result<Vec<WrittenFile<'_>>> {
        let mut written = Vec::new();
        for buffer in &self.buffers {
            let Some((path, layout)) = &buffer.output else {
                continue;
            };
            npy::write(path, layout, |offset, count| {
                Ok(machine.read(buffer.address + offset, count)?)
            })
            .with_context(|| display_path(path))?;
            written.push(WrittenFile { path, layout });
        }
        Ok(written)
    }
}

fn display_path(path: &Path) -> String {
    clean(&path.to_string_lossy()).into_owned()
}
