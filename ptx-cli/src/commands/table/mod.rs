//! `ptxkit table`: writes tables of files for databases and data frames.

#[cfg(feature = "table")]
mod csv;
#[cfg(feature = "table")]
mod json;
#[cfg(feature = "table")]
mod parquet;
#[cfg(feature = "table")]
mod rle;
#[cfg(feature = "table")]
mod words;
#[cfg(feature = "table")]
mod write;

use std::path::PathBuf;

use clap::ValueEnum;

use crate::format::{FormatOptions, OutputFormat};

/// Write tables of any number of files: Parquet, Arrow, JSON or CSV
///
/// Files are read in constant memory, several at a time; the rows are in the order of the files. A file that cannot be read is a row
/// of the table `diagnostics`. docs/scale.md describes the columns.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit table --table instructions --output instructions.parquet build/
  ptxkit table --table instructions --table memory --output tables/ build/
  ptxkit table --table functions --format ndjson kernel.ptx")]
pub(crate) struct Args {
    /// Files, directories (every .ptx file in them) or `-` for standard input. For a binary file, the PTX that it contains is read
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The table to write; several tables are written to separate files
    #[arg(long = "table", value_name = "TABLE", required = true, value_parser = [
        "instructions", "memory", "blocks", "loops", "functions", "modules", "diagnostics", "lints", "requirements",
    ])]
    tables: Vec<String>,
    /// Write only these columns of the table
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    #[command(flatten)]
    format: FormatOptions<Format>,
    /// The output file; with several tables, a directory for files such as instructions.parquet
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// Parquet, compressed with Snappy
    Parquet,
    /// An Arrow IPC stream
    Arrow,
    /// One JSON object per row
    #[value(alias = "json")]
    Ndjson,
    /// Comma-separated values with a header line; lists are JSON
    Csv,
}

impl OutputFormat for Format {
    const JSON: Self = Self::Ndjson;
    const HELP: &'static str =
        "Output format [default: that of the extension of --output, else parquet]";
}

#[cfg(feature = "table")]
pub(crate) use write::run;

#[cfg(not(feature = "table"))]
pub(crate) fn run(_: &Args) -> anyhow::Result<crate::output::Status> {
    anyhow::bail!(
        "this program was built without the feature `table`; in a checkout, `cargo install --path ptx-cli --features table` builds it with the feature"
    )
}
