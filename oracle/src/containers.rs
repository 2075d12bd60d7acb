//! `cargo oracle containers`: the entries of fatbins that `ptx-container` reads, against the files that `cuobjdump` extracts, byte for byte.
//!
//! `cuobjdump` does not read Windows files: it gets their section with the fatbins, found without `ptx-container`.

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

/// What was compared.
#[derive(Default)]
struct Tally {
    files: usize,
    ptx: usize,
    cubins: usize,
    bytes: u64,
    /// Files that `cuobjdump` wrote over each other.
    unknown: usize,
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(program) = find() else {
        if shared.requires_ptxas() {
            bail!("no cuobjdump: set CUOBJDUMP or put it on PATH");
        }
        println!(
            "!!! NO CUOBJDUMP: CONTENTS OF BINARY FILES NOT COMPARED (set CUOBJDUMP or put it on PATH) !!!"
        );
        return Ok(());
    };
    let own = [Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-container/tests/data")];
    let chosen = if args.files.is_empty() {
        &own[..]
    } else {
        &args.files
    };
    let mut files = Vec::new();
    chosen
        .iter()
        .try_for_each(|path| collect(path, &mut files))?;
    let mut tally = Tally::default();
    for file in &files {
        let before = (tally.ptx, tally.cubins);
        compare(&program, file, &mut tally).with_context(|| file.display().to_string())?;
        let found = (tally.ptx - before.0, tally.cubins - before.1);
        if found != (0, 0) {
            tally.files += 1;
            println!("{}: {} PTX, {} cubins", file.display(), found.0, found.1);
        }
    }
    println!(
        "{} files, {} PTX and {} cubins, {} bytes: equal; {} not extracted by cuobjdump under separate names",
        tally.files, tally.ptx, tally.cubins, tally.bytes, tally.unknown
    );
    if tally.ptx == 0 {
        bail!("nothing was compared");
    }
    Ok(())
}

/// The program of the environment variable, or the one on PATH.
fn find() -> Option<PathBuf> {
    let named = std::env::var_os("CUOBJDUMP").filter(|path| !path.is_empty());
    let named = named.map(PathBuf::from);
    named.or_else(|| {
        let path = std::env::var_os("PATH")?;
        let mut places = std::env::split_paths(&path).map(|folder| folder.join("cuobjdump"));
        places.find(|place| place.is_file())
    })
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        let mut inside = fs::read_dir(path)?
            .map(|e| Ok(e?.path()))
            .collect::<Result<Vec<_>>>()?;
        inside.sort();
        inside.iter().try_for_each(|path| collect(path, files))
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
    let all = entries(&bytes).collect::<Result<Vec<_>, _>>()?;
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
        let own: HashMap<usize, &ContainerEntry> = all
            .iter()
            .filter(|e| e.kind() == kind)
            .map(|e| (e.number(), e))
            .collect();
        let to = folder.path().join(option);
        fs::create_dir(&to)?;
        let output = Command::new(program)
            .args(["-all", option, "all"])
            .arg(&input)
            .current_dir(&to)
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        let output = String::from_utf8_lossy(&output.stdout);
        let extracted = output
            .lines()
            .filter(|line| line.starts_with("Extracting"))
            .count();
        if extracted != own.len() {
            let found = own.len();
            bail!("{kind}: {found} entries, but cuobjdump extracts {extracted}: {complaint}");
        }
        let mut files = Vec::new();
        collect(&to, &mut files)?;
        for file in &files {
            tally.bytes += one(file, &own, &bytes)?;
        }
        *count += files.len();
        tally.unknown += extracted - files.len();
    }
    Ok(())
}

/// Compares a file with the entry of its number, or, if its name has none, with all entries. Returns its size.
fn one(file: &Path, own: &HashMap<usize, &ContainerEntry>, bytes: &[u8]) -> Result<u64> {
    let expected = fs::read(file)?;
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    // `STEM.NUMBER.TARGET.ptx`
    let number = name.rsplit('.').nth(2).and_then(|n| n.parse().ok());
    let numbered = number.and_then(|n: usize| own.get(&n));
    let candidates: Vec<_> = numbered.map_or_else(|| own.values().collect(), |entry| vec![entry]);
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
