//! The buffers of a run in the memory of the machine.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ptx_vm::Machine;

use super::argument::{Buffer, Content};
use super::npy::{self, Layout, Reader};
use ptx_report::clean;

/// Bytes of the buffers that are compared between two orders, and those of a part.
const COMPARED: u64 = 1 << 30;
const PART: u64 = 64 << 10;

/// Where buffers are.
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

/// A file that was written.
pub(super) struct Written<'a> {
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
            let mut file = None;
            let layout = match &buffer.content {
                Content::Zeros(_) | Content::Unwritten(_) => None,
                Content::Random(random) => Some(random.layout.clone()),
                Content::Array(layout) => Some(layout.clone()),
                Content::File(path) => {
                    let reader = Reader::open(path).with_context(|| shown(path))?;
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
                let read = reader.copy(|at, part| Ok(machine.write(address + at, part)?));
                read.with_context(|| shown(path))?;
            }
            if let Content::Random(random) = &buffer.content {
                random.copy(number, |at, part| machine.write(address + at, part))?;
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

    pub(super) fn address(&self, buffer: usize) -> u64 {
        self.buffers.get(buffer).map_or(0, |b| b.address)
    }

    /// The contents of all buffers in parts, with the number of the buffer from one and the offset of each part; at most [`COMPARED`] bytes.
    pub(super) fn parts<'a>(
        &'a self,
        machine: &'a Machine<'_>,
    ) -> impl Iterator<Item = (usize, u64, Vec<u8>)> + 'a {
        let numbered = (1..).zip(&self.buffers);
        let parts = numbered.flat_map(|(number, buffer)| {
            let starts = (0..buffer.bytes).step_by(PART as usize);
            starts.map(move |at| (number, at, buffer))
        });
        let most = usize::try_from(COMPARED / PART).unwrap_or(usize::MAX);
        parts.take(most).map(|(number, at, buffer)| {
            let count = PART.min(buffer.bytes - at) as usize;
            let part = machine.read(buffer.address + at, count);
            (number, at, part.unwrap_or_default())
        })
    }

    /// Writes the files of buffers.
    pub(super) fn write(&self, machine: &Machine<'_>) -> Result<Vec<Written<'_>>> {
        let mut written = Vec::new();
        for buffer in &self.buffers {
            let Some((path, layout)) = &buffer.output else {
                continue;
            };
            let read = |at, count| Ok(machine.read(buffer.address + at, count)?);
            npy::write(path, layout, read).with_context(|| shown(path))?;
            written.push(Written { path, layout });
        }
        Ok(written)
    }
}

fn shown(path: &Path) -> String {
    clean(&path.to_string_lossy()).into_owned()
}
