//! Files that may contain PTX: their formats and the modules in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ptx_container::{ContainerEntry, ContainerError, DEFAULT_LIMIT, EntryKind, InputFormat};
use ptx_ir::{Code, SourceText};
use ptx_report::container_choice::Choice;
use ptx_report::counted;

/// The largest number of errors of a file that are reported.
pub(crate) const MAX_ERRORS: usize = 20;

/// A file that was read, decompressed if it is a gzip file.
pub(crate) struct Opened {
    pub(crate) bytes: SourceText,
    pub(crate) format: InputFormat,
    pub(crate) is_gzip: bool,
    /// The name of the format in JSON.
    pub(crate) format_name: &'static str,
    /// `an ELF object in a gzip file`
    pub(crate) description: String,
}

impl Opened {
    pub(crate) fn new(bytes: SourceText) -> Result<Self, ContainerError> {
        let unpacked = ptx_container::unpack(&bytes, DEFAULT_LIMIT)?;
        Ok(Self {
            format: unpacked.format,
            is_gzip: unpacked.is_gzip,
            format_name: unpacked.named.name(),
            description: unpacked.to_string(),
            bytes: unpacked.content.map_or(bytes, SourceText::from),
        })
    }

    /// Whether the file may be PTX.
    pub(crate) fn is_text(&self) -> bool {
        may_be_ptx(self.format)
    }

    /// All entries, and the first errors.
    pub(crate) fn entries(&self) -> (Vec<ContainerEntry>, Vec<ContainerError>) {
        let (mut entries, mut errors) = (Vec::new(), Vec::new());
        for entry in ptx_container::entries(&self.bytes) {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(error) if errors.len() < MAX_ERRORS => errors.push(error),
                Err(_) => {}
            }
        }
        (entries, errors)
    }

    /// The reason why no PTX can be read from the file. `other_modules` is the number of entries that are not PTX.
    pub(crate) fn refusal(&self, other_modules: usize) -> String {
        let description = &self.description;
        let without = match other_modules {
            0 if self.format == InputFormat::Binary || !self.format.is_container() => String::new(),
            0 => " without PTX".to_owned(),
            n => format!(" without PTX, but with {}", counted(n, "other module")),
        };
        format!(
            "{}: expected PTX, found {description}{without}",
            Code::NoPtx
        )
    }
}

/// Whether a file may be PTX. Otherwise it is a container, or it is refused.
pub(super) fn may_be_ptx(format: InputFormat) -> bool {
    matches!(format, InputFormat::Ptx | InputFormat::Text)
}

/// Whether a file has to be read before it is known how many modules it has. A pipe can be read only once.
pub(super) fn has_to_be_read(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(true);
    }
    let mut start = Vec::new();
    file.take(4096).read_to_end(&mut start)?;
    let format = InputFormat::of(&start);
    Ok(format.is_container() || matches!(format, InputFormat::Gzip | InputFormat::Zip))
}

/// Whether a file in a directory has a format that contains modules.
pub(crate) fn is_opened(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    let format = InputFormat::of(&start);
    read.is_ok()
        && format != InputFormat::Binary
        && (format.is_container() || matches!(format, InputFormat::Cubin | InputFormat::Zip))
}

/// The selected modules of a file, and the errors in reading it.
pub(super) struct Modules {
    pub(super) entries: Vec<ContainerEntry>,
    pub(super) errors: Vec<String>,
}

pub(super) fn modules(opened: &Opened, choice: Option<&Choice>) -> Modules {
    let (mut entries, errors) = opened.entries();
    let mut errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let entry_count = entries.len();
    entries.retain(|entry| entry.kind() == EntryKind::Ptx);
    let ptx_count = entries.len();
    let first = entries.first().map(ContainerEntry::name);
    entries.retain(|entry| choice.is_none_or(|choice| choice.fits(entry)));
    if ptx_count == 0 && errors.is_empty() {
        errors.push(opened.refusal(entry_count));
    }
    if let (Some(choice), Some(first), true) = (choice, first, entries.is_empty()) {
        let modules = counted(ptx_count, "module");
        errors.push(format!(
            "`{choice}` is not one of the {modules}, such as `{first}`; `ptxkit list` shows them"
        ));
    }
    Modules { entries, errors }
}

/// `libfoo.3.sm_90.ptx` for a module of `libfoo.so`, as `cuobjdump` names it.
pub(crate) fn file_name(path: &Path, module: Option<&str>) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match module {
        Some(module) => format!("{stem}.{module}"),
        // `kernel.ptx.gz`
        None if stem.ends_with(".ptx") => stem.into_owned(),
        None => format!("{stem}.ptx"),
    }
}
