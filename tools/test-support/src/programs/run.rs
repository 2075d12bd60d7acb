//! Runs the steps of a program on a host: the machine, and in the crate `runner` a GPU.

use super::case::{self, Allowed, Data, Line, Part, Place, Type};
use super::compare;

/// The error of a host without textures.
pub const NO_TEXTURES: &str = "this host has no textures";

/// A system that has memory and runs launches.
pub trait Host {
    /// Allocates bytes, all zero; returns their address.
    fn allocate(&mut self, bytes: u64) -> Result<u64, String>;
    /// The address of a variable of the module.
    fn variable(&mut self, name: &str) -> Result<u64, String>;
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String>;
    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>, String>;
    /// Creates an array of texels.
    fn create_array(&mut self, _: &case::Array) -> Result<(), String> {
        Err(NO_TEXTURES.into())
    }
    fn write_level(&mut self, _: case::Level, _: &[u8]) -> Result<(), String> {
        Err(NO_TEXTURES.into())
    }
    fn read_level(&mut self, _: case::Level) -> Result<Vec<u8>, String> {
        Err(NO_TEXTURES.into())
    }
    /// Creates a texture of an array; returns its handle.
    fn create_texture(&mut self, _: usize, _: &[(String, String)]) -> Result<u64, String> {
        Err(NO_TEXTURES.into())
    }
    /// Creates a surface of a level of an array; returns its handle.
    fn create_surface(&mut self, _: case::Level) -> Result<u64, String> {
        Err(NO_TEXTURES.into())
    }
    /// Launches a kernel; returns its output, if that is known.
    fn launch(
        &mut self,
        launch: &case::Launch,
        arguments: Vec<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, String>;
    /// Whether the errors of launches are specific, and the steps after them can be run.
    fn survives_errors(&self) -> bool;
}

/// The content of memory at a place for which a program states an expected content, with zeros in the place of addresses.
pub struct Found {
    pub line: usize,
    pub bytes: Vec<u8>,
    pub ty: Type,
    pub allowed: Allowed,
}

/// A run of a program.
struct Run<'h, H> {
    host: &'h mut H,
    /// The addresses of the buffers.
    buffers: Vec<u64>,
    /// The handles of textures and surfaces.
    handles: Vec<u64>,
    /// The number of arrays of texels.
    arrays: usize,
    /// A part of the expected error of the next launch.
    error: Option<String>,
    output: Option<Vec<u8>>,
    found: Vec<Found>,
    /// Whether a launch failed, as expected, and the host cannot go on.
    ended: bool,
}

/// Runs the steps of a program, and compares the contents of memory with the expected ones.
pub fn run(text: &str, host: &mut impl Host) -> Result<Vec<Found>, String> {
    let mut run = Run {
        host,
        buffers: Vec::new(),
        handles: Vec::new(),
        arrays: 0,
        error: None,
        output: None,
        found: Vec::new(),
        ended: false,
    };
    for (number, line) in (1..).zip(&case::parse(text)?) {
        if !run.ended {
            run.line(number, line)
                .map_err(|e| format!("line {number}: {e}"))?;
        }
    }
    Ok(run.found)
}

