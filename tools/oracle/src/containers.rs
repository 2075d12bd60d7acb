//! `cargo oracle containers`: the entries of fatbins that `ptx-container` reads, against the files that `cuobjdump` extracts, byte for byte.
//!
//! `cuobjdump` does not read Windows files: its input is their section with the fatbins, which is found without `ptx-container`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use object::{Object as _, ObjectSection as _};
use ptx_container::{ContainerEntry, DEFAULT_LIMIT, EntryKind, InputFormat, entries};

use crate::shared::Shared;

/// Arguments of `cargo oracle containers`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files, and directories whose files are compared if they contain fatbins; without any, those of the tests of `ptx-container`
    files: Vec<PathBuf>,
}

/// The numbers of files and entries that were compared.
#[derive(Default)]
struct Tally {
    files: usize,
    ptx: usize,
    cubins: usize,
    bytes: u64,
    /// Entries that `cuobjdump` extracted to the file of another entry.
    overwritten: usize,
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(program) = find_cuobjdump() else {
        if shared.requires_ptxas() {
            bail!("no cuobjdump: set CUOBJDUMP or put it on PATH");
        }
        println!(
            "!!! NO CUOBJDUMP: CONTENTS OF BINARY FILES NOT COMPARED (set CUOBJDUMP or put it on PATH) !!!"
        );
        return Ok(());
    };
    let mut files = Vec::new();
    for path in &args.files {
        add_files(path, &mut files)?;
    }
    if args.files.is_empty() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ptx-container/tests/data");
        add_files(&tests, &mut files)?;
    }
    let mut tally = Tally::default();
    for file in &files {
        let (old_ptx, old_cubins) = (tally.ptx, tally.cubins);
        compare(&program, file, &mut tally).with_context(|| file.display().to_string())?;
        let (ptx, cubins) = (tally.ptx - old_ptx, tally.cubins - old_cubins);
        if ptx + cubins > 0 {
            tally.files += 1;
            println!("{}: {ptx} PTX, {cubins} cubins", file.display());
        }
    }
    println!(
        "{} files, {} PTX and {} cubins, {} bytes: equal; {} not extracted by cuobjdump under separate names",
        tally.files, tally.ptx, tally.cubins, tally.bytes, tally.overwritten
    );
    if tally.ptx == 0 {
        bail!("nothing was compared");
    }
    Ok(())
}

/// The program of the environment variable, or the one on PATH.
fn find_cuobjdump() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CUOBJDUMP").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path));
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join("cuobjdump"))
        .find(|program| program.is_file())
}

/// Adds a file, or all files below a folder in alphabetical order.
fn add_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        let mut children = Vec::new();
        for entry in fs::read_dir(path)? {
            children.push(entry?.path());
        }
        children.sort();
        children.iter().try_for_each(|path| add_files(path, files))
    } else {
        files.push(path.to_owned());
        Ok(())
    }
}

fn compare(program: &Path, path: &Path, tally: &mut Tally) -> Result<()> {
    let bytes = fs::read(path)?;
    let format = InputFormat::of(&bytes);
    if !format.is_container() || format == InputFormat::Binary {
        return Ok(());
    }
    let entries = entries(&bytes).collect::<Result<Vec<_>, _>>()?;
    let folder = tempfile::tempdir()?;
    let input = match format {
        InputFormat::Pe => {
            let section = folder.path().join("section.fatbin");
            fs::write(&section, windows_section(&bytes)?)?;
            section
        }
        _ => fs::canonicalize(path)?,
    };
    for (kind, option, count) in [
        (EntryKind::Ptx, "-xptx", &mut tally.ptx),
        (EntryKind::Cubin, "-xelf", &mut tally.cubins),
    ] {
        let by_number: HashMap<usize, &ContainerEntry> = entries
            .iter()
            .filter(|e| e.kind() == kind)
            .map(|e| (e.number(), e))
            .collect();
        let output_folder = folder.path().join(option);
        fs::create_dir(&output_folder)?;
        let output = Command::new(program)
            .args(["-all", option, "all"])
            .arg(&input)
            .current_dir(&output_folder)
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        let extracted = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|line| line.starts_with("Extracting"))
            .count();
        if extracted != by_number.len() {
            let expected = by_number.len();
            bail!("{kind}: {expected} entries, but cuobjdump extracts {extracted}: {complaint}");
        }
        let mut files = Vec::new();
        add_files(&output_folder, &mut files)?;
        for file in &files {
            tally.bytes += compare_file(file, &by_number, &bytes)?;
        }
        *count += files.len();
        tally.overwritten += extracted - files.len();
    }
    Ok(())
}

/// Compares a file with the entry of its number, or, if its name has none, with all entries. Returns its size.
fn compare_file(
    file: &Path,
    entries: &HashMap<usize, &ContainerEntry>,
    bytes: &[u8],
) -> Result<u64> {
    let expected = fs::read(file)?;
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    // `STEM.NUMBER.TARGET.ptx`
    let number = name.rsplit('.').nth(2).and_then(|n| n.parse().ok());
    let candidates: Vec<_> = match number.and_then(|n: usize| entries.get(&n)) {
        Some(entry) => vec![entry],
        None => entries.values().collect(),
    };
    for entry in candidates {
        if *entry.content(bytes, DEFAULT_LIMIT)? == *expected {
            return Ok(expected.len() as u64);
        }
    }
    bail!("{name}: no entry has the same content")
}

fn windows_section(bytes: &[u8]) -> Result<&[u8]> {
    let file = object::File::parse(bytes)?;
    let section = file.sections().find(|s| s.name() == Ok(".nv_fatb"));
    match section {
        Some(section) => Ok(section.data()?),
        None => Ok(&[]),
    }
}
