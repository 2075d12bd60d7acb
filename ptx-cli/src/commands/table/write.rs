//! Reads the files and writes the tables.

use std::fs;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use arrow_ipc::writer::StreamWriter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptx_report::{clean, counted};
use ptx_table::{RecordBatch, Scan, ScanOptions, SchemaRef, Source, TableName};

use super::{Args, Format, csv, json, parquet};
use crate::format::of_extension;
use crate::input::FIRST_UPDATE;
use crate::output::{self, Out, Status};
use crate::replace::NewFile;

pub(crate) fn run(args: &Args) -> Result<Status> {
    let format = format(args)?;
    let tables = args
        .tables
        .iter()
        .map(|name| name.parse::<TableName>())
        .collect::<Result<Vec<_>, _>>()?;
    let mut options = ScanOptions::new(&tables).threads(rayon::current_num_threads());
    if !args.columns.is_empty() {
        let [table] = tables[..] else {
            bail!("`--columns` requires a single table");
        };
        let names: Vec<&str> = args.columns.iter().map(String::as_str).collect();
        options = options.columns(table, &names)?;
    }
    let mut writers = writers(args, format, &options)?;
    let mut scan = Scan::new(sources(&args.files)?, &options);
    let progress = RowProgress::new();
    let mut row_counts = vec![0; writers.len()];
    for batch in &mut scan {
        let (table, batch) = batch?;
        progress.advance(batch.num_rows());
        let index = writers.iter().position(|(name, _)| *name == table);
        if let Some(count) = index.and_then(|index| row_counts.get_mut(index)) {
            *count += batch.num_rows();
        }
        if let Some((_, writer)) = writers.iter_mut().find(|(name, _)| *name == table) {
            writer.write(&batch)?;
        }
    }
    progress.finish();
    let mut written = Vec::new();
    for ((table, writer), rows) in writers.into_iter().zip(row_counts) {
        writer.finish()?;
        written.push(format!("{table}: {}", counted(rows, "row")));
    }
    if let Some(path) = &args.output {
        let path = path.to_string_lossy();
        let written = written.join(", ");
        output::success(format_args!("{written} written to {}", clean(&path)));
    }
    match scan.unreadable() {
        0 => Ok(Status::Ok),
        count => {
            let files = ptx_report::counted(count, "file or part of a file");
            output::note(format_args!(
                "ptxkit: {files} cannot be read; the table `diagnostics` contains the reasons"
            ));
            Ok(Status::UsageError)
        }
    }
}

/// The number of rows that were written, on standard error if that is a terminal and the work takes long.
struct RowProgress {
    bar: ProgressBar,
    start: Instant,
}

impl RowProgress {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{human_pos} rows, {elapsed}");
        Self {
            bar: match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            },
            start: Instant::now(),
        }
    }

    fn advance(&self, rows: usize) {
        if self.bar.is_hidden() && output::shows_progress() && self.start.elapsed() >= FIRST_UPDATE
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(rows as u64);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The extensions of output files with the formats that they select.
const EXTENSIONS: [(&str, Format); 8] = [
    ("parquet", Format::Parquet),
    ("arrows", Format::Arrow),
    ("arrow", Format::Arrow),
    ("ipc", Format::Arrow),
    ("ndjson", Format::Ndjson),
    ("jsonl", Format::Ndjson),
    ("json", Format::Ndjson),
    ("csv", Format::Csv),
];

/// The format of the tables: that of the options, or of the extension of a single file.
fn format(args: &Args) -> Result<Format> {
    if let Some(format) = args.format.choice() {
        return Ok(format);
    }
    let file = args.output.as_deref().filter(|_| args.tables.len() == 1);
    Ok(of_extension(file, &EXTENSIONS)?.unwrap_or(Format::Parquet))
}

/// The sources of the rows. Standard input is read here.
fn sources(files: &[PathBuf]) -> Result<Vec<Source>> {
    let mut sources = Vec::with_capacity(files.len());
    for file in files {
        sources.push(if file.as_os_str() == "-" {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            Source::Bytes("<stdin>".to_owned(), bytes)
        } else {
            Source::Path(file.clone())
        });
    }
    Ok(sources)
}

/// A writer of one table.
enum Writer {
    Parquet(Box<parquet::Writer>),
    Arrow(Box<StreamWriter<Destination>>),
    Text(Destination, Rows, Vec<u8>),
}

/// A file or standard output.
enum Destination {
    File(BufWriter<NewFile>),
    Stdout(Out),
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(out) => out.flush(),
        }
    }
}

