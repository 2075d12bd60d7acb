//! Finds fatbins and lists their entries.

use std::ops::Range;

use ptx_ir::Code;

use crate::dump;
use crate::entry::{ContainerEntry, EntryKind};
use crate::error::ContainerError;
use crate::format::{FATBIN_MAGIC, InputFormat};
use crate::little_endian::{u16, u32, u64};
use crate::regions::{Region, Regions, Search};

/// The header of a fatbin: magic number, version, size of the header, size of all entries.
const HEADER: usize = 16;
/// The smallest header of an entry.
const ENTRY_HEADER: usize = 64;

/// Lists what the fatbins of a file contain, in the order of the file. A file without fatbins has no entries.
///
/// After an error, the entries of the next fatbin follow. A gzip file has to be decompressed first, see [`gunzip`](crate::gunzip).
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
        regions: Regions::new(bytes),
        dumped: dumped.into_iter(),
        region: None,
        fatbin: None,
        fatbins: 0,
        numbers: [0; 4],
    }
}

/// Iterates over the entries of the fatbins of a file.
pub struct Entries<'a> {
    bytes: &'a [u8],
    regions: Regions<'a>,
    /// The modules of the text of `cuobjdump`.
    dumped: std::vec::IntoIter<ContainerEntry>,
    /// The rest of the current region.
    region: Option<Region>,
    /// The rest of the current fatbin.
    fatbin: Option<Fatbin>,
    fatbins: usize,
    /// How many entries of each kind were found.
    numbers: [usize; 4],
}

impl std::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").finish_non_exhaustive()
    }
}

struct Fatbin {
    /// What is left of it in the region.
    range: Range<usize>,
    index: usize,
    /// Whether it should be longer.
    is_truncated: bool,
}

type Fail = (Code, usize, &'static str);

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
            let step = match &mut self.fatbin {
                Some(fatbin) if !fatbin.range.is_empty() => {
                    match fatbin.next(self.bytes) {
                        Ok(mut entry) => {
                            let number = &mut self.numbers[entry.kind.counter()];
                            *number += 1;
                            entry.number = *number;
                            entry.container = self.fatbins - 1;
                            entry.member.clone_from(&region.member);
                            // What follows is searched from here, should the fatbin be damaged.
                            region.range.start = fatbin.range.start;
                            return Some(Ok(entry));
                        }
                        Err(error) => Err(error),
                    }
                }
                Some(fatbin) if fatbin.is_truncated => {
                    let message = "the fatbin ends before its last entry";
                    Err((Code::TruncatedContainer, fatbin.range.start, message))
                }
                _ => next_fatbin(self.bytes, region),
            };
            match step {
                Ok(Some(fatbin)) => {
                    self.fatbins += 1;
                    self.fatbin = Some(fatbin);
                }
                Ok(None) => (self.region, self.fatbin) = (None, None),
                Err((code, at, message)) => {
                    self.fatbin = None;
                    let error = ContainerError::new(code, at, message);
                    return Some(Err(error.within(region.member.as_ref())));
                }
            }
        }
    }
}

/// Searches the rest of a region, from which it removes what was searched.
fn next_fatbin(bytes: &[u8], region: &mut Region) -> Result<Option<Fatbin>, Fail> {
    loop {
        let done = region.range.start - region.base;
        region.range.start = region.base + done.next_multiple_of(8);
        let rest = bytes.get(region.range.clone()).unwrap_or_default();
        let magic = FATBIN_MAGIC.to_le_bytes();
        let Some(words) = rest.chunks(8).position(|word| word.starts_with(&magic)) else {
            return Ok(None);
        };
        let at = region.range.start + words * 8;
        let rest = &rest[words * 8..];
        region.range.start = at + 8;
        let header = (u16(rest, 4), u16(rest, 6), u64(rest, 8));
        let is_known = matches!(header, (Some(1), Some(16), Some(_)));
        if region.search == Search::Anything && !(is_known && is_entry(rest)) {
            continue;
        }
        let (Some(version), Some(size), Some(len)) = header else {
            return Err((
                Code::TruncatedContainer,
                at,
                "the header of a fatbin is truncated",
            ));
        };
        if !is_known {
            let message = match (version, size) {
                (1, _) => "expected 16 as the size of the header of a fatbin",
                _ => "expected version 1 of a fatbin",
            };
            return Err((Code::UnsupportedContainer, at, message));
        }
        let start = at + HEADER;
        region.range.start = start;
        let left = region.range.end - start;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        return Ok(Some(Fatbin {
            range: start..start + len.min(left),
            index: 0,
            is_truncated: len > left,
        }));
    }
}

/// Whether a fatbin starts with what looks like an entry, or is empty.
fn is_entry(fatbin: &[u8]) -> bool {
    let version = u16(fatbin, HEADER + 2).map(|version| version >> 8);
    let header = u32(fatbin, HEADER + 4);
    u64(fatbin, 8) == Some(0)
        || version == Some(1) && header.is_some_and(|len| len as usize >= ENTRY_HEADER)
}

impl Fatbin {
    /// Reads the next entry; its number, fatbin and member are not known here.
    fn next(&mut self, bytes: &[u8]) -> Result<ContainerEntry, Fail> {
        let at = self.range.start;
        let rest = bytes.get(self.range.clone()).unwrap_or_default();
        let truncated = (
            Code::TruncatedContainer,
            at,
            "the header of an entry is truncated",
        );
        let malformed = |message| (Code::MalformedContainer, at, message);
        let number = |at| u32(rest, at).map(|n| n as usize).ok_or(truncated);
        let half = |at| u16(rest, at).ok_or(truncated);
        let long = |at| u64(rest, at).ok_or(truncated);
        let header = number(4)?;
        let payload = usize::try_from(long(8)?).unwrap_or(usize::MAX);
        if header < ENTRY_HEADER {
            return Err(malformed("the header of an entry has less than 64 bytes"));
        }
        let compressed = number(16)?;
        if compressed > payload {
            return Err(malformed(
                "an entry has more compressed bytes than bytes in the file",
            ));
        }
        let size = match compressed {
            0 => payload as u64,
            _ => long(56)?,
        };
        let text = |at: usize, len: usize| {
            let inside = at.checked_add(len).filter(|end| *end <= header)?;
            let text = String::from_utf8_lossy(rest.get(at..inside)?);
            Some(text.trim_matches(['\0', ' ']).to_owned())
        };
        let kind = EntryKind::new(half(0)?);
        let record = number(20)?;
        let options = match kind {
            // For machine code, the record is binary.
            EntryKind::Ptx | EntryKind::Nvvm if record != 0 && record < header => {
                text(number(record)?, number(record.saturating_add(4))?)
            }
            _ => None,
        };
        let entry = ContainerEntry {
            kind,
            container: 0,
            index: self.index,
            number: 0,
            member: None,
            offset: at,
            payload: at.saturating_add(header),
            stored: if compressed > 0 { compressed } else { payload },
            size,
            version: (half(26)?, half(24)?),
            sm: u32(rest, 28).ok_or(truncated)?,
            flags: long(40)?,
            compressed: compressed > 0,
            options: options.unwrap_or_default(),
            identifier: text(number(32)?, number(36)?).unwrap_or_default(),
        };
        let len = header.saturating_add(payload);
        if len > rest.len() {
            let message = "an entry is larger than what is left of its fatbin";
            return Err((Code::TruncatedContainer, at, message));
        }
        self.range.start += len;
        self.index += 1;
        Ok(entry)
    }
}
