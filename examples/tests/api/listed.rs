//! The lists of the public interface (`api/*.txt`) against all code that runs with the tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files below a folder.
fn below(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "target" && !name.starts_with('.') => below(&path, all),
            true => {}
            false => all.push(path),
        }
    }
}

/// The code of a source file that only runs with tests: its examples in comments, and what follows `#[cfg(test)]`.
fn tested(text: &str) -> String {
    let mut code = String::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(comment) = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
        else {
            inside = false;
            continue;
        };
        match comment.trim_start().strip_prefix("```") {
            Some(kind) => inside = !inside && (kind.is_empty() || kind.starts_with("rust")),
            None if inside => code.extend([comment, "\n"]),
            None => {}
        }
    }
    code + text
        .split_once("#[cfg(test)]")
        .map_or("", |(_, tests)| tests)
}

/// The names of functions that are called, with a parenthesis or as values.
fn called(code: &str, names: &mut BTreeSet<String>) {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = code;
    while let Some(start) = rest.find(word) {
        rest = &rest[start..];
        let (name, after) = rest.split_at(rest.find(|c| !word(c)).unwrap_or(rest.len()));
        names.insert(name.to_owned());
        rest = after;
    }
}

/// A path without the generic parameters at its end.
fn without_generics(path: &str) -> &str {
    let mut depth = 0;
    for (index, c) in path.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if c == '<' { &path[..index] } else { path };
        }
    }
    path
}

/// Public functions that no test calls yet. Remove an entry with its test; do not add any.
const UNTESTED: &[&str] = &[
    "ptx_verify::Reason (availability)",
    "ptx_transform::clean::Pass (term)",
    "ptx_build::FunctionBuilder<'_> (result_register)",
    "ptx_edit::NewParam (with_align)",
    "ptx_edit::NewParam (with_elements)",
    "ptx_isa::describe (role)",
    "ptx_ir::query::NameTypes (update_body)",
    "ptx_ir::query::NameTypes (update_symbols)",
    "ptx_ir::query::Queries<A> (ask_again)",
    "ptx_ir::query::Queries<A> (update_body)",
    "ptx_ir::query::Queries<A> (update_mnemonics)",
    "ptx_ir::query::Queries<A> (update_symbols)",
    "ptx_ir::trivia_map::TriviaMap<'m> (of_body)",
    "ptx_ir::GuardSense (negated_if)",
    "ptx_ir::Operand (with_parts)",
    "ptx_ir::Body (is_in_scope)",
    "ptx_ir::Body (is_closed)",
    "ptx_ir::Module (find_name)",
    "ptx_ir::Module (interface_directives)",
    "ptx_ir::Module (item_spans)",
    "ptx_ir::Module (name_count)",
    "ptx_ir::Module (shared_source)",
    "ptx_ir::OperandWalk<'p> (next_whole)",
    "ptx_analysis::calls::CallGraph (address_taken)",
    "ptx_analysis::calls::CallGraph (calls_of)",
    "ptx_analysis::calls::CallGraph (is_address_taken)",
];

/// The public functions of a list that are not trait methods, with their names.
fn public(list: &str) -> Vec<(&str, &str)> {
    let mut of_trait = false;
    let mut all = Vec::new();
    for line in list.lines() {
        let function = line.split_once("fn ").filter(|(before, _)| {
            let mut words = before.split_whitespace();
            words.next() == Some("pub") && words.all(|w| matches!(w, "const" | "unsafe"))
        });
        let Some((_, path)) = function else {
            if line.starts_with("impl") {
                of_trait = line.contains(" for ");
            }
            continue;
        };
        let path = path.split_once('(').map_or(path, |(path, _)| path);
        // Functions of one type with the same signature share a line: `a::B::{f, g}`.
        if let Some((owner, names)) = path.split_once("::{")
            && let Some(names) = names.strip_suffix('}')
        {
            let names = names.split(", ");
            if !of_trait {
                all.extend(names.map(|name| (owner, name)));
            }
            continue;
        }
        let path = without_generics(path);
        let name = path.rsplit("::").next().unwrap_or(path);
        let owner = path.rsplit_once("::").map_or(path, |(owner, _)| owner);
        if !of_trait {
            all.push((owner, name));
        }
    }
    all
}

/// Methods that are generated from the instruction table and tested as a whole, and those of the `bitflags` crate.
fn is_generated(owner: &str, name: &str) -> bool {
    let of_table = owner.starts_with("ptx_build::InstBuilder<")
        || owner.starts_with("ptx_build::FunctionBuilder<'m>");
    of_table && name != "with" && name != "emit" || owner == "ptx_isa::Marks"
}

#[test]
fn every_public_function_is_called() {
    let mut files = Vec::new();
    below(&root(), &mut files);
    let mut names = BTreeSet::new();
    for path in files {
        let inside = path.strip_prefix(root()).unwrap();
        let part = |name: &str| inside.components().any(|c| c.as_os_str() == name);
        let extension = path.extension().and_then(|e| e.to_str());
        let whole = part("tests") || part("benches") || part("examples") || part("docs");
        let readme = inside == Path::new("README.md");
        if part("fuzz") || part("corpus") || path.ends_with("api/listed.rs") {
            continue;
        }
        match extension {
            Some("rs") if whole => called(&fs::read_to_string(&path).unwrap(), &mut names),
            Some("rs") => called(&tested(&fs::read_to_string(&path).unwrap()), &mut names),
            Some("md") if whole || readme => {
                called(&fs::read_to_string(&path).unwrap(), &mut names)
            }
            _ => {}
        }
    }
    let mut missing = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(root().join("api")).unwrap() {
        let list = fs::read_to_string(entry.unwrap().path()).unwrap();
        for (path, name) in public(&list) {
            count += 1;
            let entry = format!("{path} ({name})");
            if !is_generated(path, name) && !names.contains(name) && !UNTESTED.contains(&&*entry) {
                missing.push(entry);
            }
        }
    }
    assert!(count > 1000, "{count} functions are listed");
    assert!(missing.is_empty(), "nothing calls {missing:#?}");
}

#[test]
fn lists_are_read() {
    let list = "impl core::fmt::Display for a::B\npub fn a::B::fmt(&self)\nimpl a::B\npub const fn a::B<'_>::len(&self)\npub fn a::B::{f, g}(&self)\npub fn a::of<T: a::C>(T)\npub a::B::field: u32\n";
    let names: Vec<&str> = public(list).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["len", "f", "g", "of"]);
    assert_eq!(
        tested("/// ```\n/// f(1)\n/// ```\nfn g() {}\n#[cfg(test)]\nh()").trim(),
        "f(1)\n\nh()"
    );
}
