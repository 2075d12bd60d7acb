//! Zip archives, such as Python wheels, as archives of the files in them that may contain PTX.

use std::io::Read as _;

use flate2::read::DeflateDecoder;
use ptx_ir::Code;

use crate::error::ContainerError;
use crate::format::InputFormat;
use crate::little_endian::{u16, u32};

/// The record at the end of a zip archive, without its comment.
const END: &[u8] = b"PK\x05\x06";
const END_SIZE: usize = 22;
/// The longest comment after that record.
const MOST_COMMENT: usize = 0xffff;
/// A record of the directory, without the name and what follows it.
const RECORD: &[u8] = b"PK\x01\x02";
const RECORD_SIZE: usize = 46;
/// The header before the content of a file.
const HEADER_SIZE: usize = 30;
/// How much of a file shows what it is.
const SHOWN: u64 = 1 << 16;

/// An archive with the files of a zip archive that may contain PTX, with the names that they have there.
///
/// # Errors
///
/// [`Code::ContentTooLarge`] if these files have more than `limit` bytes, [`Code::MalformedContainer`] and [`Code::CorruptContent`] if the zip archive
/// is damaged, [`Code::UnsupportedContainer`] if it is larger than 4 GB.
///
/// ```
/// let error = ptx_container::unzip(b"PK\x03\x04", 1000).unwrap_err();
/// assert_eq!(error.code(), ptx_ir::Code::MalformedContainer);
/// ```
pub fn unzip(bytes: &[u8], limit: u64) -> Result<Vec<u8>, ContainerError> {
    let malformed = |at: usize, message| ContainerError::new(Code::MalformedContainer, at, message);
    let (mut at, count) = directory(bytes)
        .ok_or_else(|| malformed(0, "the directory of the zip archive is missing"))?;
    if at == u32::MAX as usize || count == u16::MAX {
        let message = "a zip archive of more than 4 GB or 65,534 files";
        return Err(ContainerError::new(Code::UnsupportedContainer, 0, message));
    }
    let mut archive = b"!<arch>\n".to_vec();
    for _ in 0..count {
        let file = File::read(bytes, at)
            .ok_or_else(|| malformed(at, "expected an entry of the directory"))?;
        at = file.next;
        file.add_to(&mut archive, bytes, limit)?;
    }
    Ok(archive)
}

/// Where the directory is, and how many files it has.
fn directory(bytes: &[u8]) -> Option<(usize, u16)> {
    let first = bytes.len().saturating_sub(END_SIZE + MOST_COMMENT);
    let tail = bytes.get(first..)?;
    let end = first + tail.windows(END.len()).rposition(|w| w == END)?;
    Some((u32(bytes, end + 16)? as usize, u16(bytes, end + 10)?))
}

/// A file of a zip archive.
struct File<'a> {
    name: &'a [u8],
    content: &'a [u8],
    start: usize,
    is_deflated: bool,
    is_known: bool,
    /// Where the next record of the directory is.
    next: usize,
}

impl<'a> File<'a> {
    /// The file of the record at `at`.
    fn read(bytes: &'a [u8], at: usize) -> Option<Self> {
        bytes.get(at..)?.strip_prefix(RECORD)?;
        let length = |from: usize, offset: usize| Some(usize::from(u16(bytes, from + offset)?));
        let (name, extra, comment) = (length(at, 28)?, length(at, 30)?, length(at, 32)?);
        let (method, flags) = (u16(bytes, at + 10)?, u16(bytes, at + 8)?);
        let stored = u32(bytes, at + 20)? as usize;
        let header = u32(bytes, at + 42)? as usize;
        let before = HEADER_SIZE + length(header, 26)? + length(header, 28)?;
        let start = header.checked_add(before)?;
        let name_start = at + RECORD_SIZE;
        Some(Self {
            name: bytes.get(name_start..name_start + name)?,
            content: bytes.get(start..start.checked_add(stored)?)?,
            start,
            is_deflated: method == 8,
            is_known: matches!(method, 0 | 8) && flags & 1 == 0,
            next: name_start + name + extra + comment,
        })
    }

    /// At most this many bytes of the content.
    fn bytes(&self, most: u64) -> Result<Vec<u8>, ContainerError> {
        let mut content = Vec::new();
        let read = match self.is_deflated {
            true => DeflateDecoder::new(self.content)
                .take(most)
                .read_to_end(&mut content),
            false => self.content.take(most).read_to_end(&mut content),
        };
        let invalid = |error| {
            let name = String::from_utf8_lossy(self.name);
            let message = format!("`{name}` cannot be decompressed: {error}");
            ContainerError::new(Code::CorruptContent, self.start, message)
        };
        read.map(|_| content).map_err(invalid)
    }

    /// Adds the file to an archive if it may contain PTX.
    fn add_to(&self, archive: &mut Vec<u8>, zip: &[u8], limit: u64) -> Result<(), ContainerError> {
        if !self.is_known || self.content.is_empty() {
            return Ok(());
        }
        let format = InputFormat::of(&self.bytes(SHOWN)?);
        if !format.is_container() || format == InputFormat::Binary {
            return Ok(());
        }
        let left = limit.saturating_sub(archive.len() as u64);
        let content = self.bytes(left.saturating_add(1))?;
        if content.len() as u64 > left {
            let message =
                format!("the files of the zip archive have more than the limit of {limit} bytes");
            return Err(ContainerError::new(
                Code::ContentTooLarge,
                zip.len(),
                message,
            ));
        }
        let size = self.name.len() + content.len();
        let kind = format!("#1/{}", self.name.len());
        let header = format!("{kind:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(self.name);
        archive.extend_from_slice(&content);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
        Ok(())
    }
}
