//! The regions of a file that contain fatbins.

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
use crate::little_endian::read_u32;

/// The content of a region.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    /// The region consists of fatbins.
    Fatbins,
    /// The region may contain fatbins, and bytes that only look like the start of one.
    Anything,
}

/// A part of a file that may contain fatbins.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) range: Range<usize>,
    /// The offset from which fatbins are aligned.
    pub(crate) base: usize,
    pub(crate) search: Search,
    /// The archive member that contains the region.
    pub(crate) member: Option<Arc<str>>,
}

type RegionResult = Result<Region, ContainerError>;

/// An iterator over the regions of a file, in order. Regions do not overlap.
pub(crate) struct Regions<'a> {
    bytes: &'a [u8],
    /// The members that were not visited yet; `None` if the file is not an archive.
    members: Option<Members<'a>>,
    /// The remaining regions of the current member or of the file.
    current: std::vec::IntoIter<RegionResult>,
}

impl<'a> Regions<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let (members, regions) = match InputFormat::of(bytes) {
            InputFormat::Archive => (Some(Members::new(bytes)), Vec::new()),
            _ => (None, file_regions(bytes, 0..bytes.len(), None)),
        };
        Self {
            bytes,
            members,
            current: regions.into_iter(),
        }
    }
}

impl Iterator for Regions<'_> {
    type Item = RegionResult;

    fn next(&mut self) -> Option<RegionResult> {
        loop {
            if let Some(region) = self.current.next() {
                return Some(region);
            }
            match self.members.as_mut()?.next()? {
                Ok(member) => {
                    let regions = file_regions(self.bytes, member.range, Some(&member.name));
                    self.current = regions.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The regions of the file at `file_range` in `bytes`, which is not an archive.
fn file_regions(
    bytes: &[u8],
    file_range: Range<usize>,
    member: Option<&Arc<str>>,
) -> Vec<RegionResult> {
    let file = bytes.get(file_range.clone()).unwrap_or_default();
    let mut sections = match InputFormat::of(file) {
        InputFormat::Fatbin => vec![Range {
            start: 0,
            end: file.len(),
        }],
        InputFormat::Elf | InputFormat::ElfObject => match file.get(4) {
            Some(1) => elf_sections::<FileHeader32<Endianness>>(file).unwrap_or_default(),
            _ => elf_sections::<FileHeader64<Endianness>>(file).unwrap_or_default(),
        },
        InputFormat::Pe => {
            let signature = read_u32(file, 0x3c).unwrap_or(u32::MAX);
            coff_sections(file, u64::from(signature) + 4).unwrap_or_default()
        }
        InputFormat::CoffObject => coff_sections(file, 0).unwrap_or_default(),
        InputFormat::Binary => Vec::new(),
        _ => return Vec::new(),
    };
    let mut search = Search::Fatbins;
    if sections.is_empty() {
        search = Search::Anything;
        sections.push(0..file.len());
    }
    sections.sort_by_key(|section| section.start);
    let mut regions = Vec::new();
    let mut previous_end = 0;
    for section in sections {
        if section.end > file.len() {
            let error = ContainerError::new(
                Code::TruncatedContainer,
                file_range.start + section.start,
                "a section with fatbins ends after the end of the file",
            );
            regions.push(Err(error.within(member)));
        }
        let start = section.start.max(previous_end);
        let end = section.end.min(file.len());
        if start >= end {
            continue;
        }
        previous_end = end;
        regions.push(Ok(Region {
            range: file_range.start + start..file_range.start + end,
            base: file_range.start + section.start,
            search,
            member: member.cloned(),
        }));
    }
    regions
}

/// The sections of an ELF file that contain fatbins; `None` if the file cannot be parsed. Names are compared in place, because in a crafted file all
/// sections could share one long name.
fn elf_sections<E: FileHeader>(file: &[u8]) -> Option<Vec<Range<usize>>> {
    let header = E::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let names_index = header.section_strings_index(endian, file).ok()?;
    let names = sections
        .section(names_index)
        .ok()?
        .data(endian, file)
        .ok()?;
    let mut ranges = Vec::new();
    for section in sections.iter() {
        let name = names
            .get(section.sh_name(endian) as usize..)
            .unwrap_or_default();
        let is_fatbin = name.starts_with(b".nv_fatbin\0") || name.starts_with(b"__nv_relfatbin\0");
        if is_fatbin && let Some((offset, len)) = section.file_range(endian) {
            ranges.extend(range(offset, len));
        }
    }
    Some(ranges)
}

/// The sections of a PE or COFF file that contain fatbins; `None` if the file cannot be parsed. Section names are cut after 8 bytes.
fn coff_sections(file: &[u8], mut header_offset: u64) -> Option<Vec<Range<usize>>> {
    let header = ImageFileHeader::parse(file, &mut header_offset).ok()?;
    let sections = header.sections(file, header_offset).ok()?;
    let mut ranges = Vec::new();
    for section in sections.iter().filter(|s| s.name == *b".nv_fatb") {
        if let Some((offset, len)) = section.coff_file_range() {
            ranges.extend(range(offset.into(), len.into()));
        }
    }
    Some(ranges)
}

fn range(offset: u64, len: u64) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = usize::try_from(offset.saturating_add(len)).ok()?;
    Some(start..end)
}
