//! One text and everything that is measured on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use ptx_ir::Limits;
use ptx_print::Style;

use super::timing::{Timing, measure};
use super::{assembler, others};
use crate::assembler::Assemblers;

/// A text, and what was measured on it.
pub(crate) struct Column {
    pub(crate) input: ::bench::Input,
    /// Where it was written for other programs.
    pub(crate) path: PathBuf,
    /// Texts beyond the large file: neither ptxas nor other crates read them.
    pub(crate) long: bool,
    pub(crate) parse: Option<Timing>,
    pub(crate) verbatim: Option<Timing>,
    pub(crate) canonical: Option<Timing>,
    pub(crate) ptxas: Option<Timing>,
    pub(crate) others: Vec<Option<Result<Timing, String>>>,
    pub(crate) copy: Option<Timing>,
    pub(crate) newlines: Option<Timing>,
}

impl Column {
    pub(crate) fn new(input: ::bench::Input, path: PathBuf) -> Self {
        let others = others::CRATES.iter().map(|_| None).collect();
        Self {
            long: input.name.ends_with("MB"),
            input,
            path,
            parse: None,
            verbatim: None,
            canonical: None,
            ptxas: None,
            others,
            copy: None,
            newlines: None,
        }
    }

    /// Measures everything once more; the better round stays.
    pub(crate) fn measure(
        &mut self,
        budget: Duration,
        assemblers: Option<&Assemblers>,
        others: Option<&others::Others>,
    ) -> Result<()> {
        let source: Arc<[u8]> = self.input.text.as_slice().into();
        let read = || ptx_parse::parse_shared(source.clone(), &Limits::default());
        better(&mut self.parse, measure(budget, read));
        if let Some(assemblers) = assemblers.filter(|_| !self.long) {
            better(
                &mut self.ptxas,
                assembler::time(assemblers, &source, budget)?,
            );
        }
        let module = read().module;
        better(
            &mut self.verbatim,
            measure(budget / 2, || ptx_print::verbatim(&module)),
        );
        let style = Style::default();
        better(
            &mut self.canonical,
            measure(budget, || ptx_print::canonical(&module, &style)),
        );
        drop(module);
        better(&mut self.copy, measure(budget / 2, || source.to_vec()));
        let newlines = || memchr::memchr_iter(b'\n', &source).count();
        better(&mut self.newlines, measure(budget / 4, newlines));
        if let Some(others) = others.filter(|_| !self.long) {
            for (name, cell) in others::CRATES.iter().zip(&mut self.others) {
                match (&cell, others.time(name, &self.path, budget)) {
                    (Some(Ok(old)), Ok(new)) if old.best <= new.best => {}
                    (_, new) => *cell = Some(new),
                }
            }
        }
        Ok(())
    }
}

/// Keeps the better of two rounds.
fn better(kept: &mut Option<Timing>, new: Option<Timing>) {
    if kept.is_none_or(|k| new.is_some_and(|n| n.best < k.best)) {
        *kept = new;
    }
}
