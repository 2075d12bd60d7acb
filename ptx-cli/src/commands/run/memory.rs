//! The buffers of a run in the memory of the machine.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ptx_vm::{Array, Machine, Sampler, TexelFormat, TextureDescription};

use super::argument::{Buffer, Content};
use super::npy::{self, Layout, Reader};
use super::plan::{Object, Plan, Texels};
use super::texture::{AllocatedArray, MemoryGeometry, channel_type};
use ptx_report::clean;

/// The number of bytes of the buffers that are compared between two orders.
const COMPARED_BYTES: u64 = 1 << 30;
/// The number of bytes that are compared at a time.
const PART_BYTES: u64 = 64 << 10;

/// The addresses of the buffers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    buffers: Vec<Allocated>,
    arrays: Vec<AllocatedArray>,
    /// The handles of textures, samplers and surfaces.
    handles: Vec<u64>,
    /// A texture or a sampler has a linear filter.
    is_approximate: bool,
}

#[derive(Debug)]
struct Allocated {
    address: u64,
    bytes: u64,
    layout: Option<Layout>,
    output: Option<PathBuf>,
}

/// A part of a buffer.
pub(super) struct Part {
    /// The number of the buffer, counted from 1.
    pub(super) buffer: usize,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// A file that was written.
pub(crate) struct WrittenFile<'a> {
    pub(super) path: &'a Path,
    pub(super) layout: &'a Layout,
}

impl Memory {
    /// Allocates buffers and arrays, reads their files, and creates textures, samplers and surfaces.
    pub(super) fn new(machine: &mut Machine<'_>, plan: &Plan) -> Result<Self> {
        let mut memory = Self::default();
        memory.add_buffers(machine, plan.buffers())?;
        for (number, array) in plan.arrays().enumerate() {
            memory.arrays.push(array.create(machine, number)?);
        }
        for object in &plan.objects {
            let handle = memory.create(machine, object, Sampler::default())?;
            memory.handles.push(handle);
        }
        for (variable, object) in &plan.bindings {
            let declared = machine.declared_sampler(variable).unwrap_or_default();
            let handle = memory.create(machine, object, declared)?;
            machine.bind(variable, handle)?;
        }
        Ok(memory)
    }

