//! The module that is being built.

mod functions;
mod items;
pub(crate) mod tables;
mod variables;

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Code, FunctionKind, Limits, Module};
use ptx_isa::{Directive, PtxVersion, Target, TargetOption};

use crate::check::{self, Parsed};
use crate::draft::Draft;
use crate::error::{BuildError, BuildErrorKind};
use crate::handle_owner::{HandleOwners, next_owner};
use crate::interface::FunctionHeader;
use crate::name_table::NameTable;
use tables::Tables;

/// A kind, a header without names, and a set of register types.
pub(crate) type HeaderShape = (FunctionKind, FunctionHeader, u128);

/// The number of legal headers that are remembered.
const MOST_HEADERS: usize = 32;

/// Makes a module: header, variables, kernels and functions.
#[derive(Debug)]
pub struct ModuleBuilder {
    pub(crate) tables: Tables,
    pub(crate) draft: Draft,
    version: PtxVersion,
    /// The target that counts: the last one.
    target: Target,
    first_target: Target,
    options: Vec<TargetOption>,
    /// Further lines of `.target`.
    additional_targets: Vec<String>,
    is_virtual: bool,
    address_size: Option<u8>,
    /// The places of all `.loc` so far.
    pub(crate) places: BTreeSet<[u32; 3]>,
    /// Headers of functions that are legal, without names, with the types of the registers declared after them.
    pub(crate) legal_headers: Vec<(HeaderShape, Arc<Parsed>)>,
    /// The indices of `.file`.
    files: Vec<u32>,
    /// The files that functions mention, each with the first function.
    mentioned_files: Vec<(u32, String)>,
}

impl ModuleBuilder {
    /// An empty module with addresses of 64 bits.
    #[must_use]
    pub fn new(version: PtxVersion, target: Target) -> Self {
        let mut module = Self {
            tables: Tables {
                owner: next_owner(),
                header: String::new(),
                globals: Vec::new(),
                functions: Vec::new(),
                names: NameTable::default(),
                handle_owners: HandleOwners::default(),
            },
            draft: Draft::new(),
            version,
            target,
            first_target: target,
            options: Vec::new(),
            additional_targets: Vec::new(),
            address_size: Some(64),
            places: BTreeSet::new(),
            legal_headers: Vec::new(),
            files: Vec::new(),
            is_virtual: false,
            mentioned_files: Vec::new(),
        };
        module.write_header();
        module
    }

    /// Remembers a legal header, which the next functions may have as well.
    pub(crate) fn note_legal_header(&mut self, shape: HeaderShape, parsed: &Arc<Parsed>) {
        if self.legal_headers.len() >= MOST_HEADERS {
            self.legal_headers.clear();
        }
        self.legal_headers.push((shape, parsed.clone()));
    }

    /// The text of the module so far, in the canonical style of `ptx-print`. Linear in the module.
    #[must_use]
    pub fn text(&self) -> String {
        self.draft.text()
    }

    /// The module, if it is legal as a whole. It has no source: all spans are empty, and it is printed from its records.
    ///
    /// # Errors
    ///
    /// A rule about more than one function is violated, or a function mentions a file that the module does not have.
    pub fn finish(self) -> Result<Module, BuildError> {
        let mut mentioned = self.mentioned_files.iter();
        if let Some((file, function)) =
            mentioned.find(|(f, _)| self.files.binary_search(f).is_err())
        {
            let message =
                format!("`{function}` comes from a file {file}, which the module does not have");
            let help = "`ModuleBuilder::file` adds it";
            return BuildErrorKind::Unplaced.refuse(Code::DebugInfo, message, help);
        }
        if !self.draft.is_complete() {
            let message = "a function of the module was neither finished nor dropped";
            let help = "finish or drop its builder";
            return Err(BuildError::new(BuildErrorKind::Unfinished, message, help));
        }
        let is_header_late = self.draft.is_header_late();
        let module = self.draft.finish();
        if Draft::errors(&module, is_header_late).is_empty() {
            return Ok(module);
        }
        // The errors need a text to be about.
        let text = ptx_print::display(&module).to_string();
        match check::errors(&text, 0, text.len()) {
            Ok(_) => Ok(module),
            Err(errors) => Err(BuildError::illegal(text, errors)),
        }
    }

    /// The module of [`finish`](Self::finish), printed in the canonical style and parsed again: statements have spans in its
    /// source.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn finish_with_source(self) -> Result<Module, BuildError> {
        let module = self.finish()?;
        let text = ptx_print::display(&module).to_string();
        Ok(ptx_parse::parse_with(text.into_bytes(), &Limits::default()).module)
    }
}

/// The operands of a `.target` directive.
fn target_line(target: &str, options: &[TargetOption]) -> String {
    let mut line = String::from(target);
    for option in options {
        line.push_str(", ");
        line.push_str(option.text());
    }
    line
}

impl ModuleBuilder {
    pub(super) fn write_header(&mut self) {
        self.legal_headers.clear();
        let mut target = self.first_target.text().to_string();
        if self.is_virtual {
            target = target.replacen("sm_", "compute_", 1);
        }
        let target = target_line(&target, &self.options);
        self.tables.header = format!(
            "{} {}\n{} {target}\n",
            Directive::Version,
            self.version,
            Directive::Target,
        );
        for line in &self.additional_targets {
            let _ = writeln!(self.tables.header, "{} {line}", Directive::Target);
        }
        if let Some(bits) = self.address_size {
            let _ = writeln!(self.tables.header, "{} {bits}", Directive::AddressSize);
        }
        self.draft.set_header(&self.tables.header);
    }

    ptx_isa::getters! {
        /// The version it is made for.
        version: PtxVersion = version;
        /// The target it is made for.
        target: Target = target;
    }

    /// Addresses of 32 or 64 bits.
    pub fn set_address_size(&mut self, bits: u8) {
        self.address_size = Some(bits);
        self.write_header();
    }

    /// Writes no `.address_size`: addresses have 32 bits then.
    pub fn without_address_size(&mut self) {
        self.address_size = None;
        self.write_header();
    }

    /// Writes the target as `compute_80` instead of `sm_80`, which means the same.
    pub fn write_virtual_target(&mut self) {
        self.is_virtual = true;
        self.write_header();
    }

    /// Adds an option after the target, such as `debug`. Manual 11.1.2.
    pub fn target_option(&mut self, option: TargetOption) {
        self.options.push(option);
        self.write_header();
    }

    /// Adds another `.target` line after the first: a target and options. The last target counts.
    pub fn another_target(&mut self, target: Target, options: &[TargetOption]) {
        self.additional_targets
            .push(target_line(target.text(), options));
        self.target = target;
        self.write_header();
    }
}
