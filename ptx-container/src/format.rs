//! What a file is.

use std::fmt;

use object::elf;

use crate::little_endian::{u16, u32};
use crate::text;

/// The first bytes of a fatbin.
pub(crate) const FATBIN_MAGIC: u32 = 0xba55_ed50;
/// The first bytes of a fatbin before CUDA 4.
const OLD_FATBIN_MAGIC: u32 = 0x1ee5_5a01;

/// The kind of a file, recognized by its first bytes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum InputFormat {
    /// PTX text.
    Ptx,
    /// A fatbin: PTX and machine code for several targets.
    Fatbin,
    /// A fatbin of the format before CUDA 4, which is not read.
    OldFatbin,
    /// An ELF executable or shared library.
    Elf,
    /// An ELF object.
    ElfObject,
    /// Machine code for one target, without PTX.
    Cubin,
    /// A Windows executable or DLL.
    Pe,
    /// A Windows object.
    CoffObject,
    /// An archive of objects.
    Archive,
    /// An archive that only names files.
    ThinArchive,
    /// A file compressed by gzip.
    Gzip,
    /// A file compressed by zstd.
    Zstd,
    /// A zip archive, such as a Python wheel.
    Zip,
    /// LLVM bitcode.
    Bitcode,
    /// LLVM IR as text.
    LlvmIr,
    /// Text that `cuobjdump -ptx` writes: modules with headings.
    Dump,
    /// C, C++ or CUDA C++.
    CudaSource,
    /// Text in UTF-16.
    Utf16,
    /// Other text.
    Text,
    /// Anything else.
    Binary,
}

impl InputFormat {
    /// Recognizes a file; its first 64 KiB are enough, or less where it does not start with a long comment.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match u32(bytes, 0) {
            Some(FATBIN_MAGIC) => return Self::Fatbin,
            Some(OLD_FATBIN_MAGIC) => return Self::OldFatbin,
            _ => {}
        }
        let magic: &[(&[u8], Self)] = &[
            (b"MZ", Self::Pe),
            (b"!<arch>\n", Self::Archive),
            (b"!<thin>\n", Self::ThinArchive),
            (b"\x1f\x8b", Self::Gzip),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
            (b"PK\x03\x04", Self::Zip),
            (b"BC\xc0\xde", Self::Bitcode),
            (b"\xde\xc0\x17\x0b", Self::Bitcode),
            // Machine types x86-64 and ARM64, and the header for many sections.
            (b"\x64\x86", Self::CoffObject),
            (b"\x64\xaa", Self::CoffObject),
            (b"\0\0\xff\xff", Self::CoffObject),
        ];
        if bytes.starts_with(b"\x7fELF") {
            return Self::of_elf(bytes);
        }
        match magic.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            // A text may start with these letters.
            Some((_, Self::Pe)) if !bytes.iter().take(64).any(|b| *b == 0) => text::format(bytes),
            Some((_, format)) => *format,
            None => text::format(bytes),
        }
    }

    fn of_elf(bytes: &[u8]) -> Self {
        let [kind, machine] = [16, 18].map(|at| u16(bytes, at));
        match (kind, machine) {
            (_, Some(machine)) if machine == elf::EM_CUDA.0 => Self::Cubin,
            (Some(kind), _) if kind == elf::ET_REL.0 => Self::ElfObject,
            _ => Self::Elf,
        }
    }

    /// Whether [`entries`](crate::entries) may find something in it.
    #[must_use]
    pub const fn is_container(self) -> bool {
        matches!(
            self,
            Self::Fatbin
                | Self::Elf
                | Self::ElfObject
                | Self::Pe
                | Self::CoffObject
                | Self::Archive
                | Self::Dump
                | Self::Binary
        )
    }

    /// One word, such as `fatbin`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.texts().0
    }

    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Ptx => ("ptx", "PTX text"),
            Self::Fatbin => ("fatbin", "a fatbin"),
            Self::OldFatbin => ("old-fatbin", "a fatbin of the format before CUDA 4"),
            Self::Elf => ("elf", "an ELF executable or shared library"),
            Self::ElfObject => ("elf-object", "an ELF object"),
            Self::Cubin => ("cubin", "a cubin, which is machine code without PTX"),
            Self::Pe => ("pe", "a Windows executable or DLL"),
            Self::CoffObject => ("coff-object", "a COFF object"),
            Self::Archive => ("archive", "an archive"),
            Self::ThinArchive => ("thin-archive", "a thin archive, which only names objects"),
            Self::Gzip => ("gzip", "a gzip file"),
            Self::Zstd => ("zstd", "a zstd file"),
            Self::Zip => ("zip", "a zip archive or Python wheel"),
            Self::Bitcode => ("bitcode", "LLVM bitcode"),
            Self::LlvmIr => ("llvm-ir", "LLVM IR"),
            Self::Dump => ("cuobjdump", "text of `cuobjdump -ptx`"),
            Self::CudaSource => ("cuda-source", "C++ or CUDA C++ source"),
            Self::Utf16 => ("utf-16", "text in UTF-16"),
            Self::Text => ("text", "text"),
            Self::Binary => ("binary", "a binary file of an unknown format"),
        }
    }
}

/// With an article: `a fatbin`.
impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.texts().1)
    }
}
