//! Finds fatbins and lists their entries.
//!
//! A fatbin is a header and entries. All numbers are little-endian, and offsets are in bytes.
//!
//! ```text
//! header of a fatbin                  header of an entry
//!  0  u32  magic number                0  u16  kind
//!  4  u16  version: 1                  2  u16  version: 1 in the upper byte
//!  6  u16  size of the header: 16      4  u32  size of the header and its texts
//!  8  u64  size of all entries         8  u64  size of the content in the file
//!                                     16  u32  size if compressed, else 0
//!                                     20  u32  offset of the options record: u32 offset, u32 length
//!                                     24  u16  minor version of PTX
//!                                     26  u16  major version of PTX
//!                                     28  u32  target: 90 for sm_90
//!                                     32  u32  offset of the name of the source file
//!                                     36  u32  length of the name of the source file
//!                                     40  u64  flags
//!                                     56  u64  size after decompression
//! ```

use std::ops::Range;

use ptx_ir::Code;

use crate::dump;
use crate::entry::{ContainerEntry, EntryKind};
use crate::error::ContainerError;
use crate::format::{FATBIN_MAGIC, InputFormat};
use crate::little_endian::{read_u16, read_u32, read_u64};
use crate::regions::{Region, Regions, Search};

/// The size of the header of a fatbin in bytes.
const HEADER: usize = 16;
/// The minimum size of the header of an entry in bytes.
const ENTRY_HEADER: usize = 64;
/// Fatbins begin at multiples of this number of bytes.
const ALIGNMENT: usize = 8;

/// Returns the entries of the fatbins of a file, in the order of the file. A file without fatbins has no entries.
///
/// After an error, the entries of the next fatbin follow. A gzip file has to be decompressed by [`gunzip`](crate::gunzip) first.
///
/// ```
/// let bytes = include_bytes!("../tests/data/k.o");
/// let names: Vec<String> = ptx_container::entries(bytes).map(|e| Ok(e?.name())).collect::<Result<_, _>>()?;
/// assert_eq!(names, ["1.sm_90.ptx", "1.sm_90.cubin"]);
/// # Ok::<(), ptx_container::ContainerError>(())
/// ```
#[must_use]
pub fn entries(bytes: &[u8]) -> Entries<'_> {
    let dumped = match InputFormat::of(bytes) {
        InputFormat::Dump => dump::entries(bytes),
        _ => Vec::new(),
    };
    Entries {
        bytes,
        dumped: dumped.into_iter(),
        regions: Regions::new(bytes),
        region: None,
        fatbin: None,
        fatbin_count: 0,
        entry_counts: [0; 4],
    }
}

/// An iterator over the entries of the fatbins of a file.
pub struct Entries<'a> {
    bytes: &'a [u8],
    /// The remaining modules of the text of `cuobjdump`.
    dumped: std::vec::IntoIter<ContainerEntry>,
    regions: Regions<'a>,
    /// The remaining part of the current region.
    region: Option<Region>,
    /// The remaining part of the current fatbin.
    fatbin: Option<Fatbin>,
    fatbin_count: usize,
    /// The numbers of entries by [`EntryKind::counter`].
    entry_counts: [usize; 4],
}

impl std::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").finish_non_exhaustive()
    }
}

/// The remaining part of a fatbin.
struct Fatbin {
    /// The range of the remaining entries in the file, cut at the end of the region.
    range: Range<usize>,
    /// The index of the next entry.
    index: usize,
    /// Whether the fatbin was cut at the end of the region.
    is_truncated: bool,
}

/// An error at an offset of the file.
#[derive(Copy, Clone)]
struct Failure {
    code: Code,
    offset: usize,
    message: &'static str,
}

impl Failure {
    const fn truncated(offset: usize, message: &'static str) -> Self {
        Self {
            code: Code::TruncatedContainer,
            offset,
            message,
        }
    }

