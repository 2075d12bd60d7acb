//! Writes launches to a folder, as scripts and arrays for `ptxkit run`.
//!
//! A launch is a folder with `module.ptx`, `launch.toml`, and for each allocation that the arguments refer to, its bytes before (`buffer-0.npy`) and after the launch
//! (`after-0.npy`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;

use ptx_ir::Module;
use ptx_vm::{Device, Launch};

use super::memory::Memory;

/// The most launches that are recorded, and the most bytes.
const MOST_LAUNCHES: u64 = 100_000;
const MOST_BYTES: u64 = 64 << 30;
/// The bytes of a device address.
const POINTER: usize = 8;

/// Writes launches.
#[derive(Debug)]
pub(crate) struct Recorder {
    folder: Option<PathBuf>,
    launches: u64,
    bytes: u64,
}

/// A launch that is being recorded.
#[derive(Debug)]
pub(crate) struct Recording {
    folder: PathBuf,
    /// The first address and the size of each allocation.
    buffers: Vec<(u64, u64)>,
}

/// The allocations that arguments refer to, with their numbers.
#[derive(Default)]
struct Buffers {
    numbers: BTreeMap<u64, usize>,
    all: Vec<(u64, u64)>,
}

impl Buffers {
    /// The buffer that contains an address, as an argument of a script.
    fn argument(&mut self, memory: &Memory, address: u64) -> Option<String> {
        let (start, allocation) = memory.find(address)?;
        let bytes = allocation.bytes;
        let next = self.all.len();
        let number = *self.numbers.entry(start).or_insert(next);
        if number == next {
            self.all.push((start, bytes));
        }
        Some(match address - start {
            0 => format!("buffer:b{number}"),
            offset => format!("buffer:b{number}+{offset}"),
        })
    }
}

impl Recorder {
    /// A recorder that writes to a folder for this process below `folder`.
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        Self {
            folder: folder.map(|folder| folder.join(process::id().to_string())),
            launches: 0,
            bytes: 0,
        }
    }

    /// Writes a launch and the memory before it. After an error, nothing more is recorded.
    pub(crate) fn begin(
        &mut self,
        module: &Module,
        launch: &Launch,
        device: &Device<'_>,
        memory: &Memory,
    ) -> Option<Recording> {
        let folder = self.folder.clone()?;
        let mut buffers = Buffers::default();
        let arguments: Vec<String> = launch
            .arguments
            .iter()
            .map(|bytes| argument(bytes, memory, &mut buffers))
            .collect();
        self.launches += 1;
        let sizes = buffers.all.iter().map(|(_, bytes)| *bytes);
        self.bytes += 2 * sizes.sum::<u64>();
        if self.launches > MOST_LAUNCHES || self.bytes > MOST_BYTES {
            eprintln!(
                "ptxkit: recording ends after {} launches: {MOST_LAUNCHES} launches and {MOST_BYTES} bytes are the limits",
                self.launches - 1
            );
            self.folder = None;
            return None;
        }
        let name: String = launch
            .kernel
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '-'
                }
            })
            .take(64)
            .collect();
        let folder = folder.join(format!("{:06}-{name}", self.launches));
        let written = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join("module.ptx"), module.source()))
            .and_then(|()| {
                fs::write(
                    folder.join("launch.toml"),
                    script(launch, &arguments, &buffers),
                )
            })
            .and_then(|()| write_buffers(&folder, "buffer", device, &buffers.all));
        match written {
            Ok(()) => Some(Recording {
                folder,
                buffers: buffers.all,
            }),
            Err(error) => {
                eprintln!("ptxkit: {}: {error}", folder.display());
                self.folder = None;
                None
            }
        }
    }
}

impl Recording {
    /// Writes the memory after the launch.
    pub(crate) fn end(&self, device: &Device<'_>) {
        if let Err(error) = write_buffers(&self.folder, "after", device, &self.buffers) {
            eprintln!("ptxkit: {}: {error}", self.folder.display());
        }
    }
}

/// An argument of a script. Addresses in allocations, at multiples of 8 in the argument, are those of buffers; all other bytes stay.
fn argument(bytes: &[u8], memory: &Memory, buffers: &mut Buffers) -> String {
    let mut fields: Vec<String> = Vec::new();
    let mut plain = String::new();
    for word in bytes.chunks(POINTER) {
        let address = word.try_into().map(u64::from_le_bytes).ok();
        let buffer = address.and_then(|address| buffers.argument(memory, address));
        match buffer {
            Some(buffer) => {
                if !plain.is_empty() {
                    fields.push(format!("bytes:{plain}"));
                    plain.clear();
                }
                fields.push(buffer);
            }
            None => {
                for byte in word {
                    let _ = write!(plain, "{byte:02x}");
                }
            }
        }
    }
    if !plain.is_empty() {
        fields.push(format!("bytes:{plain}"));
    }
    match &fields[..] {
        [field] => field.clone(),
        _ => format!("struct:{{{}}}", fields.join(", ")),
    }
}

/// The script of a launch.
fn script(launch: &Launch, arguments: &[String], buffers: &Buffers) -> String {
    let mut text = "# ptxkit run module.ptx --script launch.toml\n".to_owned();
    if !buffers.all.is_empty() {
        text.push_str("\n[buffers]\n");
    }
    for number in 0..buffers.all.len() {
        let _ = writeln!(
            text,
            "b{number} = \"inout:buffer-{number}.npy:result-{number}.npy\""
        );
    }
    let _ = writeln!(text, "\n[[launch]]\nkernel = {:?}", launch.kernel);
    for (key, sizes) in [("grid", launch.grid), ("block", launch.block)] {
        let _ = writeln!(text, "{key} = {sizes:?}");
    }
    if launch.cluster != [1; 3] {
        let _ = writeln!(text, "cluster = {:?}", launch.cluster);
    }
    if launch.shared > 0 {
        let _ = writeln!(text, "shared = {}", launch.shared);
    }
    if let Some(cooperative) = launch.cooperative {
        let _ = writeln!(text, "cooperative = {}", cooperative.multiprocessors);
    }
    let _ = writeln!(text, "async = \"{}\"", launch.asynchrony);
    let arguments: Vec<String> = arguments.iter().map(|a| format!("\"{a}\"")).collect();
    let _ = writeln!(text, "args = [{}]", arguments.join(", "));
    text
}

/// The bytes that are read and written at once.
const PART: u64 = 1 << 20;

/// Writes the bytes of allocations as arrays.
fn write_buffers(
    folder: &Path,
    name: &str,
    device: &Device<'_>,
    buffers: &[(u64, u64)],
) -> io::Result<()> {
    for (number, &(start, bytes)) in buffers.iter().enumerate() {
        let mut file = File::create(folder.join(format!("{name}-{number}.npy")))?;
        file.write_all(&header(bytes))?;
        for offset in (0..bytes).step_by(PART as usize) {
            let length = PART.min(bytes - offset) as usize;
            let part = device.read(start + offset, length);
            file.write_all(&part.map_err(|error| io::Error::other(error.to_string()))?)?;
        }
    }
    Ok(())
}

/// The header of a file with an array of bytes, in the format of NumPy, version 1.0.
fn header(bytes: u64) -> Vec<u8> {
    let description = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({bytes},), }}");
    let prefix = 10;
    let total = (prefix + description.len() + 1).next_multiple_of(64);
    let length = (total - prefix) as u16;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(length.to_le_bytes());
    header.extend(description.as_bytes());
    header.resize(total - 1, b' ');
    header.push(b'\n');
    header
}