    /// Allocates buffers and reads their files.
    fn add_buffers<'b>(
        &mut self,
        machine: &mut Machine<'_>,
        buffers: impl Iterator<Item = &'b Buffer>,
    ) -> Result<()> {
        for (number, buffer) in buffers.enumerate() {
            if let Content::Members(members) = &buffer.content {
                let range = self.multimem(machine, members)?;
                self.buffers.push(range);
                continue;
            }
            let mut file = None;
            let layout = match &buffer.content {
                Content::File(path) => {
                    let reader = Reader::open(path).with_context(|| display_path(path))?;
                    let layout = reader.layout.clone();
                    file = Some((path, reader));
                    Some(layout)
                }
                content => content.layout().cloned(),
            };
            let bytes = match (&buffer.content, &layout) {
                (Content::Zeros(size) | Content::Unwritten(size), _) => size.bytes,
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
            if !matches!(buffer.content, Content::Unwritten(..)) {
                machine.set_written(address, bytes);
            }
            self.buffers.push(Allocated {
                address,
                bytes,
                layout,
                output: buffer.output.clone(),
            });
        }
        Ok(())
    }

    /// Creates a texture, a sampler or a surface, whose fields replace properties of a sampler. Returns its handle.
    fn create(
        &mut self,
        machine: &mut Machine<'_>,
        object: &Object,
        declared: Sampler,
    ) -> Result<u64> {
        Ok(match object {
            Object::Sampler(fields) => {
                let sampler = fields.sampler(declared).map_err(anyhow::Error::msg)?;
                self.is_approximate |= sampler.is_linear();
                machine.create_sampler(&sampler)?
            }
            Object::Surface(index, level) => machine.create_surface(self.array(*index)?, *level)?,
            Object::Texture(texels, fields) => {
                let texture = fields.texture(declared).map_err(anyhow::Error::msg)?;
                self.is_approximate |= texture.sampler.is_linear();
                match *texels {
                    Texels::Array(index) => machine.create_texture(self.array(index)?, &texture)?,
                    Texels::Memory(buffer, offset, geometry) => {
                        self.create_linear(machine, (buffer, offset), geometry, &texture)?
                    }
                }
            }
        })
    }

    /// Creates a texture that reads a buffer from an offset on.
    fn create_linear(
        &self,
        machine: &mut Machine<'_>,
        (buffer, offset): (usize, u64),
        geometry: MemoryGeometry,
        texture: &TextureDescription,
    ) -> Result<u64> {
        let buffer = self.buffers.get(buffer).context("a buffer is missing")?;
        let layout = buffer.layout.as_ref().context(
            "a texture of linear memory needs a buffer with a type and a shape, such as `zero:f32[1024]`",
        )?;
        let channel = channel_type(layout)?;
        let shape: Vec<u32> = layout
            .shape()
            .iter()
            .map(|size| u32::try_from(*size))
            .collect::<Result<_, _>>()?;
        let address = buffer.address + offset;
        Ok(match (geometry, &shape[..]) {
            (MemoryGeometry::Line, [texels] | [texels, _]) => {
                let format = TexelFormat::new(channel, shape.get(1).copied().unwrap_or(1));
                let skipped = offset / u64::from(format.bytes()).max(1);
                let texels = u64::from(*texels).saturating_sub(skipped);
                machine.create_linear_texture(address, texels, format, texture)?
            }
            (MemoryGeometry::Image, [height, width] | [height, width, _]) if offset == 0 => {
                let format = TexelFormat::new(channel, shape.get(2).copied().unwrap_or(1));
                let pitch = u64::from(*width) * u64::from(format.bytes());
                machine.create_pitch_texture(address, [*width, *height], pitch, format, texture)?
            }
            _ => bail!(
                "a texture of linear memory: expected the shape [texels] or [texels, channels] for `memory`, or [height, width] or [height, width, channels] without an offset for `pitch`, found {:?}",
                layout.shape()
            ),
        })
    }

    fn array(&self, index: usize) -> Result<Array> {
        let allocated = self.arrays.get(index).map(|allocated| allocated.array);
        allocated.context("an array is missing")
    }

    /// Whether a texture or a sampler has a linear filter.
    pub(super) const fn is_approximate(&self) -> bool {
        self.is_approximate
    }

    /// The handle of a texture, a sampler or a surface.
    pub(super) fn handle(&self, object: usize) -> u64 {
        self.handles.get(object).copied().unwrap_or(0)
    }

    /// Multimem addresses of buffers. They are not separate memory, so they have no bytes.
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
            layout: None,
            output: None,
        })
    }

    pub(super) fn address(&self, buffer: usize) -> u64 {
        self.buffers.get(buffer).map_or(0, |b| b.address)
    }

    /// The contents of all buffers in parts, at most [`COMPARED_BYTES`] bytes, then those of the levels of arrays.
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
            .chain(self.array_parts(machine))
    }

    /// The contents of the levels of arrays, which count as buffers after the others.
    fn array_parts<'a>(&'a self, machine: &'a Machine<'_>) -> impl Iterator<Item = Part> + 'a {
        let arrays = (self.buffers.len() + 1..).zip(&self.arrays);
        arrays.flat_map(move |(number, array)| {
            (0..array.levels()).map(move |level| Part {
                buffer: number,
                offset: 0,
                bytes: machine.read_array(array.array, level).unwrap_or_default(),
            })
        })
    }

    /// Writes the files of buffers and arrays.
    pub(super) fn write(&self, machine: &Machine<'_>) -> Result<Vec<WrittenFile<'_>>> {
        let mut written = Vec::new();
        for buffer in &self.buffers {
            let (Some(path), Some(layout)) = (&buffer.output, &buffer.layout) else {
                continue;
            };
            npy::write(path, layout, |offset, count| {
                Ok(machine.read(buffer.address + offset, count)?)
            })
            .with_context(|| display_path(path))?;
            written.push(WrittenFile { path, layout });
        }
        for array in &self.arrays {
            written.extend(array.write(machine)?);
        }
        Ok(written)
    }
}

fn display_path(path: &Path) -> String {
    clean(&path.to_string_lossy()).into_owned()
}