    const fn malformed(offset: usize, message: &'static str) -> Self {
        Self {
            code: Code::MalformedContainer,
            offset,
            message,
        }
    }

    const fn unsupported(offset: usize, message: &'static str) -> Self {
        Self {
            code: Code::UnsupportedContainer,
            offset,
            message,
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<ContainerEntry, ContainerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(entry) = self.dumped.next() {
            return Some(Ok(entry));
        }
        loop {
            let Some(region) = &mut self.region else {
                match self.regions.next()? {
                    Ok(region) => self.region = Some(region),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            };
            let next_fatbin = match &mut self.fatbin {
                Some(fatbin) if !fatbin.range.is_empty() => match fatbin.next_entry(self.bytes) {
                    Ok(mut entry) => {
                        let count = &mut self.entry_counts[entry.kind.counter()];
                        *count += 1;
                        entry.number = *count;
                        entry.container = self.fatbin_count - 1;
                        entry.member.clone_from(&region.member);
                        // If the next entry is damaged, the search for the next fatbin continues here.
                        region.range.start = fatbin.range.start;
                        return Some(Ok(entry));
                    }
                    Err(failure) => Err(failure),
                },
                Some(fatbin) if fatbin.is_truncated => Err(Failure::truncated(
                    fatbin.range.start,
                    "the fatbin ends before its last entry",
                )),
                _ => find_fatbin(self.bytes, region),
            };
            match next_fatbin {
                Ok(Some(fatbin)) => {
                    self.fatbin_count += 1;
                    self.fatbin = Some(fatbin);
                }
                Ok(None) => (self.region, self.fatbin) = (None, None),
                Err(failure) => {
                    self.fatbin = None;
                    let error = ContainerError::new(failure.code, failure.offset, failure.message);
                    return Some(Err(error.within(region.member.as_ref())));
                }
            }
        }
    }
}

/// Finds the next fatbin of a region, and removes the searched part from the region.
fn find_fatbin(bytes: &[u8], region: &mut Region) -> Result<Option<Fatbin>, Failure> {
    loop {
        let searched = region.range.start - region.base;
        region.range.start = region.base + searched.next_multiple_of(ALIGNMENT);
        let unsearched = bytes.get(region.range.clone()).unwrap_or_default();
        let magic = FATBIN_MAGIC.to_le_bytes();
        let Some(index) = unsearched
            .chunks(ALIGNMENT)
            .position(|chunk| chunk.starts_with(&magic))
        else {
            return Ok(None);
        };
        let offset = region.range.start + index * ALIGNMENT;
        let fatbin = &unsearched[index * ALIGNMENT..];
        region.range.start = offset + ALIGNMENT;
        let header = (
            read_u16(fatbin, 4),
            read_u16(fatbin, 6),
            read_u64(fatbin, 8),
        );
        let is_known = matches!(header, (Some(1), Some(16), Some(_)));
        if region.search == Search::Anything && !(is_known && begins_with_entry(fatbin)) {
            continue;
        }
        let (Some(version), Some(_), Some(len)) = header else {
            let message = "the header of a fatbin is truncated";
            return Err(Failure::truncated(offset, message));
        };
        if !is_known {
            let message = match version {
                1 => "expected 16 as the size of the header of a fatbin",
                _ => "expected version 1 of a fatbin",
            };
            return Err(Failure::unsupported(offset, message));
        }
        let start = offset + HEADER;
        region.range.start = start;
        let available = region.range.end - start;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        return Ok(Some(Fatbin {
            range: start..start + len.min(available),
            index: 0,
            is_truncated: len > available,
        }));
    }
}

/// Whether a fatbin is empty, or the bytes after its header are a plausible header of an entry.
fn begins_with_entry(fatbin: &[u8]) -> bool {
    let version = read_u16(fatbin, HEADER + 2).map(|version| version >> 8);
    let header = read_u32(fatbin, HEADER + 4);
    read_u64(fatbin, 8) == Some(0)
        || version == Some(1) && header.is_some_and(|len| len as usize >= ENTRY_HEADER)
}

/// The header of an entry and the bytes after it.
struct EntryReader<'a> {
    bytes: &'a [u8],
    /// The offset of the header in the file.
    offset: usize,
}

impl EntryReader<'_> {
    const fn truncated(&self) -> Failure {
        Failure::truncated(self.offset, "the header of an entry is truncated")
    }

