//! The strings of debug sections.

use alloc::vec::Vec;

use ptx_ir::{Module, NameId, SectionEntry};

use super::loc::DebugName;

/// The bytes of the debug sections, and the offsets of their labels.
#[derive(Clone, Default, Debug)]
pub(super) struct Strings {
    /// The bytes of all sections with labels, one after the other. References are zero bytes.
    bytes: Vec<u8>,
    /// The labels and sections with their offsets in `bytes`, sorted by name.
    labels: Vec<(NameId, usize)>,
}

impl Strings {
    pub(super) fn new(module: &Module) -> Self {
        let mut strings = Self::default();
        for section in module.sections().values() {
            let has_label = section
                .entries
                .iter()
                .any(|entry| matches!(entry, SectionEntry::Label(_)));
            if !has_label {
                continue;
            }
            strings.labels.push((section.name, strings.bytes.len()));
            for entry in &section.entries {
                match *entry {
                    SectionEntry::Label(name) => strings.labels.push((name, strings.bytes.len())),
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
        strings.labels.sort_unstable();
        strings
    }

    /// The string at a label and an offset, up to its zero byte.
    pub(super) fn get(&self, name: DebugName) -> Option<&[u8]> {
        let first = self.labels.partition_point(|(label, _)| *label < name.base);
        let (label, base) = self.labels.get(first)?;
        if *label != name.base {
            return None;
        }
        let start = base.checked_add(usize::try_from(name.offset).ok()?)?;
        let bytes = self.bytes.get(start..)?;
        let len = bytes.iter().position(|byte| *byte == 0)?;
        bytes.get(..len)
    }
}
