//! The file of cases with the verdicts of ptxas: compressed lines of tab-separated fields.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ptx_isa::{PtxVersion, Target};

use super::case::Setting;
use super::preamble::shared_preamble;
use test_support::corpus;

/// Cases with verdicts in a file.
pub(crate) struct Set {
    file: &'static str,
    /// The file is in the folder beside the repository; else in `conformance`.
    is_shared: bool,
    /// The versions that are asked for, of which the last one is that of the targets.
    pub(crate) versions: RangeInclusive<PtxVersion>,
    /// The target that is asked for first, one with most features.
    pub(crate) first: Target,
    /// The lowest percentage of cases with the same verdict, of those with the same targets, and of those with the same version.
    pub(crate) bar: f64,
    /// The lowest percentage of cases of one opcode with the same verdict.
    pub(crate) bar_of_an_opcode: f64,
}

/// The instructions of PTX up to the version of the reference release of ptxas.
pub(crate) const BASE: Set = Set {
    file: "verdicts.tsv.gz",
    is_shared: false,
    versions: PtxVersion::new(1, 0)..=PtxVersion::new(9, 2),
    first: Target::Sm100a,
    bar: 99.5,
    bar_of_an_opcode: 97.0,
};

/// The instructions that newer versions introduced, with the verdicts of the newer release.
pub(crate) const NEWER: Set = Set {
    file: "newer.tsv.gz",
    is_shared: false,
    versions: PtxVersion::new(9, 2)..=PtxVersion::CURRENT,
    first: Target::Sm107a,
    bar: 99.7,
    bar_of_an_opcode: 97.0,
};

/// Cases of the same versions that were written by hand, with verdicts of the same release.
#[cfg(test)]
pub(crate) const SHARED: Set = Set {
    file: "spec/newer-verdicts.tsv.gz",
    is_shared: true,
    bar: 99.5,
    // They are listed by families, some of which have only a few lines.
    bar_of_an_opcode: 0.0,
    ..NEWER
};

/// A case with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Verdict {
    pub(crate) opcode: String,
    /// The kind of the case: `form`, or the change of a valid case.
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

/// The targets of cases: the current targets of a version.
pub(crate) fn targets(version: PtxVersion) -> impl Iterator<Item = Target> {
    Target::ALL
        .iter()
        .copied()
        .filter(move |t| t.number() >= 75 && t.min_version() <= version && t.until().is_none())
}

impl Set {
    /// The version of the lists of targets.
    pub(crate) fn newest(&self) -> PtxVersion {
        *self.versions.end()
    }

    pub(crate) fn targets(&self) -> impl Iterator<Item = Target> {
        targets(self.newest())
    }

    /// The versions that are asked for on a target, upwards.
    pub(crate) fn versions(&self, target: Target) -> impl DoubleEndedIterator<Item = PtxVersion> {
        PtxVersion::KNOWN
            .iter()
            .copied()
            .filter(move |v| self.versions.contains(v) && *v >= target.min_version())
    }

    fn path(&self) -> PathBuf {
        if self.is_shared {
            return corpus::beside(self.file);
        }
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../conformance")
            .join(self.file)
    }

    pub(crate) fn read(&self) -> Result<Vec<Verdict>> {
        let text = decompress(&self.path())?;
        if self.is_shared {
            let preamble = shared_preamble();
            fs::metadata(&preamble).with_context(|| format!("reading {}", preamble.display()))?;
        }
        let parse = if text.starts_with(HEAD) {
            parse
        } else {
            parse_shared
        };
        text.lines()
            .skip(1)
            .map(|row| parse(row).with_context(|| format!("in the row {row}")))
            .collect()
    }

    pub(crate) fn write(&self, verdicts: &[Verdict]) -> Result<u64> {
        let path = self.path();
        let mut text = format!("{HEAD}\n");
        for v in verdicts {
            let lowest = v.lowest.map_or("-".to_owned(), |l| l.to_string());
            let targets: Vec<&str> = v.targets.iter().map(|t| t.text()).collect();
            let targets = targets.join(",");
            let (setting, targets) = (field(v.setting.name()), field(&targets));
            let message = field(&v.message);
            writeln!(
                text,
                "{}\t{}\t{setting}\t{targets}\t{lowest}\t{}\t{message}",
                v.opcode, v.kind, v.line
            )?;
        }
        fs::create_dir_all(path.parent().context("a folder")?)?;
        let mut encoder = GzEncoder::new(fs::File::create(&path)?, Compression::best());
        encoder.write_all(text.as_bytes())?;
        encoder.finish()?;
        Ok(fs::metadata(&path)?.len())
    }
}

const HEAD: &str = "opcode\tkind\tsetting\ttargets\tlowest\tline\tmessage";

/// The text of a file ending in `.gz`.
pub(crate) fn decompress(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text)?;
    Ok(text)
}

/// The text of a field in the file: `-` for an empty text.
fn field(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

fn parse(row: &str) -> Option<Verdict> {
    let fields: Vec<&str> = row.split('\t').collect();
    let &[opcode, kind, setting, targets, lowest, line, message] = &fields[..] else {
        return None;
    };
    let mut settings = Setting::ALL.into_iter();
    Some(Verdict {
        opcode: opcode.to_owned(),
        kind: kind.to_owned(),
        setting: settings.find(|s| field(s.name()) == setting)?,
        line: line.to_owned(),
        targets: target_list(targets)?,
        lowest: PtxVersion::from_text(lowest.as_bytes()),
        message: if message == "-" { "" } else { message }.to_owned(),
    })
}

/// A row of the shared file: line, lowest version, targets there, targets (or `same`), family, note, message.
fn parse_shared(row: &str) -> Option<Verdict> {
    let fields: Vec<&str> = row.split('\t').collect();
    let &[line, lowest, at_lowest, targets, family, _, message] = &fields[..] else {
        return None;
    };
    let targets = if targets == "same" {
        at_lowest
    } else {
        targets
    };
    Some(Verdict {
        opcode: family.to_owned(),
        kind: "shared".to_owned(),
        setting: Setting::Shared,
        line: line.to_owned(),
        targets: target_list(targets)?,
        lowest: PtxVersion::from_text(lowest.as_bytes()),
        message: message.to_owned(),
    })
}

/// A list such as `sm_90,sm_90a`, in the order of [`Target::ALL`].
pub(crate) fn target_list(text: &str) -> Option<Vec<Target>> {
    if text == "-" {
        return Some(Vec::new());
    }
    let mut targets: Vec<Target> = text
        .split(',')
        .map(|t| Target::from_text(t.as_bytes()))
        .collect::<Option<_>>()?;
    targets.sort();
    Some(targets)
}
