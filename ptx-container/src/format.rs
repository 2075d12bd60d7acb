//! Recognizes the format of a file by its first bytes, or by the words of a text.

use std::fmt;

use object::elf;

use crate::dump;
use crate::little_endian::{read_u16, read_u32};

/// The magic number of a fatbin.
pub(crate) const FATBIN_MAGIC: u32 = 0xba55_ed50;
/// The magic number of a fatbin before CUDA 4.
const OLD_FATBIN_MAGIC: u32 = 0x1ee5_5a01;

/// The first bytes of binary formats.
const MAGIC: &[(&[u8], InputFormat)] = &[
    (b"MZ", InputFormat::Pe),
    (b"!<arch>\n", InputFormat::Archive),
    (b"!<thin>\n", InputFormat::ThinArchive),
    (b"\x1f\x8b", InputFormat::Gzip),
    (b"\x28\xb5\x2f\xfd", InputFormat::Zstd),
    (b"PK\x03\x04", InputFormat::Zip),
    (b"BC\xc0\xde", InputFormat::Bitcode),
    (b"\xde\xc0\x17\x0b", InputFormat::Bitcode),
    // The machine types x86-64 and ARM64, and the header for many sections.
    (b"\x64\x86", InputFormat::CoffObject),
    (b"\x64\xaa", InputFormat::CoffObject),
    (b"\0\0\xff\xff", InputFormat::CoffObject),
];

/// The offset of the magic number in the header of the first file of a tar archive. The header begins with the name of the file.
const TAR_MAGIC_OFFSET: usize = 257;

/// The number of bytes of a text that are searched for words.
const SEARCHED: usize = 1 << 16;

/// Words of C++ and CUDA C++ that PTX does not have.
const CUDA_WORDS: &[&[u8]] = &[
    b"#include",
    b"#pragma",
    b"__global__",
    b"__device__",
    b"__host__",
    b"extern \"C\"",
    b"namespace ",
    b"template",
];
/// Words of LLVM IR that PTX does not have.
const LLVM_WORDS: &[&[u8]] = &[
    b"; ModuleID",
    b"source_filename = ",
    b"target triple",
    b"target datalayout",
];
/// The beginnings of lines that only PTX has. A text with such a line is not searched for words of other languages.
const PTX_LINES: &[&[u8]] = &[b".version", b".target", b".visible", b".entry", b".func"];

/// The format of a file.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum InputFormat {
    /// PTX text.
    Ptx,
    /// A fatbin: PTX and machine code for several targets.
    Fatbin,
    /// A fatbin of the format before CUDA 4, which is not supported.
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
    /// An archive that only contains the names of files.
    ThinArchive,
    /// A file compressed by gzip.
    Gzip,
    /// A file compressed by zstd.
    Zstd,
    /// A zip archive, such as a Python wheel.
    Zip,
    /// A tar archive, which is not supported.
    Tar,
    /// LLVM bitcode.
    Bitcode,
    /// LLVM IR as text.
    LlvmIr,
    /// The text that `cuobjdump -ptx` writes: modules with headings.
    Dump,
    /// C, C++ or CUDA C++.
    CudaSource,
    /// Text in UTF-16.
    Utf16,
    /// Other text.
    Text,
    /// Other binary data.
    Binary,
}

impl InputFormat {
    /// Recognizes the format of a file. The first 64 KiB of the file are sufficient, unless it starts with a longer comment.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match read_u32(bytes, 0) {
            Some(FATBIN_MAGIC) => return Self::Fatbin,
            Some(OLD_FATBIN_MAGIC) => return Self::OldFatbin,
            _ => {}
        }
        if bytes.starts_with(b"\x7fELF") {
            return elf_format(bytes);
        }
        match MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            // A text may start with the letters `MZ`.
            Some((_, Self::Pe)) if !bytes.iter().take(64).any(|byte| *byte == 0) => {
                text_format(bytes)
            }
            Some((_, format)) => *format,
            None => text_format(bytes),
        }
    }

    /// Whether [`entries`](crate::entries) may find entries in a file of this format.
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

    /// The name, one word such as `fatbin`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name_and_description().0
    }

    const fn name_and_description(self) -> (&'static str, &'static str) {
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
            Self::Tar => ("tar", "a tar archive, which has to be unpacked"),
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

/// Writes a description with an article, such as `a fatbin`.
impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name_and_description().1)
    }
}

fn elf_format(bytes: &[u8]) -> InputFormat {
    let (kind, machine) = (read_u16(bytes, 16), read_u16(bytes, 18));
    if machine == Some(elf::EM_CUDA.0) {
        InputFormat::Cubin
    } else if kind == Some(elf::ET_REL.0) {
        InputFormat::ElfObject
    } else {
        InputFormat::Elf
    }
}

/// The format of a file that has no magic number.
fn text_format(bytes: &[u8]) -> InputFormat {
    if is_utf16(bytes) {
        return InputFormat::Utf16;
    }
    if bytes
        .get(TAR_MAGIC_OFFSET..)
        .is_some_and(|rest| rest.starts_with(b"ustar"))
    {
        return InputFormat::Tar;
    }
    let head = bytes.get(..SEARCHED).unwrap_or(bytes);
    if dump::is_dump(head) {
        return InputFormat::Dump;
    }
    if let Some([b'.', letter, ..]) = skip_comments(bytes)
        && letter.is_ascii_alphabetic()
    {
        return InputFormat::Ptx;
    }
    let mut lines = head.split(|byte| *byte == b'\n');
    if lines.any(is_ptx_line) {
        InputFormat::Text
    } else if head.iter().take(1024).any(|byte| *byte == 0) {
        InputFormat::Binary
    } else if contains_any(head, LLVM_WORDS) {
        InputFormat::LlvmIr
    } else if contains_any(head, CUDA_WORDS) {
        InputFormat::CudaSource
    } else {
        InputFormat::Text
    }
}

fn is_ptx_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    PTX_LINES.iter().any(|start| line.starts_with(start))
}

fn contains_any(text: &[u8], words: &[&[u8]]) -> bool {
    words
        .iter()
        .any(|word| text.windows(word.len()).any(|window| window == *word))
}

/// Whether a text starts with a byte order mark of UTF-16, or has zero bytes between ASCII characters.
fn is_utf16(bytes: &[u8]) -> bool {
    match *bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => bytes.len().is_multiple_of(2),
        [a, 0, b, 0, c, 0, ..] | [0, a, 0, b, 0, c, ..] => [a, b, c]
            .iter()
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()),
        _ => false,
    }
}

/// The part of a text that begins with its first character outside of comments; `None` if a comment is not closed.
fn skip_comments(bytes: &[u8]) -> Option<&[u8]> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let mut text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    loop {
        text = text.trim_ascii_start();
        let comment_len = match text {
            [b'/', b'/', ..] => text.iter().position(|byte| *byte == b'\n')?,
            [b'/', b'*', inner @ ..] => inner.windows(2).position(|w| w == b"*/")? + 4,
            _ => return Some(text),
        };
        text = text.get(comment_len..)?;
    }
}
