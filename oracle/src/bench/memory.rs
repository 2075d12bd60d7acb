//! What reading allocates. Counting slows an allocator down, so a separate program does it:
//! the benchmark `memory`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Counts of one file.
pub(crate) struct Memory {
    pub(crate) allocations: f64,
    /// Most bytes in use at once while reading, the source not counted.
    pub(crate) peak: f64,
    /// Bytes of the module that was read.
    pub(crate) kept: f64,
}

/// Runs the counting program on some files.
pub(crate) fn count(root: &Path, target: &Path, files: &[PathBuf]) -> Result<Vec<Memory>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args([
            "bench",
            "--quiet",
            "-p",
            "bench",
            "--features",
            "measure",
            "--bench",
            "memory",
            "--target-dir",
        ])
        .arg(target)
        .arg("--")
        .args(files)
        .current_dir(root)
        .output()
        .context("running cargo bench")?;
    if !output.status.success() {
        bail!("cargo bench: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let row = |line: &str| -> Option<Memory> {
        let mut cells = line
            .split('\t')
            .skip(2)
            .map(|c| c.trim().parse::<f64>().ok());
        let mut cell = || cells.next().flatten();
        Some(Memory {
            allocations: cell()?,
            peak: cell()?,
            kept: cell()?,
        })
    };
    let rows: Vec<Memory> = text.lines().skip(1).filter_map(row).collect();
    if rows.len() != files.len() {
        bail!(
            "the bench `memory` answered for {} of {} files",
            rows.len(),
            files.len()
        );
    }
    Ok(rows)
}
