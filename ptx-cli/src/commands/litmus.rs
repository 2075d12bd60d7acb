//! `ptxkit litmus`: verdicts on litmus tests.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use ptx_memory::litmus::{Litmus, Quantifier, Verdict};
use ptx_memory::{ExploreOptions, Version};
use ptx_report::{SCHEMA, clean, counted};
use serde::Serialize;

use crate::format::{FormatOptions, TextOrJson};
use crate::output::{self, Out, Status};

/// Decide litmus tests with the memory consistency model of PTX
///
/// Reads tests in the format of Dat3M and herd for PTX (`.litmus`) and in the format of the mixed-proxy model (`.test`), and says for each whether
/// its condition holds in the executions that the model allows. What a test claims is expected: the condition of `exists` is reached by an
/// execution, that of `~exists` by none, that of `forall` by all. A list of expected verdicts overrides that.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit litmus tests/
  ptxkit litmus --expected PTXv7_5-expected.csv tests/
  ptxkit litmus --model 6.0 --json MP.litmus

Exit status: 0 all verdicts are as expected, 1 some are not, 2 a test cannot be read or decided, or a usage error.")]
pub(crate) struct Args {
    /// Tests, or folders with tests
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A list with a line `PATH,1` or `PATH,0` for each test whose condition holds or does not; only these tests are decided
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// The version of the memory consistency model
    #[arg(long, value_enum, value_name = "VERSION", default_value = "7.5")]
    model: Model,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
enum Model {
    /// PTX 6.0 to 7.4, without proxies
    #[value(name = "6.0")]
    Ptx60,
    /// PTX 7.5 and later
    #[value(name = "7.5")]
    Ptx75,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonVerdict<'a> {
    schema: u32,
    file: &'a str,
    test: &'a str,
    quantifier: &'static str,
    /// `null` if the test was not decided.
    holds: Option<bool>,
    expected: bool,
    executions: u64,
    witness: Option<BTreeMap<String, i64>>,
    error: Option<String>,
}

/// The largest number of files of a folder and its subfolders.
const MAX_FILES: usize = 100_000;

#[derive(Default)]
struct Counts {
    expected: usize,
    all: usize,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let mut counts = Counts::default();
    let list = args.expected.as_deref().map(expectations).transpose()?;
    for path in paths(&args.files) {
        let name = path.to_string_lossy();
        let expected = match &list {
            Some(list) => match list.iter().find(|(listed, _)| path.ends_with(listed)) {
                Some((_, holds)) => Some(*holds),
                None => continue,
            },
            None => None,
        };
        let tests = fs::read_to_string(&path)
            .map_err(anyhow::Error::from)
            .and_then(|text| parse(&path, &text));
        match tests {
            Ok(tests) => {
                for test in tests {
                    let result = decide(args, &mut out, &name, &test, expected, &mut counts)?;
                    status.worsen(result);
                }
            }
            Err(error) => {
                output::note(format_args!("{}: {error:#}", clean(&name)));
                status.worsen(Status::UsageError);
            }
        }
    }
    out.flush()?;
    let tests = counted(counts.all, "test");
    output::note(format_args!("{tests}, {} as expected", counts.expected));
    Ok(status)
}

/// The paths and verdicts of a list.
fn expectations(path: &Path) -> Result<Vec<(PathBuf, bool)>> {
    let text =
        fs::read_to_string(path).with_context(|| clean(&path.to_string_lossy()).into_owned())?;
    Ok(text
        .lines()
        .filter_map(|line| {
            let (path, holds) = line.trim().rsplit_once(',')?;
            Some((PathBuf::from(path), holds.trim() == "1"))
        })
        .collect())
}

/// The files, and the tests in folders, in the order of their names.
fn paths(files: &[PathBuf]) -> Vec<PathBuf> {
    let is_test = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str);
        matches!(extension, Some("litmus" | "test"))
    };
    let mut result = Vec::new();
    for file in files {
        let mut folders = Vec::new();
        if file.is_dir() {
            folders.push(file.clone());
        } else {
            result.push(file.clone());
        }
        let start = result.len();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                // Links are not followed, so this ends.
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder {
                    folders.push(path);
                } else if is_test(&path) && result.len() < MAX_FILES {
                    result.push(path);
                }
            }
        }
        if let Some(added) = result.get_mut(start..) {
            added.sort();
        }
    }
    result
}

fn parse(path: &Path, text: &str) -> Result<Vec<Litmus>> {
    if path
        .extension()
        .is_some_and(|extension| extension == "test")
    {
        Ok(Litmus::parse_proxy_tests(text)?)
    } else {
        Ok(vec![Litmus::parse(text)?])
    }
}

fn decide(
    args: &Args,
    out: &mut Out,
    file: &str,
    test: &Litmus,
    expected: Option<bool>,
    counts: &mut Counts,
) -> Result<Status> {
    let mut options = ExploreOptions::default();
    options.version = match args.model {
        Model::Ptx60 => Version::Ptx60,
        Model::Ptx75 => Version::Ptx75,
    };
    let verdict = test.decide(&options);
    let expected = expected.unwrap_or(true);
    let is_expected = verdict.is_certain && verdict.holds == expected;
    counts.all += 1;
    counts.expected += usize::from(is_expected);
    if args.format.is_json() {
        out.json(&json(file, test, &verdict, expected))?;
    } else {
        write(out, file, test, &verdict, expected)?;
    }
    Ok(if !verdict.is_certain {
        Status::UsageError
    } else {
        Status::of(!is_expected)
    })
}

fn quantifier(test: &Litmus) -> &'static str {
    match test.quantifier {
        Quantifier::Exists => "exists",
        Quantifier::NotExists => "~exists",
        Quantifier::ForAll => "forall",
    }
}

fn undecided(verdict: &Verdict) -> Option<String> {
    if verdict.is_certain {
        return None;
    }
    let statistics = &verdict.statistics;
    Some(match &statistics.unsupported {
        Some(message) => message.clone(),
        None if statistics.unrolled > 0 => "a loop has too many iterations".to_owned(),
        None => "there are too many executions".to_owned(),
    })
}

fn witness(verdict: &Verdict) -> Option<BTreeMap<String, i64>> {
    let witness = verdict.witness.as_ref()?;
    Some(witness.values.iter().cloned().collect())
}

fn write(
    out: &mut Out,
    file: &str,
    test: &Litmus,
    verdict: &Verdict,
    expected: bool,
) -> Result<()> {
    let (file, name) = (clean(file), clean(&test.name));
    let result = match (undecided(verdict), verdict.holds) {
        (Some(reason), _) => format!("not decided: {reason}"),
        (None, true) => format!("{} holds", quantifier(test)),
        (None, false) => format!("{} does not hold", quantifier(test)),
    };
    let values = witness(verdict).map_or(String::new(), |witness| {
        let values: Vec<String> = witness
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!(", with {}", values.join(" "))
    });
    let difference = if verdict.is_certain && verdict.holds != expected {
        "  (not as expected)"
    } else {
        ""
    };
    writeln!(out, "{file}: {name}: {result}{values}{difference}")?;
    Ok(())
}

fn json<'a>(file: &'a str, test: &'a Litmus, verdict: &Verdict, expected: bool) -> JsonVerdict<'a> {
    JsonVerdict {
        schema: SCHEMA,
        file,
        test: &test.name,
        quantifier: quantifier(test),
        holds: verdict.is_certain.then_some(verdict.holds),
        expected,
        executions: verdict.statistics.executions,
        witness: witness(verdict),
        error: undecided(verdict),
    }
}
