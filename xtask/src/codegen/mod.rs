//! Turns `ptx-isa/isa/*.isa` into the tables under `ptx-isa/src/generated/`.

mod emit_vocabulary;
mod naming;
mod output;
mod perfect;
mod source;
mod vocabulary;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use output::Output;
use source::{Cursor, Line};
use vocabulary::Vocabulary;

/// Arguments of `cargo xtask codegen`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a generated file is not what the .isa files say
    #[arg(long)]
    check: bool,
}

const VOCABULARY: &[&str] = &[
    "types.isa",
    "targets.isa",
    "registers.isa",
    "directives.isa",
    "modifiers.isa",
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the workspace of xtask")?;
    let isa = root.join("ptx-isa/isa");
    let read = |name: &str| -> Result<Vec<Line>> {
        let path = isa.join(name);
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(source::lines(&format!("ptx-isa/isa/{name}"), &text))
    };
    let mut vocabulary = Vocabulary::default();
    for name in VOCABULARY {
        vocabulary.read(&read(name)?)?;
    }
    vocabulary.finish()?;

    let mut opcodes = std::collections::BTreeSet::new();
    for entry in fs::read_dir(&isa)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".isa") && !VOCABULARY.contains(&name.as_str()) {
            for line in read(&name)? {
                let mut c = Cursor::new(&line);
                if line.indent == 0 && c.eat_word("insn") {
                    while c.peek_char().is_some_and(|c| c != '"') {
                        let word = c.word("a name")?;
                        opcodes.insert(word.split('.').next().unwrap_or_default().to_string());
                    }
                }
            }
        }
    }
    let opcodes: Vec<String> = opcodes.into_iter().collect();

    let mut output = Output::default();
    emit_vocabulary::emit(&vocabulary, &opcodes, &mut output)?;
    output.add_index();
    output.finish(&root.join("ptx-isa/src/generated"), root, args.check)
}
