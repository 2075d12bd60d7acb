//! `cargo xtask new-lint NAME TITLE`: the files and entries of a new lint.
//!
//! A lint consists of a file and a row in `ptx-lint/src/lints`, a diagnostic code, a page, fixtures and a row in `docs/linting.md`. The command
//! writes all of them, and prints what remains to be written by hand. No file is written if one of the edits is impossible.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Arguments of `cargo xtask new-lint`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The name, such as `missed-vector`
    name: String,
    /// The title of the page of a finding, such as `adjacent accesses that could be one vector access`
    title: String,
}

/// The numbers of the codes of lints.
const CODES: std::ops::RangeInclusive<u16> = 1501..=1599;

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the workspace of xtask")?;
    let lint = NewLint::new(root, &args.name, &args.title)?;
    for (path, text) in lint.files(root)? {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        println!(
            "wrote {}",
            path.strip_prefix(root).unwrap_or(&path).display()
        );
    }
    println!("{}", lint.remaining_work());
    Ok(())
}

/// A lint that does not exist yet.
struct NewLint {
    /// Words in lower case with `-` between them.
    name: String,
    title: String,
    /// The name of the module.
    module: String,
    /// The name of the variants of `Lint` and `Code`.
    variant: String,
    code: u16,
}

impl NewLint {
    /// Checks the name and takes the next free number.
    fn new(root: &Path, name: &str, title: &str) -> Result<Self> {
        let has_words = name.split('-').all(|word| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        });
        ensure!(
            has_words,
            "`{name}` is not words in lower case with `-` between them"
        );
        ensure!(
            !title.is_empty() && !title.contains(['"', '\n']),
            "the title is one line without `\"`"
        );
        let codes = fs::read_to_string(root.join(CODE_FILE))?;
        let numbers = codes
            .lines()
            .filter_map(|line| line.split_once(" = ")?.1.split_once(',')?.0.parse().ok());
        let last = numbers.filter(|number| CODES.contains(number)).max();
        let code = last.map_or(*CODES.start(), |last| last + 1);
        ensure!(CODES.contains(&code), "all codes of lints are taken");
        let capitalized = name
            .split('-')
            .map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
        Ok(Self {
            name: name.to_owned(),
            title: title.to_owned(),
            module: name.replace('-', "_"),
            variant: capitalized.collect(),
            code,
        })
    }

    /// All files to write, with their texts.
    fn files(&self, root: &Path) -> Result<BTreeMap<PathBuf, String>> {
        let mut files = BTreeMap::new();
        let Self {
            name, module, code, ..
        } = self;
        for (path, text) in [
            (format!("ptx-lint/src/lints/{module}.rs"), self.source()),
            (format!("ptx-report/pages/PTX{code}.md"), self.page()),
            (
                format!("ptx-lint/tests/lints/{name}/faulty.ptx"),
                self.fixture(
                    "A kernel that is reported.",
                    &marked(&format!("~ {name} definite")),
                ),
            ),
            (
                format!("ptx-lint/tests/lints/{name}/correct.ptx"),
                self.fixture("A kernel that is not reported.", KERNEL),
            ),
        ] {
            let path = root.join(path);
            ensure!(!path.exists(), "{} exists", path.display());
            files.insert(path, text);
        }
        let edit =
            |file: &str, edit: &dyn Fn(&str) -> Result<String>| -> Result<(PathBuf, String)> {
                let path = root.join(file);
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("reading {}", path.display()))?;
                Ok((
                    path,
                    edit(&text).with_context(|| format!("editing {file}"))?,
                ))
            };
        files.extend([
            edit("ptx-lint/src/lints/mod.rs", &|text| self.with_row(text))?,
            edit(CODE_FILE, &|text| self.with_code(text))?,
            edit("docs/linting.md", &|text| self.with_documentation(text))?,
        ]);
        Ok(files)
    }

    /// `ptx-lint/src/lints/mod.rs` with the module, in alphabetical order, and the last row of the table.
    fn with_row(&self, text: &str) -> Result<String> {
        let Self {
            name,
            module,
            variant,
            ..
        } = self;
        let declaration = format!("mod {module};");
        let next_declaration = text
            .lines()
            .find(|line| line.starts_with("mod ") && **line > *declaration);
        let text = match next_declaration {
            Some(line) => insert_before(text, &format!("{line}\n"), &format!("{declaration}\n"))?,
            None => insert_before(text, "\nuse ", &format!("{declaration}\n"))?,
        };
        let start = text.find("\nlints! {\n").context("no table of lints")?;
        let row = format!(
            "    {variant} {{\n        name: \"{name}\",\n        code: {variant},\n        check: {module}::check,\n        \
             inlining: Never,\n        needs: [],\n    }}\n"
        );
        let (before, table) = text.split_at(start + 1);
        Ok(before.to_owned() + &insert_before(table, "}\n\n", &row)?)
    }

    /// The codes of diagnostics with the new one after that of the last lint.
    fn with_code(&self, text: &str) -> Result<String> {
        let last = format!(" = {}, ", self.code - 1);
        let line = text
            .lines()
            .find(|line| line.contains(&last))
            .context("no code of a lint")?;
        let new = format!(
            "{line}\n    {} = {}, \"{}\";",
            self.variant, self.code, self.title
        );
        Ok(text.replacen(line, &new, 1))
    }

    /// `docs/linting.md` with a row in its table of lints.
    fn with_documentation(&self, text: &str) -> Result<String> {
        let table = text
            .find("\n| lint | finds |\n")
            .context("no table of lints")?;
        let (before, table) = text.split_at(table + 1);
        Ok(before.to_owned()
            + &insert_before(
                table,
                "\n\n",
                &format!("\n| `{}` | {} |", self.name, self.title),
            )?)
    }

    fn source(&self) -> String {
        let Self {
            name,
            title,
            variant,
            ..
        } = self;
        format!(
            "//! `{name}`: {title}.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;

use crate::context::{{FunctionContext, Reached}};
use crate::{{Finding, Lint}};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {{
    for instruction in cx.instructions() {{
        if let Some(certainty) = judge(cx, &instruction) {{
            let message = format!(\"`{{}}` …\", cx.mnemonic(instruction.inst));
            let finding = cx.finding(Lint::{variant}, certainty, instruction.stmt, message);
            findings.push(finding.with_help(\"…\"));
        }}
    }}
}}

/// Returns the certainty with which an instruction is wrong, or `None` if it is not reported.
fn judge(_cx: &FunctionContext<'_>, _instruction: &Reached<'_>) -> Option<Certainty> {{
    None
}}
"
        )
    }

    fn page(&self) -> String {
        let Self {
            name, title, code, ..
        } = self;
        let wrong = marked(&format!(" PTX{code}"));
        format!(
            "# PTX{code}: {title}

Severity: warning

The lint `{name}` reports …

## Why

…

## How to fix it

…

## Certainty

Definite if …; possible if …

## False positives

… is not reported.

## Wrong

```ptx
{HEAD}
{wrong}```

## Right

```ptx
{HEAD}
{KERNEL}```
"
        )
    }

    fn fixture(&self, subject: &str, kernel: &str) -> String {
        format!("//@ only: {}\n// {subject}\n{HEAD}\n{kernel}", self.name)
    }

    fn remaining_work(&self) -> String {
        let Self {
            name, module, code, ..
        } = self;
        format!(
            "
PTX{code} is the code of `{name}`. To do:
1. Write `judge` in ptx-lint/src/lints/{module}.rs. Set `needs` and `inlining` of its row in ptx-lint/src/lints/mod.rs.
2. Write ptx-lint/tests/lints/{name}: at least 10 faulty and 10 correct kernels; `//~ {name} definite` marks the line of a finding.
3. Write ptx-report/pages/PTX{code}.md; `// PTX{code}` marks the line that the wrong example reports.
4. Describe the lint in docs/linting.md, from \"finds\" on, and in CHANGELOG.md.
5. Run `cargo fmt`, `cargo xtask codegen` and `cargo xtask api`; `PTXKIT_BLESS=1 cargo test -p ptxkit-cli schemas` adds the name to docs/schema.
6. Run `cargo test -p ptxkit-lint` and `cargo test -p ptxkit-cli --test pages`; they fail until steps 1 to 3 are done."
        )
    }
}

/// The file with the codes of diagnostics.
const CODE_FILE: &str = "ptx-ir/src/diagnostic.rs";

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

const KERNEL: &str = "\
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

/// The kernel with a comment at its store.
fn marked(comment: &str) -> String {
    KERNEL.replace("%r1;\n    ret", &format!("%r1; //{comment}\n    ret"))
}

/// The text with more text before the first occurrence of a mark.
fn insert_before(text: &str, mark: &str, new: &str) -> Result<String> {
    let position = text
        .find(mark)
        .with_context(|| format!("`{}` is missing", mark.trim()))?;
    let (before, after) = text.split_at(position);
    Ok([before, new, after].concat())
}

#[cfg(test)]
mod tests {
    use super::{NewLint, Path};

    #[test]
    fn a_lint_has_a_file_a_row_a_code_a_page_fixtures_and_documentation() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        let lint = NewLint::new(root, "zero-divisor", "a division by zero").unwrap();
        let files = lint.files(root).unwrap();
        let text = |path: &str| files.get(&root.join(path)).unwrap().as_str();
        let page = text(&format!("ptx-report/pages/PTX{}.md", lint.code));
        assert!(test_support::page::Page::read(page).is_some());
        assert!(text("ptx-lint/src/lints/zero_divisor.rs").contains("Lint::ZeroDivisor"));
        let table = text("ptx-lint/src/lints/mod.rs");
        assert!(table.contains("mod warp_mask;\nmod zero_divisor;\n\nuse "));
        assert!(table.contains("        check: zero_divisor::check,\n        inlining: Never,\n        needs: [],\n    }\n}\n"));
        let code = format!("    ZeroDivisor = {}, \"a division by zero\";\n", lint.code);
        assert!(text("ptx-ir/src/diagnostic.rs").contains(&code));
        assert!(text("docs/linting.md").contains("|\n| `zero-divisor` | a division by zero |\n\n"));
        assert!(
            text("ptx-lint/tests/lints/zero-divisor/faulty.ptx")
                .starts_with("//@ only: zero-divisor\n")
        );
        assert!(
            text("ptx-lint/tests/lints/zero-divisor/correct.ptx")
                .starts_with("//@ only: zero-divisor\n")
        );
    }

    #[test]
    fn names_of_existing_lints_and_other_texts_are_refused() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        let existing = NewLint::new(root, "dead-code", "code without effect").unwrap();
        assert!(existing.files(root).is_err());
        for name in ["", "Dead-code", "dead--code", "dead code", "1st"] {
            assert!(NewLint::new(root, name, "a title").is_err(), "{name}");
        }
    }
}
