//! Other crates that read PTX, in a separate program and workspace (`bench-others`): building
//! the toolkit does not build them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::timing::Timing;

/// The crates, as `bench-others` calls them.
pub(crate) const CRATES: [&str; 2] = ["ptx-syntax", "singe-ptx"];

/// The built program.
pub(crate) struct Others(PathBuf);

impl Others {
    /// Builds the program; prints a warning on failure.
    pub(crate) fn build(root: &Path, target: &Path) -> Option<Self> {
        println!("building bench-others (a few minutes the first time) …");
        let status = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
            .args([
                "build",
                "--release",
                "--quiet",
                "--locked",
                "--manifest-path",
            ])
            .arg(root.join("bench-others/Cargo.toml"))
            .arg("--target-dir")
            .arg(target)
            .status();
        if status.is_ok_and(|s| s.success()) {
            return Some(Self(target.join("release/bench-others")));
        }
        println!("!!! bench-others DOES NOT BUILD: OTHER CRATES NOT MEASURED !!!");
        None
    }

    /// Times one crate on one file: its figures, or a message.
    pub(crate) fn time(&self, name: &str, file: &Path, budget: Duration) -> Result<Timing, String> {
        let output = Command::new(&self.0)
            .arg(name)
            .arg(file)
            .arg(budget.as_secs_f64().to_string())
            .stderr(Stdio::null())
            .output()
            .map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let seconds = |word: Option<&str>| -> Option<Duration> {
            Duration::try_from_secs_f64(word?.parse().ok()?).ok()
        };
        let mut words = said.split('\t');
        match (seconds(words.next()), seconds(words.next())) {
            (Some(best), Some(median)) => Ok(Timing { best, median }),
            _ if said.is_empty() => Err("crashed".to_owned()),
            _ => Err(said.replace('\t', ": ")),
        }
    }
}

/// How a crate fares on many files: how many it reads, and the largest of them.
pub(crate) struct Coverage {
    pub(crate) read: usize,
    pub(crate) largest: Option<(Vec<u8>, PathBuf, Timing)>,
}

impl Others {
    /// Reads every file once or a few times.
    pub(crate) fn coverage(&self, name: &str, files: &[PathBuf]) -> Coverage {
        let mut coverage = Coverage {
            read: 0,
            largest: None,
        };
        for file in files {
            let Ok(timing) = self.time(name, file, Duration::ZERO) else {
                continue;
            };
            let Ok(text) = std::fs::read(file) else {
                continue;
            };
            coverage.read += 1;
            if coverage
                .largest
                .as_ref()
                .is_none_or(|(t, _, _)| t.len() < text.len())
            {
                coverage.largest = Some((text, file.clone(), timing));
            }
        }
        coverage
    }
}
