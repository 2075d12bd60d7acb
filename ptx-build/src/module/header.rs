//! The header of the module: version, target, address size.

use alloc::string::ToString;
use core::fmt::Write as _;

use ptx_isa::{Directive, PtxVersion, Target};

use super::ModuleBuilder;
use crate::error::BuildError;
use crate::lexical;

impl ModuleBuilder {
    pub(super) fn write_header(&mut self) {
        self.legal_headers.clear();
        let mut target = self.first_target.text().to_string();
        if self.is_virtual {
            target = target.replacen("sm_", "compute_", 1);
        }
        for option in &self.options {
            target.push_str(", ");
            target.push_str(option);
        }
        self.tables.header = format!(
            "{} {}\n{} {target}\n",
            Directive::Version,
            self.version,
            Directive::Target,
        );
        for line in &self.more_targets {
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

    /// Adds an option after the target: `debug`, `texmode_independent`. Manual 11.1.2.
    ///
    /// # Errors
    ///
    /// The option is not a valid name. [`finish`](Self::finish) refuses unknown options.
    pub fn target_option(&mut self, option: &str) -> Result<(), BuildError> {
        lexical::name(option)?;
        self.options.push(option.to_string());
        self.note_target(option);
        self.write_header();
        Ok(())
    }

    /// Adds another `.target` line after the first, with a target or options such as `texmode_independent`. The last
    /// target counts.
    ///
    /// # Errors
    ///
    /// As [`target_option`](Self::target_option).
    pub fn another_target(&mut self, names: &[&str]) -> Result<(), BuildError> {
        names.iter().try_for_each(|n| lexical::name(n))?;
        self.more_targets.push(names.join(", "));
        names.iter().for_each(|name| self.note_target(name));
        self.write_header();
        Ok(())
    }

    fn note_target(&mut self, name: &str) {
        if let Some(target) = Target::from_name(name.as_bytes()) {
            self.target = target;
        }
    }
}
