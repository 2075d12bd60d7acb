//! Files of recorded results.

use std::fmt::Write as _;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail, ensure};
use ptx_isa::{PtxVersion, Target};

use super::domain::Domain;
use super::form::Approximation;
use super::table::{Header, Rule, Table};

/// The first line; the number changes with the format.
const FIRST_LINE: &str = "ptxkit approximations 1";

impl Table {
    /// The bytes of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Header {
            device,
            target,
            driver,
            version,
        } = &self.header;
        let mut text = format!(
            "{FIRST_LINE}\ninstruction {}\ncomputes {}\ndevice {device}\ntarget {target}\ndriver {driver}\nptx {version}\nskip {}\nhash {:016x}\n",
            self.approximation.name,
            self.approximation.text(),
            self.domain.skip,
            self.hash(),
        );
        for hashes in self.hashes.chunks(8) {
            let hashes: Vec<String> = hashes.iter().map(|h| format!("{h:016x}")).collect();
            let _ = writeln!(text, "blocks {}", hashes.join(" "));
        }
        let mut data = Vec::new();
        for (binade, rule) in self.rules.iter().enumerate() {
            let _ = match rule {
                Rule::Constant(bits) => writeln!(text, "{binade} constant {bits:x}"),
                Rule::Like {
                    binade: earlier,
                    add,
                } => writeln!(text, "{binade} like {earlier} {add:x}"),
                Rule::Sum {
                    binade: earlier,
                    add,
                } => writeln!(text, "{binade} sum {earlier} {add:x}"),
                Rule::Whole { step } => writeln!(text, "{binade} whole {step:x}"),
                Rule::Differences(bytes) => {
                    data.extend_from_slice(bytes);
                    writeln!(text, "{binade} differences {}", bytes.len())
                }
            };
        }
        text.push_str("data\n");
        let mut bytes = text.into_bytes();
        bytes.extend(data);
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged, or was recorded for other tables of instructions.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut lines = Lines { unread: bytes };
        ensure!(lines.next()? == FIRST_LINE, "not a file of approximations");
        let name = lines.field("instruction")?;
        let computes = lines.field("computes")?;
        let header = Header {
            device: lines.field("device")?,
            target: lines.field("target")?,
            driver: lines.field("driver")?,
            version: lines.field("ptx")?,
        };
        let target: Target = header.target.parse().ok().context("an unknown target")?;
        let version: PtxVersion = header.version.parse().ok().context("an unknown version")?;
        let approximation = Approximation::all(version, target)
            .into_iter()
            .find(|a| a.name == name)
            .with_context(|| format!("{name} is not an approximation on {target}"))?;
        ensure!(
            approximation.text() == computes,
            "{name} computes {}, not {computes}",
            approximation.text()
        );
        let skip = lines.field("skip")?.parse()?;
        let domain = Domain::new(approximation.element, skip)
            .context("as many bits are not in the fraction")?;
        let hash = lines.field("hash")?;
        let mut table = Self::new(header, approximation, domain);
        let blocks = domain.inputs().div_ceil(domain.block() as u64) as usize;
        while table.hashes.len() < blocks {
            for hash in lines.field("blocks")?.split(' ') {
                table.hashes.push(u64::from_str_radix(hash, 16)?);
            }
        }
        ensure!(
            format!("{:016x}", table.hash()) == hash,
            "the hashes do not fit"
        );
        let mut sizes = Vec::new();
        for binade in 0..domain.binades() {
            let line = lines.field(&binade.to_string())?;
            let (rule, size) =
                rule(&line, binade).with_context(|| format!("not a rule: {line}"))?;
            table.rules.push(rule);
            table.decoded.push(OnceLock::new());
            sizes.push(size);
        }
        ensure!(lines.next()? == "data", "there are more rules than binades");
        let mut data = lines.unread;
        for (rule, size) in table.rules.iter_mut().zip(sizes) {
            if let Rule::Differences(bytes) = rule {
                let (differences, tail) = data
                    .split_at_checked(size)
                    .context("the file ends too early")?;
                *bytes = differences.to_vec();
                data = tail;
            }
        }
        if !data.is_empty() {
            bail!("there are more bytes than rules");
        }
        Ok(table)
    }
}

/// The rule of a binade, and the number of bytes of its data.
fn rule(line: &str, binade: usize) -> Option<(Rule, usize)> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let earlier_binade = |text: &str| text.parse().ok().filter(|earlier| *earlier < binade);
    let words: Vec<&str> = line.split(' ').collect();
    let rule = match words[..] {
        ["constant", bits] => Rule::Constant(number(bits)?),
        ["like", earlier, add] => Rule::Like {
            binade: earlier_binade(earlier)?,
            add: number(add)?,
        },
        ["sum", earlier, add] => Rule::Sum {
            binade: earlier_binade(earlier)?,
            add: number(add)?,
        },
        ["whole", step] => Rule::Whole {
            step: number(step)?,
        },
        ["differences", bytes] => {
            return Some((Rule::Differences(Vec::new()), bytes.parse().ok()?));
        }
        _ => return None,
    };
    Some((rule, 0))
}

/// The lines of the first part of a file.
struct Lines<'b> {
    unread: &'b [u8],
}

impl Lines<'_> {
    fn next(&mut self) -> Result<String> {
        let end = self.unread.iter().position(|b| *b == b'\n');
        let (line, tail) = self
            .unread
            .split_at(end.context("the file ends too early")?);
        self.unread = tail.get(1..).unwrap_or_default();
        Ok(String::from_utf8(line.to_vec())?)
    }

    /// The text of a line after the name of a field.
    fn field(&mut self, name: &str) -> Result<String> {
        let line = self.next()?;
        let value = line
            .strip_prefix(name)
            .and_then(|tail| tail.strip_prefix(' '))
            .with_context(|| format!("no line `{name}`"))?;
        Ok(value.into())
    }
}
