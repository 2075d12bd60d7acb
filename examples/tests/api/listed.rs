//! The lists of the public interface (`tools/api/*.txt`) against all code that runs with the tests.

use std::collections::{BTreeMap, BTreeSet};
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

/// Methods that are generated from the instruction table and tested as a whole.
fn is_generated(owner: &str, name: &str) -> bool {
    let of_table = owner.starts_with("ptx_build::InstBuilder<")
        || owner.starts_with("ptx_build::FunctionBuilder<'m>");
    of_table && name != "with" && name != "emit"
}

/// The crates whose code is tested by what it writes.
const TOOLS: [&str; 6] = [
    "ptx-report",
    "ptx-cli",
    "ptx-lsp",
    "ptx-table",
    "bindings/c",
    "bindings/python",
];

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
        // Tests run the programs and bindings as a whole.
        let whole = whole || TOOLS.iter().any(|tool| inside.starts_with(tool));
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
    for entry in fs::read_dir(root().join("tools/api")).unwrap() {
        let list = fs::read_to_string(entry.unwrap().path()).unwrap();
        for (path, name) in public(&list) {
            count += 1;
            if !is_generated(path, name) && !names.contains(name) {
                missing.push(format!("{path} ({name})"));
            }
        }
    }
    assert!(count > 1000, "{count} functions are listed");
    assert!(missing.is_empty(), "nothing calls {missing:#?}");
}

/// The names that a crate exports at its root, each with whether it is a type or a module.
fn root_names(list: &str) -> BTreeSet<(bool, &str)> {
    let mut all = BTreeSet::new();
    for line in list.lines() {
        let item = line.split_once("pub ").map_or(line, |(_, item)| item);
        let item = item.strip_prefix("const fn ").map_or(item, |_| &item[6..]);
        let Some((kind, path)) = item.split_once(' ') else {
            continue;
        };
        let is_type = matches!(kind, "struct" | "enum" | "trait" | "type" | "mod");
        let Some((_, names)) = path.split_once("::") else {
            continue;
        };
        if !is_type && !matches!(kind, "fn" | "const" | "static") {
            continue;
        }
        let list = names.strip_prefix('{').and_then(|n| n.split_once('}'));
        let names = list.map_or(vec![names], |(list, _)| list.split(", ").collect());
        for name in names {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            let (name, rest) = name.split_at(end.unwrap_or(name.len()));
            if !rest.starts_with("::") {
                all.insert((is_type, name));
            }
        }
    }
    all
}

/// `use ptx_isa::*; use ptx_ir::*;` and the like is never ambiguous.
#[test]
fn no_name_is_exported_twice() {
    let mut owners: BTreeMap<(bool, String), String> = BTreeMap::new();
    for entry in fs::read_dir(root().join("tools/api")).unwrap() {
        let path = entry.unwrap().path();
        let list = fs::read_to_string(&path).unwrap();
        let owner = path.file_stem().unwrap().to_string_lossy().into_owned();
        let names = root_names(&list);
        assert!(!names.is_empty(), "{owner}");
        for (is_type, name) in names {
            let other = owners.insert((is_type, name.to_owned()), owner.clone());
            assert_eq!(other, None, "`{name}` is exported by {owner} as well");
        }
    }
}

#[test]
fn lists_are_read() {
    let list = "#[must_use] pub struct a::{B<'a>, C}\npub fn a::f(u8, &u8) -> a::B\npub fn a::m::g()\npub fn a::B::h()\n";
    let names: Vec<_> = root_names(list).into_iter().collect();
    assert_eq!(names, [(false, "f"), (true, "B"), (true, "C")]);
    let list = "impl core::fmt::Display for a::B\npub fn a::B::fmt(&self)\nimpl a::B\npub const fn a::B<'_>::len(&self)\npub fn a::B::{f, g}(&self)\npub fn a::of<T: a::C>(T)\npub a::B::field: u32\n";
    let names: Vec<&str> = public(list).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["len", "f", "g", "of"]);
    assert_eq!(
        tested("/// ```\n/// f(1)\n/// ```\nfn g() {}\n#[cfg(test)]\nh()").trim(),
        "f(1)\n\nh()"
    );
}
