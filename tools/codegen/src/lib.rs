//! Generates the tables under `ptx-isa/src/generated` from the `.isa` files.
//!
//! [`input`] reads lines and tokens, `read_*` parses the statements into the types of [`notation`], `bind*` resolves names and returns
//! the [`schema`], and `emit_*` prints it as Rust.

mod bind;
mod bind_expression;
mod bind_family;
mod bind_rules;
mod emit_forms;
mod emit_vocabulary;
mod input;
pub mod naming;
mod notation;
mod output;
mod perfect_hash;
mod read_block;
mod read_condition;
mod read_expression;
mod read_statement;
mod read_text;
mod rust;
#[allow(dead_code, reason = "fields that are printed by `{:?}` alone")]
mod schema;
mod shared_lists;
mod vocabulary;
mod vocabulary_rows;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

pub use input::expand;
pub use output::{Mode, Output};
use vocabulary::Vocabulary;

const VOCABULARY: &[&str] = &[
    "types.isa",
    "targets.isa",
    "registers.isa",
    "directives.isa",
    "modifiers.isa",
    "marks.isa",
    "functions.isa",
    "actions.isa",
    "foreign.isa",
];

/// Updates the tables of ptx-isa, or in [`Mode::Check`] compares them; returns whether anything changed.
///
/// # Errors
///
/// Fails if an `.isa` file has a mistake, if a file cannot be read or written, and in [`Mode::Check`] if a file is out of date.
pub fn run(mode: Mode) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the workspace of codegen")?;
    let isa = root.join("ptx-isa/isa");
    let tables = generate(&isa)?;
    let changed = tables
        .output
        .finish(&root.join("ptx-isa/src/generated"), mode)?;
    tables.readme.finish(&isa, mode)?;
    Ok(changed)
}

/// The files generated from a folder of `.isa` files.
#[derive(Debug)]
pub struct Tables {
    /// The modules of `ptx-isa/src/generated`.
    pub output: Output,
    /// `README.md` beside the `.isa` files.
    readme: Output,
}

/// Reads a folder of `.isa` files.
///
/// # Errors
///
/// Fails if a file cannot be read or has a mistake; the message contains file, line and column.
pub fn generate(isa: &Path) -> Result<Tables> {
    let mut names = Vec::new();
    for entry in fs::read_dir(isa).with_context(|| format!("reading {}", isa.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".isa").map(str::to_string));
    }
    names.sort();
    let read =
        |name: &str| fs::read_to_string(isa.join(name)).with_context(|| format!("reading {name}"));
    let mut vocabulary = Vocabulary::default();
    for name in VOCABULARY {
        vocabulary.read(&input::lines(&format!("ptx-isa/isa/{name}"), &read(name)?))?;
    }
    vocabulary.finish()?;
    let mut families = Vec::new();
    for name in names
        .iter()
        .filter(|name| !VOCABULARY.contains(&format!("{name}.isa").as_str()))
    {
        let file = format!("{name}.isa");
        families.push(read_block::read(
            name,
            &input::lines(&format!("ptx-isa/isa/{file}"), &read(&file)?),
        )?);
    }
    let mut readme = Output::partial();
    readme.add(
        "README.md",
        emit_vocabulary::update_readme(&read("README.md")?, &vocabulary)?,
    );
    Ok(Tables {
        output: emit(&vocabulary, &families)?,
        readme,
    })
}

/// Generates the files for the text of a vocabulary and of one family. Messages call them `words.isa` and `family.isa`.
///
/// # Errors
///
/// Fails if one of the texts has a mistake.
pub fn generate_family(words: &str, family: &str) -> Result<Output> {
    let mut vocabulary = Vocabulary::default();
    vocabulary.read(&input::lines("words.isa", words))?;
    vocabulary.finish()?;
    let family = read_block::read("family", &input::lines("family.isa", family))?;
    emit(&vocabulary, &[family])
}

fn emit(vocabulary: &Vocabulary, families: &[notation::Family]) -> Result<Output> {
    let mut opcodes = BTreeSet::new();
    for block in families.iter().flat_map(|family| &family.blocks) {
        for name in &block.names {
            opcodes.extend(name.text.split('.').next().map(str::to_string));
        }
    }
    let opcodes: Vec<String> = opcodes.into_iter().collect();
    let families = bind_family::bind(vocabulary, families)?;
    let mut output = Output::default();
    emit_vocabulary::emit(vocabulary, &opcodes, &mut output)?;
    emit_forms::emit(vocabulary, &families, &opcodes, &mut output)?;
    output.add_index();
    Ok(output)
}
