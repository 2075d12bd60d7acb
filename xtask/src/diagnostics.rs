//! `cargo xtask diagnostics`: the examples of `ptx-cli/pages`, judged by the real assembler.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::corpus::parallel;
use crate::page::Page;
use crate::ptxas::{Assemblers, Job, Verdict};

/// Arguments of `cargo xtask diagnostics`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fail where there is no ptxas
    #[arg(long)]
    require_ptxas: bool,
    /// Threads
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let found = Assemblers::find_or_warn(args.require_ptxas, "EXAMPLES OF DIAGNOSTICS")?;
    let Some(assemblers) = found else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-cli/pages");
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        texts.push(fs::read_to_string(entry?.path())?);
    }
    texts.sort();
    let answers = parallel::map(args.jobs, &texts, |text| judge(&assemblers, text));
    let mut wrong = 0;
    for answer in answers {
        for complaint in answer? {
            wrong += 1;
            println!("{complaint}");
        }
    }
    println!("{} pages, {wrong} disagreements", texts.len());
    if wrong > 0 {
        bail!("ptxas does not say what the pages say");
    }
    Ok(())
}

/// Where the assembler sees the examples of a page in another way.
fn judge(assemblers: &Assemblers, text: &str) -> Result<Vec<String>> {
    let page = Page::read(text).context("a page of another shape")?;
    let Some((wrong, right)) = page.examples else {
        return Ok(Vec::new());
    };
    let code = page.code;
    let mut complaints = Vec::new();
    // What is refused only then has to pass the check.
    let later = page.section("Judged by") == Some("code generation");
    let job = if later { Job::Code } else { Job::Check };
    let verdict = assemblers.run(right.as_bytes(), job)?;
    if !verdict.accepted {
        complaints.push(format!("{code}: right example: {}", verdict.reason()));
    }
    if page.section("Beside ptxas").is_some() {
        return Ok(complaints);
    }
    let verdict = assemblers.run(wrong.as_bytes(), Job::Check)?;
    if later && assemblers.run(wrong.as_bytes(), Job::Code)?.accepted {
        complaints.push(format!("{code}: code is made of the wrong example"));
    }
    if verdict.accepted != (page.severity == "warning") {
        complaints.push(format!("{code}: wrong example: {}", verdict.reason()));
    }
    let line = line(&verdict).filter(|_| page.section("Line of ptxas").is_none());
    if line.is_some() && line != page.line() {
        complaints.push(format!("{code}: another line: {}", verdict.reason()));
    }
    Ok(complaints)
}

/// The line of the first error, where the assembler names one.
fn line(verdict: &Verdict) -> Option<usize> {
    let mut lines = verdict.output.lines();
    lines.find_map(|l| {
        let (number, rest) = l.split_once(", line ")?.1.split_once(';')?;
        let error = ["error", "fatal"]
            .iter()
            .any(|w| rest.trim_start().starts_with(w));
        number.parse().ok().filter(|_| error)
    })
}