    fn u16(&self, offset: usize) -> Result<u16, Failure> {
        read_u16(self.bytes, offset).ok_or(self.truncated())
    }

    fn u32(&self, offset: usize) -> Result<u32, Failure> {
        read_u32(self.bytes, offset).ok_or(self.truncated())
    }

    fn u64(&self, offset: usize) -> Result<u64, Failure> {
        read_u64(self.bytes, offset).ok_or(self.truncated())
    }

    fn size(&self, offset: usize) -> Result<usize, Failure> {
        Ok(self.u32(offset)? as usize)
    }

    /// The text whose offset and length are at two offsets; empty if it is not in the header.
    fn text(
        &self,
        offset_at: usize,
        length_at: usize,
        header_size: usize,
    ) -> Result<String, Failure> {
        let (start, len) = (self.size(offset_at)?, self.size(length_at)?);
        let bytes = start
            .checked_add(len)
            .filter(|end| *end <= header_size)
            .and_then(|end| self.bytes.get(start..end))
            .unwrap_or_default();
        let text = String::from_utf8_lossy(bytes);
        Ok(text.trim_matches(['\0', ' ']).to_owned())
    }
}

impl Fatbin {
    /// Reads the next entry. The caller sets its number, fatbin and member.
    fn next_entry(&mut self, bytes: &[u8]) -> Result<ContainerEntry, Failure> {
        let offset = self.range.start;
        let remaining = bytes.get(self.range.clone()).unwrap_or_default();
        let reader = EntryReader {
            bytes: remaining,
            offset,
        };
        let header_size = reader.size(4)?;
        let payload_size = usize::try_from(reader.u64(8)?).unwrap_or(usize::MAX);
        if header_size < ENTRY_HEADER {
            let message = "the header of an entry has less than 64 bytes";
            return Err(Failure::malformed(offset, message));
        }
        let compressed_size = reader.size(16)?;
        if compressed_size > payload_size {
            let message = "an entry has more compressed bytes than bytes in the file";
            return Err(Failure::malformed(offset, message));
        }
        let is_compressed = compressed_size > 0;
        let size = if is_compressed {
            reader.u64(56)?
        } else {
            payload_size as u64
        };
        let kind = EntryKind::new(reader.u16(0)?);
        let options_record = reader.size(20)?;
        let options = match kind {
            // The record of machine code is binary.
            EntryKind::Ptx | EntryKind::Nvvm
                if options_record != 0 && options_record < header_size =>
            {
                let length_at = options_record.saturating_add(4);
                reader.text(options_record, length_at, header_size)?
            }
            _ => String::new(),
        };
        let entry = ContainerEntry {
            kind,
            container: 0,
            index: self.index,
            number: 0,
            member: None,
            offset,
            payload: offset.saturating_add(header_size),
            stored: if is_compressed {
                compressed_size
            } else {
                payload_size
            },
            size,
            version: (reader.u16(26)?, reader.u16(24)?),
            sm: reader.u32(28)?,
            flags: reader.u64(40)?,
            is_compressed,
            options,
            identifier: reader.text(32, 36, header_size)?,
        };
        let len = header_size.saturating_add(payload_size);
        if len > remaining.len() {
            let message = "an entry is larger than what is left of its fatbin";
            return Err(Failure::truncated(offset, message));
        }
        self.range.start += len;
        self.index += 1;
        Ok(entry)
    }
}