impl<H: Host> Run<'_, H> {
    fn line(&mut self, number: usize, line: &Line) -> Result<(), String> {
        match line {
            Line::Module(_) => {}
            Line::Buffer(bytes, content) => {
                let address = self.host.allocate(*bytes)?;
                self.buffers.push(address);
                self.write(address, content)?;
            }
            Line::Array(array) => {
                self.host.create_array(array)?;
                let level = case::Level {
                    array: self.arrays,
                    level: 0,
                };
                self.arrays += 1;
                let texels = self.bytes(&array.content);
                self.host.write_level(level, &texels)?;
            }
            Line::Level(level, content) => {
                let texels = self.bytes(content);
                self.host.write_level(*level, &texels)?;
            }
            Line::Texture(array, properties) => {
                let handle = self.host.create_texture(*array, properties)?;
                self.handles.push(handle);
            }
            Line::Surface(level) => {
                let handle = self.host.create_surface(*level)?;
                self.handles.push(handle);
            }
            Line::Variable(name, content) => {
                let address = self.host.variable(name)?;
                self.write(address, content)?;
            }
            Line::Write(to, content) => self.write(self.address(*to), content)?,
            Line::Fill(to, bytes, value) => {
                self.host.write(self.address(*to), &vec![*value; *bytes])?
            }
            Line::Copy { to, from, bytes } => {
                let content = self.host.read(self.address(*from), *bytes)?;
                self.host.write(self.address(*to), &content)?;
            }
            Line::Launch(launch) => self.launch(launch)?,
            Line::Error(words) => self.error = Some(words.clone()),
            Line::Output(expected) => {
                if let Some(output) = &self.output
                    && sorted(output) != sorted(expected)
                {
                    let output = String::from_utf8_lossy(output);
                    return Err(format!("it printed {output:?}"));
                }
            }
            Line::Expect(expected) => {
                let data = self.bytes(&expected.data);
                let mut bytes = match &expected.place {
                    Place::Buffer(pointer) => self.host.read(self.address(*pointer), data.len())?,
                    Place::Level(level) => self.host.read_level(*level)?,
                    Place::Variable(name) => {
                        let address = self.host.variable(name)?;
                        self.host.read(address, data.len())?
                    }
                };
                compare::compare(&bytes, &data, expected.ty, expected.allowed)?;
                clear_addresses(&mut bytes, &expected.data);
                self.found.push(Found {
                    line: number,
                    bytes,
                    ty: expected.ty,
                    allowed: expected.allowed,
                });
            }
        }
        Ok(())
    }

    fn launch(&mut self, launch: &case::Launch) -> Result<(), String> {
        let arguments = launch.arguments.iter().map(|a| self.bytes(a)).collect();
        let result = self.host.launch(launch, arguments);
        let survives = self.host.survives_errors();
        match (result, self.error.take()) {
            (Ok(output), None) => {
                self.output = output;
                Ok(())
            }
            (Err(error), None) => Err(error),
            (Ok(_), Some(words)) => Err(format!("no error with the words {words:?}")),
            (Err(_), Some(_)) if !survives => {
                self.ended = true;
                Ok(())
            }
            (Err(error), Some(words)) if error.contains(&words) => Ok(()),
            (Err(error), Some(words)) => Err(format!("{error}: not {words:?}")),
        }
    }

    fn write(&mut self, address: u64, content: &Data) -> Result<(), String> {
        let bytes = self.bytes(content);
        self.host.write(address, &bytes)
    }

    fn address(&self, pointer: case::Pointer) -> u64 {
        self.buffers[pointer.buffer] + pointer.offset
    }

    /// The bytes of a content, with the addresses of the buffers.
    fn bytes(&self, data: &Data) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in data {
            match part {
                Part::Bytes(literal) => bytes.extend(literal),
                Part::Pointer(pointer) => bytes.extend(self.address(*pointer).to_le_bytes()),
                Part::Handle(handle) => {
                    let handle = self.handles.get(*handle).copied().unwrap_or(0);
                    bytes.extend(handle.to_le_bytes());
                }
            }
        }
        bytes
    }
}

/// Replaces the addresses of a content by zeros.
fn clear_addresses(bytes: &mut [u8], data: &Data) {
    let mut offset = 0;
    for part in data {
        match part {
            Part::Bytes(literal) => offset += literal.len(),
            Part::Pointer(_) | Part::Handle(_) => {
                if let Some(address) = bytes.get_mut(offset..offset + 8) {
                    address.fill(0);
                }
                offset += 8;
            }
        }
    }
}

/// The lines of a text, sorted: blocks may run in any order.
fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    lines.sort_unstable();
    lines
}
