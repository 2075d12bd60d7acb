//! The operands of `.loc` and `.file`, and the strings of debug sections that they refer to.

use alloc::vec::Vec;

use ptx_ir::{DirectiveStmt, Module, NameId, Operand, OperandPool, SectionEntry};
use ptx_isa::Directive;

/// A line and a column of a file, which is the number of a `.file`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The number of the file.
    pub file: i64,
    /// The line, from 1; 0 for code without one.
    pub line: u32,
    /// The column, from 1; 0 where it is not known.
    pub column: u32,
}

/// The operands of a `.loc`. Manual 11.5.4.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Loc {
    /// The position of the code in a source.
    pub position: Position,
    /// For inlined code: the function that contains the position, and the position of the call.
    pub inlined: Option<(DebugName, Position)>,
}

/// A label of a debug section, or such a section, and an offset in bytes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct DebugName {
    /// The label or section.
    pub base: NameId,
    /// The offset.
    pub offset: i64,
}

impl Loc {
    /// Reads the operands of a `.loc` or `.loc_intermediate`; `None` if they are malformed.
    #[must_use]
    pub fn read(pool: &OperandPool, loc: &DirectiveStmt) -> Option<Self> {
        let args = pool.slice(loc.args);
        let position = |first: usize| {
            let number = |i: usize| pool.integer(*args.get(first + i)?);
            Some(Position {
                file: number(0)?,
                line: u32::try_from(number(1)?).ok()?,
                column: u32::try_from(number(2)?).ok()?,
            })
        };
        let name = args.get(3).and_then(|name| DebugName::read(pool, *name));
        Some(Self {
            position: position(0)?,
            inlined: name.and_then(|name| Some((name, position(4)?))),
        })
    }
}

impl DebugName {
    /// Reads `name`, `.name` or `name+4`.
    #[must_use]
    pub fn read(pool: &OperandPool, operand: Operand) -> Option<Self> {
        let (base, offset) = match operand {
            Operand::Address(id) => {
                let address = pool.address(id)?;
                (address.base, address.offset)
            }
            other => (other, Operand::Absent),
        };
        let offset = match offset {
            Operand::Absent => 0,
            offset => pool.integer(offset)?,
        };
        match base {
            Operand::Name(base) | Operand::Section(base) => Some(Self { base, offset }),
            _ => None,
        }
    }
}

/// The number of a `.file`; `None` for another directive. Manual 11.5.3.
#[must_use]
pub fn file_number(module: &Module, file: &DirectiveStmt) -> Option<i64> {
    let first = module.pool().slice(file.args).first()?;
    match file.directive {
        Directive::File => module.pool().integer(*first),
        _ => None,
    }
}

/// The path of a `.file`, without its quotes.
pub(super) fn file_path<'m>(module: &'m Module, file: &DirectiveStmt) -> Option<&'m [u8]> {
    match module.pool().slice(file.args).get(1)? {
        Operand::Str(name) => {
            let text = module.name_bytes(*name);
            text.strip_prefix(b"\"")?.strip_suffix(b"\"")
        }
        _ => None,
    }
}

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
