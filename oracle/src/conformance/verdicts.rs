//! The file of cases with the verdicts of ptxas: compressed lines of tab-separated fields.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ptx_isa::{PtxVersion, Target};

use super::case::Setting;

/// The version at which the targets are asked for.
pub(crate) const VERSION: PtxVersion = PtxVersion::CURRENT;

/// A case with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Verdict {
    pub(crate) opcode: String,
    /// How the case was made.
    pub(crate) kind: String,
    pub(crate) setting: Setting,
    /// The instruction.
    pub(crate) line: String,
    /// The targets that accept it.
    pub(crate) targets: Vec<Target>,
    /// The lowest version in which the first of them accepts it.
    pub(crate) lowest: Option<PtxVersion>,
    /// The message of ptxas on the first target that refuses it.
    pub(crate) message: String,
}

/// The targets of the cases: all that are made for today.
pub(crate) fn targets() -> impl Iterator<Item = Target> {
    let all = Target::ALL.iter().copied();
    all.filter(|t| t.number() >= 75 && t.min_version() <= VERSION && t.until().is_none())
}

pub(crate) fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/verdicts.tsv.gz")
}

const HEAD: &str = "opcode\tkind\tsetting\ttargets\tlowest\tline\tmessage";

pub(crate) fn read() -> Result<Vec<Verdict>> {
    let path = path();
    let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text)?;
    let rows = text.lines().skip(1);
    rows.map(|row| parse(row).with_context(|| format!("in the row {row}")))
        .collect()
}

pub(crate) fn write(verdicts: &[Verdict]) -> Result<u64> {
    let mut text = format!("{HEAD}\n");
    for v in verdicts {
        let targets: Vec<&str> = v.targets.iter().map(|t| t.text()).collect();
        let lowest = v.lowest.map_or("-".to_owned(), |l| l.to_string());
        let setting = match v.setting {
            Setting::Plain => "-",
            Setting::Independent => "independent",
        };
        let message = if v.message.is_empty() {
            "-"
        } else {
            &v.message
        };
        let targets = if targets.is_empty() {
            "-".to_owned()
        } else {
            targets.join(",")
        };
        writeln!(
            text,
            "{}\t{}\t{setting}\t{targets}\t{lowest}\t{}\t{message}",
            v.opcode, v.kind, v.line
        )?;
    }
    let path = path();
    fs::create_dir_all(path.parent().context("a folder")?)?;
    let mut encoder = GzEncoder::new(fs::File::create(&path)?, Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()?;
    Ok(fs::metadata(&path)?.len())
}

fn parse(row: &str) -> Option<Verdict> {
    let fields: Vec<&str> = row.split('\t').collect();
    let &[opcode, kind, setting, targets, lowest, line, message] = &fields[..] else {
        return None;
    };
    let said = |field: &str| {
        if field == "-" {
            String::new()
        } else {
            field.to_owned()
        }
    };
    Some(Verdict {
        opcode: opcode.to_owned(),
        kind: kind.to_owned(),
        setting: if setting == "-" {
            Setting::Plain
        } else {
            Setting::Independent
        },
        line: line.to_owned(),
        targets: match targets {
            "-" => Vec::new(),
            list => list
                .split(',')
                .map(|t| Target::from_text(t.as_bytes()))
                .collect::<Option<_>>()?,
        },
        lowest: PtxVersion::from_text(lowest.as_bytes()),
        message: said(message),
    })
}
