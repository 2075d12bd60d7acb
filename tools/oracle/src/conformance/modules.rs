//! Cases of rules about more than one instruction: templates in `tools/conformance/modules.txt`, one module per line, with the answer of ptxas.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ptx_ir::{LineIndex, Severity};
use rayon::prelude::*;

use crate::assembler::{Assemblers, Job};

/// The lowest percentage of cases with the same verdict as ptxas.
const AGREEMENT: f64 = 98.0;
/// The lowest percentage of refused cases with an error on the same line.
const SAME_LINE: f64 = 98.0;

/// One module.
struct Case {
    group: String,
    text: String,
}

/// The line of the first error of ptxas; `None` without an error, 0 for an error without a line.
type Answer = Option<u32>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance")
}

/// Every alternative of every line of the templates.
fn cases() -> Result<Vec<Case>> {
    let templates = fs::read_to_string(folder().join("modules.txt"))?;
    let (mut group, mut head, mut tail) = (String::new(), String::new(), String::new());
    let mut cases = Vec::new();
    for line in templates.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            group = name.to_owned();
            (head, tail) = (String::new(), String::new());
        } else if let Some(text) = line.strip_prefix("before: ") {
            head += &format!("{text}\n");
        } else if let Some(text) = line.strip_prefix("after: ") {
            tail += &format!("{text}\n");
        } else if !line.is_empty() && !line.starts_with('#') && line != "before:" {
            for text in expand(line) {
                let text = text.replace('@', "name_1").replace('#', "name_2");
                cases.push(Case {
                    group: group.clone(),
                    text: format!("{head}{text}\n{tail}"),
                });
            }
        }
    }
    Ok(cases)
}

/// `a<<b|c>>` is `ab` and `ac`; the brackets do not nest, and the last `>>` of a row of `>` closes them.
fn expand(line: &str) -> Vec<String> {
    let Some((head, group)) = line.split_once("<<") else {
        return vec![line.to_owned()];
    };
    let Some(first_close) = group.find(">>") else {
        return vec![line.to_owned()];
    };
    let closing = &group[first_close..];
    let brackets = closing.len() - closing.trim_start_matches('>').len();
    let end = first_close + brackets - 2;
    let tails = expand(&group[end + 2..]);
    let mut lines = Vec::new();
    for alternative in group[..end].split('|') {
        for tail in &tails {
            lines.push(format!("{head}{alternative}{tail}"));
        }
    }
    lines
}

fn theirs(assemblers: &Assemblers, case: &Case) -> Result<Answer> {
    let verdict = assemblers.run(case.text.as_bytes(), Job::Check)?;
    if verdict.accepted {
        return Ok(None);
    }
    Ok(Some(
        verdict.output.lines().find_map(error_line).unwrap_or(0),
    ))
}

/// The line number in a message of ptxas, if it is an error.
fn error_line(output_line: &str) -> Option<u32> {
    let (location, message) = output_line.split_once(';')?;
    let is_error = message.trim_start().starts_with(['e', 'f']);
    let digits = location.rsplit("line ").next()?;
    digits.parse().ok().filter(|_| is_error)
}

/// The lines with errors of the parser or verifier.
fn ours(case: &Case) -> Vec<u32> {
    let text = case.text.as_bytes();
    let parsed = ptx_parse::parse(text);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    let lines = LineIndex::new(text);
    diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .flat_map(|d| d.repeats.iter().chain([&d.span]))
        .map(|span| lines.position(span.start).line)
        .collect()
}

/// Stores the answers of ptxas, one line per case in the order of the cases.
pub(crate) fn judge(assemblers: &Assemblers) -> Result<()> {
    let cases = cases()?;
    let answers: Vec<Result<Answer>> = cases.par_iter().map(|c| theirs(assemblers, c)).collect();
    let mut text = String::new();
    for answer in answers {
        text += &answer?.map_or("ok".into(), |line| line.to_string());
        text.push('\n');
    }
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(text.as_bytes())?;
    fs::write(folder().join("modules.gz"), out.finish()?)?;
    println!("{} modules judged", cases.len());
    Ok(())
}

/// Compares the verifier with the stored answers.
pub(crate) fn replay(list: bool) -> Result<()> {
    let cases = cases()?;
    let packed = fs::read(folder().join("modules.gz")).context("the verdicts on modules")?;
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text)?;
    let answers: Vec<&str> = text.lines().collect();
    if answers.len() != cases.len() {
        bail!(
            "{} verdicts on {} modules: judge them again",
            answers.len(),
            cases.len()
        );
    }
    let (mut accepts, mut rejects, mut both, mut same_line) = (0, 0, 0, 0);
    for (case, answer) in cases.iter().zip(answers) {
        let theirs: Answer = answer.parse().ok();
        let ours = ours(case);
        let differ = theirs.is_some() == ours.is_empty();
        accepts += usize::from(differ && ours.is_empty());
        rejects += usize::from(differ && !ours.is_empty());
        if let Some(line) = theirs.filter(|l| *l > 0 && !differ) {
            both += 1;
            same_line += usize::from(ours.contains(&line));
        }
        if differ && list {
            println!("{}: ptxas {answer}, we {ours:?}\n{}", case.group, case.text);
        }
    }
    let percent = |part: usize, total: usize| 100.0 * part as f64 / total.max(1) as f64;
    let agreement = percent(cases.len() - accepts - rejects, cases.len());
    let lines = percent(same_line, both);
    println!(
        "{} modules: agreement {agreement:.2} % (false accepts {accepts}, false rejects {rejects}); on the same line {lines:.2} %",
        cases.len()
    );
    if agreement < AGREEMENT || lines < SAME_LINE {
        bail!("below {AGREEMENT} % and {SAME_LINE} %");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn alternatives() {
        assert_eq!(
            super::expand("a<<b|c>>d<<|e>>"),
            ["abd", "abde", "acd", "acde"]
        );
        assert_eq!(super::expand("r<<<2>|<3>>>;"), ["r<2>;", "r<3>;"]);
    }

    #[test]
    fn verifier_agrees_with_ptxas_on_modules() {
        super::replay(false).unwrap();
    }
}
