//! The entries of fatbins.

use std::fmt;
use std::sync::Arc;

/// The kind of the content of an entry.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// Machine code as an ELF file.
    Cubin,
    /// NVVM IR for link-time optimization.
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
            number => Self::Other(number),
        }
    }

    /// The index of the counter from which entries of the kind get the numbers in their names. There are 4 counters.
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

/// The compression of the content of an entry.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    None,
    /// One block of LZ4.
    Lz4,
    /// One frame of zstd.
    Zstd,
    /// An unknown method.
    Unknown,
}

impl Compression {
    /// Returns `none`, `lz4`, `zstd` or `unknown`.
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
/// It contains the location of the content, not the content itself.
#[derive(Clone, Debug)]
pub struct ContainerEntry {
    pub(crate) kind: EntryKind,
    pub(crate) container: usize,
    pub(crate) index: usize,
    pub(crate) number: usize,
    pub(crate) member: Option<Arc<str>>,
    /// The offset of the header in the file.
    pub(crate) offset: usize,
    /// The offset of the stored content in the file.
    pub(crate) payload: usize,
    /// The size of the stored content in bytes.
    pub(crate) stored: usize,
    /// The size of the decompressed content in bytes.
    pub(crate) size: u64,
    pub(crate) version: (u16, u16),
    pub(crate) sm: u32,
    pub(crate) flags: u64,
    pub(crate) is_compressed: bool,
    pub(crate) options: String,
    pub(crate) identifier: String,
}

pub(crate) const FLAG_LZ4: u64 = 0x2000;
pub(crate) const FLAG_ZSTD: u64 = 0x8000;
pub(crate) const FLAG_OBFUSCATED: u64 = 0x1_0000;
const FLAG_ARCHITECTURE: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;

/// The flags for the letter of a target.
pub(crate) fn target_flags(letter: &str) -> u64 {
    match letter {
        "a" => FLAG_ARCHITECTURE,
        "f" => FLAG_FAMILY,
        _ => 0,
    }
}

/// The names of the flags that concern neither the compression nor the target.
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
    /// The kind of the content.
    #[must_use]
    pub const fn kind(&self) -> EntryKind {
        self.kind
    }

    /// The name, such as `1.sm_90.ptx`: a number, the target and the kind. Entries of a kind are numbered from 1 in the whole file, as in the output of
    /// `cuobjdump`. Names are unique in a file.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.number, self.target(), self.kind)
    }

    /// The number in the [name](Self::name).
    #[must_use]
    pub const fn number(&self) -> usize {
        self.number
    }

    /// The index of its fatbin in the file, counted from 0.
    #[must_use]
    pub const fn container(&self) -> usize {
        self.container
    }

    /// Its index in the fatbin, counted from 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The name of the archive member that contains it; `None` outside of archives.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// The offset of its header in the file, in bytes.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// The major and minor version of PTX, or of the format of machine code.
    #[must_use]
    pub const fn version(&self) -> (u16, u16) {
        self.version
    }

    /// The target, such as `sm_90`, `sm_90a` or `sm_100f`. Compilers before CUDA 12.9 do not record the letter.
    #[must_use]
    pub fn target(&self) -> String {
        let letter = if self.flags & FLAG_ARCHITECTURE != 0 {
            "a"
        } else if self.flags & FLAG_FAMILY != 0 {
            "f"
        } else {
            ""
        };
        format!("sm_{}{letter}", self.sm)
    }

    /// The size of the content in the file, in bytes.
    #[must_use]
    pub const fn stored_size(&self) -> u64 {
        self.stored as u64
    }

    /// The size of the decompressed content according to the header, in bytes. It includes zero bytes after PTX.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The compression of the content.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        if !self.is_compressed {
            Compression::None
        } else if self.flags & FLAG_ZSTD != 0 {
            Compression::Zstd
        } else if self.flags & FLAG_LZ4 != 0 {
            Compression::Lz4
        } else {
            Compression::Unknown
        }
    }

    /// The flags of the header.
    #[must_use]
    pub const fn flags(&self) -> u64 {
        self.flags
    }

    /// The names of the known flags except those of the compression and the target: `64-bit`, `debug`, `cuda`, `opencl`, `linux`,
    /// `mac`, `windows`, `obfuscated`.
    #[must_use]
    pub fn flag_names(&self) -> Vec<&'static str> {
        FLAGS
            .iter()
            .filter(|(flag, _)| self.flags & flag != 0)
            .map(|(_, name)| *name)
            .collect()
    }

    /// The recorded options: for PTX those of `ptxas`, for NVVM IR those of its compiler.
    #[must_use]
    pub fn options(&self) -> &str {
        &self.options
    }

    /// The name of the source file; empty if it is not recorded.
    #[must_use]
    pub fn identifier(&self) -> &str {
        &self.identifier
    }
}
