//! An entry of a fatbin.

use std::fmt;
use std::sync::Arc;

/// What an entry contains.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// Machine code as an ELF file.
    Cubin,
    /// NVVM IR, for optimization when the program is linked.
    Nvvm,
    /// Another kind, with its number.
    Other(u16),
}

impl EntryKind {
    pub(crate) fn new(number: u16) -> Self {
        match number {
            1 => Self::Ptx,
            2 => Self::Cubin,
            8 => Self::Nvvm,
            other => Self::Other(other),
        }
    }

    /// Which of the numbers in names it uses.
    pub(crate) const fn counter(self) -> usize {
        match self {
            Self::Ptx => 0,
            Self::Cubin => 1,
            Self::Nvvm => 2,
            Self::Other(_) => 3,
        }
    }
}

/// `ptx`, `cubin`, `nvvm`, or `kind16` with the number.
impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ptx => f.write_str("ptx"),
            Self::Cubin => f.write_str("cubin"),
            Self::Nvvm => f.write_str("nvvm"),
            Self::Other(number) => write!(f, "kind{number}"),
        }
    }
}

/// How the content of an entry is compressed.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4, one block.
    Lz4,
    /// One zstd frame.
    Zstd,
    /// In a way that is not known.
    Unknown,
}

impl Compression {
    /// `none`, `lz4`, `zstd` or `unknown`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Unknown => "unknown",
        }
    }
}

/// A module in a fatbin: PTX, machine code, or another kind.
///
/// It contains the place of the content, not the content itself.
#[derive(Clone, Debug)]
pub struct ContainerEntry {
    pub(crate) kind: EntryKind,
    pub(crate) container: usize,
    pub(crate) index: usize,
    pub(crate) number: usize,
    pub(crate) member: Option<Arc<str>>,
    pub(crate) offset: usize,
    pub(crate) payload: usize,
    pub(crate) stored: usize,
    pub(crate) size: u64,
    pub(crate) version: (u16, u16),
    pub(crate) sm: u32,
    pub(crate) flags: u64,
    pub(crate) compressed: bool,
    pub(crate) options: String,
    pub(crate) identifier: String,
}

pub(crate) const FLAG_LZ4: u64 = 0x2000;
pub(crate) const FLAG_ZSTD: u64 = 0x8000;
pub(crate) const FLAG_OBFUSCATED: u64 = 0x1_0000;
const FLAG_ARCHITECTURE: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;

/// The flag of the letter of a target.
pub(crate) fn flags_of_target(letter: &str) -> u64 {
    match letter {
        "a" => FLAG_ARCHITECTURE,
        "f" => FLAG_FAMILY,
        _ => 0,
    }
}

/// The flags that say more than compression and target do.
const FLAGS: &[(u64, &str)] = &[
    (1, "64-bit"),
    (2, "debug"),
    (4, "cuda"),
    (8, "opencl"),
    (0x10, "linux"),
    (0x20, "mac"),
    (0x40, "windows"),
    (FLAG_OBFUSCATED, "obfuscated"),
];

impl ContainerEntry {
    /// What it contains.
    #[must_use]
    pub const fn kind(&self) -> EntryKind {
        self.kind
    }

    /// `1.sm_90.ptx`: a number, the target and the kind. Entries of a kind are numbered from 1 in the whole file, as `cuobjdump` does; no two
    /// entries of a file have the same name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.number, self.target(), self.kind)
    }

    /// The number in the [name](Self::name).
    #[must_use]
    pub const fn number(&self) -> usize {
        self.number
    }

    /// Which fatbin of the file has it, counted from 0.
    #[must_use]
    pub const fn container(&self) -> usize {
        self.container
    }

    /// Its place in that fatbin, counted from 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The member of the archive that it is in.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// Where its header is, in bytes from the start of the file.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// Major and minor version: of PTX, or of the format of machine code.
    #[must_use]
    pub const fn version(&self) -> (u16, u16) {
        self.version
    }

    /// `sm_90`, `sm_90a` or `sm_100f`. Compilers before CUDA 12.9 do not record the letter.
    #[must_use]
    pub fn target(&self) -> String {
        let letter = match self.flags {
            flags if flags & FLAG_ARCHITECTURE != 0 => "a",
            flags if flags & FLAG_FAMILY != 0 => "f",
            _ => "",
        };
        format!("sm_{}{letter}", self.sm)
    }

    /// The bytes that the content takes in the file.
    #[must_use]
    pub const fn stored_size(&self) -> u64 {
        self.stored as u64
    }

    /// The bytes of the content after decompression, as the header says. Zero bytes after PTX are included.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// How it is compressed.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        match self.flags {
            _ if !self.compressed => Compression::None,
            flags if flags & FLAG_ZSTD != 0 => Compression::Zstd,
            flags if flags & FLAG_LZ4 != 0 => Compression::Lz4,
            _ => Compression::Unknown,
        }
    }

    /// The flags of the header.
    #[must_use]
    pub const fn flags(&self) -> u64 {
        self.flags
    }

    /// The names of the flags that are known, without those of the compression and the target: `64-bit`, `debug`, `cuda`, `opencl`, `linux`,
    /// `mac`, `windows`, `obfuscated`.
    #[must_use]
    pub fn flag_names(&self) -> Vec<&'static str> {
        let set = FLAGS.iter().filter(|(flag, _)| self.flags & flag != 0);
        set.map(|(_, name)| *name).collect()
    }

    /// The options with which `ptxas` is to be called, for PTX, or those of the compiler of NVVM IR.
    #[must_use]
    pub fn options(&self) -> &str {
        &self.options
    }

    /// The name of the source file, where it is recorded.
    #[must_use]
    pub fn identifier(&self) -> &str {
        &self.identifier
    }
}