impl Destination {
    /// Writes all bytes that wait.
    fn finish(self) -> io::Result<()> {
        match self {
            Self::File(file) => file.into_inner()?.finish(),
            Self::Stdout(mut out) => out.flush(),
        }
    }
}

fn create(path: &Path) -> Result<NewFile> {
    NewFile::replace(path).with_context(|| clean(&path.to_string_lossy()).into_owned())
}

/// Appends rows as text.
type Rows = fn(&RecordBatch, &mut Vec<u8>) -> Result<()>;

/// A writer for each table.
fn writers(args: &Args, format: Format, options: &ScanOptions) -> Result<Vec<(TableName, Writer)>> {
    let [(table, schema)] = options.tables() else {
        let Some(folder) = &args.output else {
            bail!("several tables need `--output DIR`");
        };
        fs::create_dir_all(folder)
            .with_context(|| clean(&folder.to_string_lossy()).into_owned())?;
        return options
            .tables()
            .iter()
            .map(|(table, schema)| {
                let name = format!("{table}.{}", format.extension());
                let writer = Writer::new(format, schema, Some(&folder.join(name)))?;
                Ok((*table, writer))
            })
            .collect();
    };
    let writer = Writer::new(format, schema, args.output.as_deref())?;
    Ok(vec![(*table, writer)])
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrows",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }
}

impl Writer {
    fn new(format: Format, schema: &SchemaRef, path: Option<&Path>) -> Result<Self> {
        if format == Format::Parquet {
            let Some(path) = path else {
                bail!("Parquet needs `--output FILE`");
            };
            let writer = parquet::Writer::new(create(path)?, schema)?;
            return Ok(Self::Parquet(Box::new(writer)));
        }
        let mut out = match path {
            Some(path) => Destination::File(BufWriter::new(create(path)?)),
            None => Destination::Stdout(Out::new()),
        };
        Ok(match format {
            Format::Arrow => Self::Arrow(Box::new(StreamWriter::try_new(out, schema)?)),
            Format::Csv => {
                let mut text = Vec::new();
                csv::header(schema, &mut text);
                out.write_all(&text)?;
                Self::Text(out, csv::write, text)
            }
            _ => Self::Text(out, json::write, Vec::new()),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(batch)?,
            Self::Arrow(writer) => writer.write(batch)?,
            Self::Text(out, rows, text) => {
                text.clear();
                rows(batch, text)?;
                out.write_all(text)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Parquet(writer) => writer.finish()?,
            Self::Arrow(writer) => writer.into_inner()?.finish()?,
            Self::Text(out, ..) => out.finish()?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_not_complete_leaves_the_old_file() {
        let path = std::env::temp_dir().join(format!("ptxkit-table-{}", std::process::id()));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/hand");
        let options = ScanOptions::new(&[TableName::Functions]);
        let [(_, schema)] = options.tables() else {
            panic!("one table");
        };
        for format in [Format::Parquet, Format::Arrow, Format::Ndjson, Format::Csv] {
            fs::write(&path, "old").unwrap();
            for is_complete in [false, true] {
                let mut writer = Writer::new(format, schema, Some(&path)).unwrap();
                for batch in Scan::new([Source::Path(folder.clone())], &options) {
                    writer.write(&batch.unwrap().1).unwrap();
                }
                if is_complete {
                    writer.finish().unwrap();
                }
                assert_eq!(
                    fs::read(&path).unwrap() == b"old",
                    !is_complete,
                    "{format:?}"
                );
            }
        }
        fs::remove_file(&path).unwrap();
    }
}
