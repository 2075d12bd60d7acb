//! Which parts of a file contain fatbins.

use std::ops::Range;
use std::sync::Arc;

use object::elf::{FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::pe::ImageFileHeader;
use object::read::coff::CoffHeader as _;
use object::read::elf::{FileHeader, SectionHeader as _};
use ptx_ir::Code;

use crate::archive::Members;
use crate::error::ContainerError;
use crate::format::InputFormat;
use crate::little_endian::u32;

/// What is known about a region.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    /// It consists of fatbins.
    Fatbins,
    /// It may contain fatbins, and bytes that only look like the start of one.
    Anything,
}

/// A part of a file.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) range: Range<usize>,
    /// Fatbins are at multiples of 8 from here.
    pub(crate) base: usize,
    pub(crate) search: Search,
    pub(crate) member: Option<Arc<str>>,
}

type Found = Result<Region, ContainerError>;

/// Iterates over the regions of a file, in order; they do not overlap.
pub(crate) struct Regions<'a> {
    bytes: &'a [u8],
    members: Option<Members<'a>>,
    /// Of the current member or the whole file, last one first.
    found: Vec<Found>,
}

impl<'a> Regions<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let is_archive = InputFormat::of(bytes) == InputFormat::Archive;
        let found = match is_archive {
            true => Vec::new(),
            false => regions(bytes, 0..bytes.len(), None),
        };
        Self {
            bytes,
            members: is_archive.then(|| Members::new(bytes)),
            found,
        }
    }
}

impl Iterator for Regions<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.found.pop() {
                return Some(found);
            }
            self.found = match self.members.as_mut()?.next()? {
                Ok(member) => regions(self.bytes, member.start..member.end, Some(&member.name)),
                Err(error) => return Some(Err(error)),
            };
        }
    }
}

/// The regions of a single file, not an archive, last one first.
fn regions(bytes: &[u8], place: Range<usize>, member: Option<&Arc<str>>) -> Vec<Found> {
    let file = bytes.get(place.clone()).unwrap_or_default();
    let whole = 0..file.len();
    let mut sections = match InputFormat::of(file) {
        InputFormat::Fatbin => vec![whole.clone()],
        InputFormat::Elf | InputFormat::ElfObject => match file.get(4) {
            Some(1) => elf::<FileHeader32<Endianness>>(file).unwrap_or_default(),
            _ => elf::<FileHeader64<Endianness>>(file).unwrap_or_default(),
        },
        InputFormat::Pe => {
            let signature = u32(file, 0x3c).unwrap_or(u32::MAX);
            coff(file, u64::from(signature) + 4).unwrap_or_default()
        }
        InputFormat::CoffObject => coff(file, 0).unwrap_or_default(),
        InputFormat::Binary => Vec::new(),
        _ => return Vec::new(),
    };
    let search = match sections[..] {
        [] => Search::Anything,
        _ => Search::Fatbins,
    };
    if sections.is_empty() {
        sections.push(whole);
    }
    sections.sort_by_key(|range| range.start);
    let mut found = Vec::new();
    let mut seen = 0;
    for section in sections {
        let range = section.start.max(seen)..section.end.min(file.len());
        if section.end > file.len() {
            let error = ContainerError::new(
                Code::TruncatedContainer,
                place.start + section.start,
                "a section with fatbins ends after the end of the file",
            );
            found.push(Err(error.within(member)));
        }
        if range.is_empty() {
            continue;
        }
        seen = range.end;
        found.push(Ok(Region {
            range: place.start + range.start..place.start + range.end,
            base: place.start + section.start,
            search,
            member: member.cloned(),
        }));
    }
    found.reverse();
    found
}

/// The sections of an ELF file that contain fatbins. A name is only compared, since in a crafted file all sections could share one long name.
fn elf<E: FileHeader>(file: &[u8]) -> Option<Vec<Range<usize>>> {
    let header = E::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let names = header.section_strings_index(endian, file).ok()?;
    let names = sections.section(names).ok()?.data(endian, file).ok()?;
    let mut ranges = Vec::new();
    for section in sections.iter() {
        let name = names.get(section.sh_name(endian) as usize..);
        let name = name.unwrap_or_default();
        if name.starts_with(b".nv_fatbin\0") || name.starts_with(b"__nv_relfatbin\0") {
            ranges.extend(
                section
                    .file_range(endian)
                    .and_then(|(at, len)| range(at, len)),
            );
        }
    }
    Some(ranges)
}

/// The sections of a PE or COFF file that contain fatbins; their names are cut after 8 bytes.
fn coff(file: &[u8], mut header_at: u64) -> Option<Vec<Range<usize>>> {
    let header = ImageFileHeader::parse(file, &mut header_at).ok()?;
    let sections = header.sections(file, header_at).ok()?;
    let fatbins = sections.iter().filter(|s| s.name == *b".nv_fatb");
    let ranges = fatbins.filter_map(|s| s.coff_file_range());
    Some(
        ranges
            .filter_map(|(at, len)| range(at.into(), len.into()))
            .collect(),
    )
}

fn range(at: u64, len: u64) -> Option<Range<usize>> {
    let end = at.saturating_add(len);
    let [at, end] = [at, end].map(usize::try_from);
    Some(at.ok()?..end.ok()?)
}
