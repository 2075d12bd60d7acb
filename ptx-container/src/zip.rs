//! Zip archives, such as Python wheels. Their files that may contain PTX are converted to an archive (`.a`).
//!
//! ```text
//! for each file:      header, name, extra data, content
//! central directory:  a record for each file, with the offset of its header
//! end:                the number of records, the offset of the first one, and a comment
//! ```

use std::io::Read as _;

use flate2::read::DeflateDecoder;
use ptx_ir::Code;

use crate::error::ContainerError;
use crate::format::InputFormat;
use crate::little_endian::{read_u16, read_u32};

/// The signature of the end of a zip archive.
const END: &[u8] = b"PK\x05\x06";
/// The size of the end without its comment in bytes.
const END_SIZE: usize = 22;
/// The maximum length of the comment in bytes.
const MAX_COMMENT: usize = 0xffff;
/// The signature of a record of the directory.
const RECORD: &[u8] = b"PK\x01\x02";
/// The size of a record without its name, extra data and comment in bytes.
const RECORD_SIZE: usize = 46;
/// The size of the header of a file without its name and extra data in bytes.
const HEADER_SIZE: usize = 30;
/// The number of bytes of a file by which its format is recognized.
const RECOGNIZED: u64 = 1 << 16;

/// Returns an archive (`.a`) with the files of a zip archive that may contain PTX. The names of its members are those of the files.
///
/// # Errors
///
/// * [`Code::ContentTooLarge`] if these files have more than `limit` bytes
/// * [`Code::MalformedContainer`] and [`Code::CorruptContent`] if the zip archive is damaged
/// * [`Code::UnsupportedContainer`] if the zip archive is larger than 4 GB
///
/// ```
/// let error = ptx_container::unzip(b"PK\x03\x04", 1000).unwrap_err();
/// assert_eq!(error.code(), ptx_ir::Code::MalformedContainer);
/// ```
pub fn unzip(bytes: &[u8], limit: u64) -> Result<Vec<u8>, ContainerError> {
    let Some(directory) = Directory::read(bytes) else {
        let message = "the directory of the zip archive is missing";
        return Err(ContainerError::new(Code::MalformedContainer, 0, message));
    };
    if directory.offset == u32::MAX || directory.record_count == u16::MAX {
        let message = "a zip archive of more than 4 GB or 65,534 files";
        return Err(ContainerError::new(Code::UnsupportedContainer, 0, message));
    }
    let mut archive = b"!<arch>\n".to_vec();
    let mut offset = directory.offset as usize;
    for _ in 0..directory.record_count {
        let Some(file) = File::read(bytes, offset) else {
            let message = "expected an entry of the directory";
            return Err(ContainerError::new(
                Code::MalformedContainer,
                offset,
                message,
            ));
        };
        offset = file.next_record;
        file.add_to(&mut archive, bytes, limit)?;
    }
    Ok(archive)
}

/// The location of the central directory.
struct Directory {
    offset: u32,
    record_count: u16,
}

impl Directory {
    fn read(bytes: &[u8]) -> Option<Self> {
        let tail_start = bytes.len().saturating_sub(END_SIZE + MAX_COMMENT);
        let tail = bytes.get(tail_start..)?;
        let end = tail_start + tail.windows(END.len()).rposition(|w| w == END)?;
        Some(Self {
            offset: read_u32(bytes, end + 16)?,
            record_count: read_u16(bytes, end + 10)?,
        })
    }
}

/// A file of a zip archive.
struct File<'a> {
    name: &'a [u8],
    /// The content, as it is stored.
    content: &'a [u8],
    /// The offset of the content.
    start: usize,
    is_deflated: bool,
    /// Whether the content is not encrypted, and stored or deflated.
    is_supported: bool,
    /// The offset of the next record of the directory.
    next_record: usize,
}

impl<'a> File<'a> {
    /// Reads the file of the record at an offset.
    fn read(bytes: &'a [u8], record: usize) -> Option<Self> {
        bytes.get(record..)?.strip_prefix(RECORD)?;
        let read_len = |offset| read_u16(bytes, offset).map(usize::from);
        let name_len = read_len(record + 28)?;
        let extra_len = read_len(record + 30)?;
        let comment_len = read_len(record + 32)?;
        let (flags, method) = (read_u16(bytes, record + 8)?, read_u16(bytes, record + 10)?);
        let stored_size = read_u32(bytes, record + 20)? as usize;
        let header = read_u32(bytes, record + 42)? as usize;
        let header_len = HEADER_SIZE + read_len(header + 26)? + read_len(header + 28)?;
        let start = header.checked_add(header_len)?;
        let name_start = record + RECORD_SIZE;
        Some(Self {
            name: bytes.get(name_start..name_start + name_len)?,
            content: bytes.get(start..start.checked_add(stored_size)?)?,
            start,
            is_deflated: method == 8,
            is_supported: matches!(method, 0 | 8) && flags & 1 == 0,
            next_record: name_start + name_len + extra_len + comment_len,
        })
    }

    /// Decompresses the content, up to a number of bytes.
    fn decompress(&self, max_bytes: u64) -> Result<Vec<u8>, ContainerError> {
        let mut content = Vec::new();
        let result = if self.is_deflated {
            DeflateDecoder::new(self.content)
                .take(max_bytes)
                .read_to_end(&mut content)
        } else {
            self.content.take(max_bytes).read_to_end(&mut content)
        };
        match result {
            Ok(_) => Ok(content),
            Err(error) => {
                let name = String::from_utf8_lossy(self.name);
                let message = format!("`{name}` cannot be decompressed: {error}");
                Err(ContainerError::new(
                    Code::CorruptContent,
                    self.start,
                    message,
                ))
            }
        }
    }

    /// Adds the file to an archive if it may contain PTX. Fails if the archive would be larger than `limit`.
    fn add_to(&self, archive: &mut Vec<u8>, zip: &[u8], limit: u64) -> Result<(), ContainerError> {
        if !self.is_supported || self.content.is_empty() {
            return Ok(());
        }
        let format = InputFormat::of(&self.decompress(RECOGNIZED)?);
        if !format.is_container() || format == InputFormat::Binary {
            return Ok(());
        }
        let available = limit.saturating_sub(archive.len() as u64);
        let content = self.decompress(available.saturating_add(1))?;
        if content.len() as u64 > available {
            let message =
                format!("the files of the zip archive have more than the limit of {limit} bytes");
            return Err(ContainerError::new(
                Code::ContentTooLarge,
                zip.len(),
                message,
            ));
        }
        let size = self.name.len() + content.len();
        // The name precedes the content, as in archives of BSD.
        let name = format!("#1/{}", self.name.len());
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(self.name);
        archive.extend_from_slice(&content);
        if !size.is_multiple_of(2) {
            archive.push(b'\n');
        }
        Ok(())
    }
}
