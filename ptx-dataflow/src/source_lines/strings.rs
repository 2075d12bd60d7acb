//! Strings in debug sections.

use alloc::vec::Vec;

use ptx_ir::{Module, NameId, SectionEntry};

use super::loc::DebugName;

/// The bytes of the debug sections, and where their labels are.
#[derive(Clone, Default, Debug)]
pub(super) struct Strings {
    /// Bytes of all sections with labels, one after the other; labels and other references are 0.
    bytes: Vec<u8>,
    /// Labels and sections with their offsets in `bytes`, sorted by name.
    places: Vec<(NameId, usize)>,
}

impl Strings {
    pub(super) fn new(module: &Module) -> Self {
        let mut strings = Self::default();
        for section in module.sections().values() {
            let has_label = |e: &SectionEntry| matches!(e, SectionEntry::Label(_));
            if !section.entries.iter().any(has_label) {
                continue;
            }
            strings.places.push((section.name, strings.bytes.len()));
            for entry in &section.entries {
                match *entry {
                    SectionEntry::Label(name) => strings.places.push((name, strings.bytes.len())),
                    SectionEntry::Int { ty, value, .. } => {
                        let width = (ty.bits() / 8) as usize;
                        let bytes = i64::from(value).to_le_bytes();
                        strings.bytes.extend(bytes.iter().take(width));
                    }
                    SectionEntry::Other { ty, .. } => {
                        let width = (ty.bits() / 8) as usize;
                        strings.bytes.resize(strings.bytes.len() + width, 0);
                    }
                    _ => {}
                }
            }
        }
        strings.places.sort_unstable();
        strings
    }

    /// The string at a place, up to its 0 byte.
    pub(super) fn get(&self, name: DebugName) -> Option<&[u8]> {
        let at = self.places.partition_point(|(n, _)| *n < name.base);
        let (_, start) = self.places.get(at).filter(|(n, _)| *n == name.base)?;
        let start = start.checked_add(usize::try_from(name.offset).ok()?)?;
        let rest = self.bytes.get(start..)?;
        let end = rest.iter().position(|b| *b == 0)?;
        rest.get(..end)
    }
}
