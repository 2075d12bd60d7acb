//! The launches of a run, and the buffers that they share.

use ptx_isa::ScalarType;
use ptx_report::clean;
use ptx_report::demangle::FunctionPattern;
use ptx_vm::{Asynchrony, Cooperative, TensorMap};

use super::argument::{Argument, Buffer, Content};
use super::shape::Sizes;
use super::texture::{ArrayArgument, Fields, MemoryGeometry, ObjectArgument, Source};

/// Launches over buffers, in order.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The buffers with their names, which are empty for a single launch.
    buffers: Vec<(String, Buffer)>,
    /// The arrays of texels with their names, which are empty for those of arguments.
    arrays: Vec<(String, ArrayArgument)>,
    /// The textures, samplers and surfaces that are passed as arguments.
    pub(super) objects: Vec<Object>,
    /// The variables of the module that are bound to objects.
    pub(super) bindings: Vec<(String, Object)>,
    pub(super) calls: Vec<Call>,
}

/// A launch of a kernel.
#[derive(Debug)]
pub(super) struct Call {
    /// `None` for the only kernel.
    pub(super) kernel: Option<FunctionPattern>,
    pub(super) shape: Shape,
    /// The time of asynchronous operations in a script, unless an option gives another one.
    pub(super) asynchrony: Option<Asynchrony>,
    /// The device that all CTAs have to fit on, for a cooperative launch.
    pub(super) cooperative: Option<Cooperative>,
    /// The launch may begin before the one before has ended.
    pub(super) is_dependent: bool,
    pub(super) arguments: Vec<Passed>,
    /// The position in a script, such as `launches.toml:12`.
    pub(super) place: Option<String>,
}

/// The size of a launch.
#[derive(Copy, Clone, Debug)]
pub(super) struct Shape {
    pub(super) grid: Sizes,
    pub(super) block: Sizes,
    pub(super) cluster: Sizes,
    /// Bytes of dynamic shared memory.
    pub(super) shared: u32,
}

/// The value that is passed for a parameter.
#[derive(Clone, Debug)]
pub(super) enum Passed {
    /// A number, whose type is that of the parameter.
    Number(String),
    Values(ScalarType, Vec<u8>),
    Bytes(Vec<u8>),
    /// An address in a buffer, by its number and the offset.
    Buffer(usize, u64),
    /// The fields of a struct with their offsets, and its size in bytes.
    Structure(Vec<(usize, Passed)>, usize),
    /// The map of a tensor at an address in a buffer.
    TensorMap(usize, u64, Box<TensorMap>),
    /// The handle of an object, by its number.
    Object(usize),
}

/// A texture, a sampler or a surface.
#[derive(Clone, Debug)]
pub(super) enum Object {
    Texture(Texels, Fields),
    Sampler(Fields),
    /// A surface of an array, by its number, and the level.
    Surface(usize, u32),
}

/// The texels that a texture reads.
#[derive(Copy, Clone, Debug)]
pub(super) enum Texels {
    /// An array, by its number.
    Array(usize),
    /// A buffer, by its number, from an offset on.
    Memory(usize, u64, MemoryGeometry),
}

impl Plan {
    /// Adds a buffer with a name. The members of multimem addresses are added before, unless they are buffers of the plan.
    pub(super) fn add_buffer(&mut self, name: &str, mut buffer: Buffer) -> Result<(), String> {
        if let Content::Multimem(members) = buffer.content {
            let mut numbers = Vec::new();
            for member in members {
                // A member is not a range of multimem addresses, so this calls itself once.
                if let Passed::Buffer(number, offset) = self.pass(member)? {
                    numbers.push((number, offset));
                }
            }
            buffer.content = Content::Members(numbers);
        }
        self.buffers.push((name.to_owned(), buffer));
        Ok(())
    }

    pub(super) fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter().map(|(_, buffer)| buffer)
    }

    /// Adds an array with a name.
    pub(super) fn add_array(&mut self, name: &str, array: ArrayArgument) -> usize {
        self.arrays.push((name.to_owned(), array));
        self.arrays.len() - 1
    }

    pub(super) fn arrays(&self) -> impl Iterator<Item = &ArrayArgument> {
        self.arrays.iter().map(|(_, array)| array)
    }

    /// The object that an argument describes. Its array or buffer is added to the plan.
    pub(super) fn object(&mut self, argument: ObjectArgument) -> Result<Object, String> {
        let (source, fields, level) = match argument {
            ObjectArgument::Sampler(fields) => return Ok(Object::Sampler(fields)),
            ObjectArgument::Texture(source, fields) => (source, Some(fields), 0),
            ObjectArgument::Surface(source, level) => (source, None, level),
        };
        let texels = match source {
            Source::Array(array) => Texels::Array(self.add_array("", array)),
            Source::Named(name) => {
                let mut arrays = self.arrays.iter();
                let index = arrays.position(|(array_name, _)| *array_name == name);
                Texels::Array(index.ok_or_else(|| {
                    format!(
                        "there is no array `{}` in `[arrays]`; an array without a name is written `{{in:FILE.npy}}:2d`",
                        clean(&name)
                    )
                })?)
            }
            Source::Memory(buffer, geometry) => match self.pass(*buffer)? {
                Passed::Buffer(buffer, offset) => Texels::Memory(buffer, offset, geometry),
                _ => return Err("a texture of linear memory reads a buffer".to_owned()),
            },
        };
        match (texels, fields) {
            (texels, Some(fields)) => Ok(Object::Texture(texels, fields)),
            (Texels::Array(array), None) => Ok(Object::Surface(array, level)),
            (Texels::Memory(..), None) => Err("linear memory has no surfaces".to_owned()),
        }
    }

    /// The value that an argument passes. The buffer of an argument is added to the plan.
    pub(super) fn pass(&mut self, argument: Argument) -> Result<Passed, String> {
        Ok(match argument {
            Argument::Number(text) => Passed::Number(text),
            Argument::Values(ty, bytes) => Passed::Values(ty, bytes),
            Argument::Bytes(bytes) => Passed::Bytes(bytes),
            Argument::Buffer(buffer) => {
                self.add_buffer("", buffer)?;
                Passed::Buffer(self.buffers.len() - 1, 0)
            }
            Argument::Structure(structure) => {
                let (size, mut fields) = (structure.size(), Vec::new());
                for (offset, field) in structure.fields {
                    // A struct has no structs as fields, so this calls itself once.
                    fields.push((offset, self.pass(field)?));
                }
                Passed::Structure(fields, size)
            }
            Argument::TensorMap(argument) => match self.pass(*argument.buffer)? {
                Passed::Buffer(buffer, offset) => {
                    Passed::TensorMap(buffer, offset, Box::new(argument.map))
                }
                _ => return Err("a tensor map describes a buffer".to_owned()),
            },
            Argument::Object(argument) => {
                // The buffer of an object is not an object, so this calls itself once.
                let object = self.object(*argument)?;
                self.objects.push(object);
                Passed::Object(self.objects.len() - 1)
            }
            Argument::Named(name, offset) => {
                let index = self
                    .buffers
                    .iter()
                    .position(|(buffer_name, _)| *buffer_name == name && !name.is_empty());
                match index {
                    Some(index) => Passed::Buffer(index, offset),
                    None => return Err(format!("there is no buffer `{}`", clean(&name))),
                }
            }
        })
    }
}
