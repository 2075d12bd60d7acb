//! `cargo oracle diagnostics`: the examples of `ptx-report/pages`, checked by ptxas.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;

use crate::assembler::{Assemblers, Job, Verdict};
use crate::shared::Shared;
use test_support::page::Page;

pub(crate) fn run(shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("EXAMPLES OF DIAGNOSTICS")? else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ptx-report/pages");
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        texts.push(fs::read_to_string(entry?.path())?);
    }
    texts.sort();
    let disagreements = texts
        .par_iter()
        .map(|text| judge(assemblers, text))
        .collect::<Result<Vec<Vec<String>>>>()?
        .concat();
    for disagreement in &disagreements {
        println!("{disagreement}");
    }
    println!(
        "{} pages, {} disagreements",
        texts.len(),
        disagreements.len()
    );
    if !disagreements.is_empty() {
        bail!("ptxas disagrees with the pages");
    }
    Ok(())
}

/// The disagreements of ptxas with the examples of a page.
fn judge(assemblers: &Assemblers, text: &str) -> Result<Vec<String>> {
    let page = Page::read(text).context("a page in another format")?;
    let Some((wrong, right)) = page.examples else {
        return Ok(Vec::new());
    };
    let code = page.code;
    let mut disagreements = Vec::new();
    // ptxas finds errors of code generation only in this phase, and errors of an execution never.
    let judge = page.section("Judged by");
    let fails_in_code_generation = judge == Some("code generation");
    let fails_in_execution = judge == Some("execution");
    let job = if fails_in_code_generation {
        Job::Code
    } else {
        Job::Check
    };
    let verdict = assemblers.run(right.as_bytes(), job)?;
    if !verdict.accepted {
        disagreements.push(format!("{code}: right example: {}", verdict.reason()));
    }
    if page.section("Without a verdict of ptxas").is_some() {
        return Ok(disagreements);
    }
    let verdict = assemblers.run(wrong.as_bytes(), Job::Check)?;
    if fails_in_code_generation && assemblers.run(wrong.as_bytes(), Job::Code)?.accepted {
        disagreements.push(format!("{code}: code is generated from the wrong example"));
    }
    if verdict.accepted != (fails_in_execution || page.severity == "warning") {
        disagreements.push(format!("{code}: wrong example: {}", verdict.reason()));
    }
    let line = line(&verdict).filter(|_| page.section("Line reported by ptxas").is_none());
    if line.is_some() && line != page.line() {
        disagreements.push(format!("{code}: another line: {}", verdict.reason()));
    }
    Ok(disagreements)
}

/// The line of the first error, if ptxas reports one.
fn line(verdict: &Verdict) -> Option<usize> {
    verdict.output.lines().find_map(|output_line| {
        let (_, location) = output_line.split_once(", line ")?;
        let (number, message) = location.split_once(';')?;
        let is_error = ["error", "fatal"]
            .iter()
            .any(|severity| message.trim_start().starts_with(severity));
        number.parse().ok().filter(|_| is_error)
    })
}
