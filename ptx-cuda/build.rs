//! Generates the results of functions, the exported functions that are not implemented, the variants of functions for per-thread default streams, and the tables in
//! which `cuGetProcAddress` looks up functions, from the lists in `api` and the functions that the sources export.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

/// A function in a list.
struct Listed {
    symbol: String,
    /// The name by which `cuGetProcAddress` finds it, and the first version of CUDA; the driver API only.
    lookup: Option<(String, u32)>,
    /// The suffix of the variant for per-thread default streams, and its first version of CUDA.
    per_thread: Option<(String, u32)>,
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=api");
    println!("cargo::rerun-if-changed=src");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let out = Path::new(&out);
    fs::write(
        out.join("status.rs"),
        status(&fs::read_to_string("api/errors.txt")?),
    )?;
    let driver = listed(&fs::read_to_string("api/driver.txt")?);
    let runtime = listed(&fs::read_to_string("api/runtime.txt")?);
    let mut implemented = BTreeSet::new();
    for folder in ["src/driver", "src/runtime"] {
        if Path::new(folder).exists() {
            find_exported(Path::new(folder), &mut implemented)?;
        }
    }
    let mut code = String::new();
    let mut symbols = BTreeSet::new();
    for function in driver.iter().chain(&runtime) {
        exported(&mut code, function, &implemented, &mut symbols);
    }
    entries(&mut code, &symbols);
    table(&mut code, "DRIVER", &driver);
    fs::write(out.join("functions.rs"), code)
}

/// Reads a list of functions.
fn listed(text: &str) -> Vec<Listed> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let symbol = fields.next()?.to_owned();
            let rest: Vec<&str> = fields.collect();
            let version = |text: &str| text.parse().unwrap_or(0);
            Some(match rest[..] {
                [] => Listed {
                    symbol,
                    lookup: None,
                    per_thread: None,
                },
                [suffix] => Listed {
                    symbol,
                    lookup: None,
                    per_thread: Some((suffix.to_owned(), 0)),
                },
                [name, since, ref variant @ ..] => Listed {
                    symbol,
                    lookup: Some((name.to_owned(), version(since))),
                    per_thread: match *variant {
                        [suffix, since] => Some((suffix.to_owned(), version(since))),
                        _ => None,
                    },
                },
            })
        })
        .collect()
}

/// Adds the names of the functions that the files of a folder export.
fn find_exported(folder: &Path, names: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_exported(&path, names)?;
            continue;
        }
        let text = fs::read_to_string(&path)?;
        for part in text.split("extern \"C\" fn ").skip(1) {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            names.insert(part[..end.unwrap_or(part.len())].to_owned());
        }
    }
    Ok(())
}

/// Writes a function that is not implemented, and the variant for per-thread default streams, which has the same code, and adds both to the symbols.
fn exported(
    code: &mut String,
    function: &Listed,
    implemented: &BTreeSet<String>,
    symbols: &mut BTreeSet<String>,
) {
    let symbol = &function.symbol;
    if symbols.insert(symbol.clone()) && !implemented.contains(symbol) {
        let _ = writeln!(
            code,
            "#[unsafe(no_mangle)]\nextern \"C\" fn {symbol}() -> u32 {{ crate::call::not_supported(\"{symbol}\") }}"
        );
    }
    let Some((suffix, _)) = &function.per_thread else {
        return;
    };
    let variant = format!("{symbol}{suffix}");
    if symbols.insert(variant.clone()) && !implemented.contains(&variant) {
        let _ = writeln!(
            code,
            "#[unsafe(no_mangle)]\n#[unsafe(naked)]\nextern \"C\" fn {variant}() {{ jump_to!(entry::{symbol}) }}"
        );
    }
}

/// Writes declarations of all functions, whose types are not the real ones.
fn entries(code: &mut String, symbols: &BTreeSet<String>) {
    code.push_str("#[allow(dead_code)]\nmod entry { unsafe extern \"C\" {\n");
    for symbol in symbols {
        let _ = writeln!(code, "pub(super) fn {symbol}();");
    }
    code.push_str("} }\n");
}

/// Writes a table of functions, sorted by name and version.
fn table(code: &mut String, name: &str, functions: &[Listed]) {
    let mut rows = BTreeMap::new();
    for function in functions {
        let symbol = &function.symbol;
        let (found, since) = match &function.lookup {
            Some((found, since)) => (found.clone(), *since),
            None => (symbol.clone(), 0),
        };
        rows.insert((found.clone(), since, false), symbol.clone());
        if let Some((suffix, since)) = &function.per_thread {
            rows.insert((found, *since, true), format!("{symbol}{suffix}"));
        }
    }
    let _ = writeln!(
        code,
        "pub(crate) static {name}: [Function; {}] = [",
        rows.len()
    );
    for ((found, since, per_thread), symbol) in &rows {
        let _ = writeln!(
            code,
            "Function {{ name: \"{found}\", since: {since}, per_thread: {per_thread}, address: entry::{symbol} }},"
        );
    }
    code.push_str("];\n");
}

/// Writes the results of functions, and their names.
fn status(list: &str) -> String {
    let mut constants = String::new();
    let mut names = String::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [number, driver, runtime] = fields[..] else {
            continue;
        };
        let constant = match driver.strip_prefix("CUDA_ERROR_") {
            Some(rest) => rest.to_owned(),
            None if driver == "CUDA_SUCCESS" => "SUCCESS".to_owned(),
            None => words(runtime.trim_start_matches("cudaError"), '_').to_uppercase(),
        };
        let text = words(&constant.replace('_', " ").to_lowercase(), ' ');
        let _ = writeln!(
            constants,
            "/// {text}.\npub const {constant}: Self = Self({number});"
        );
        let _ = writeln!(
            names,
            "({number}, c\"{}\", c\"{}\", c\"{text}\"),",
            if driver == "-" { "" } else { driver },
            if runtime == "-" { "" } else { runtime }
        );
    }
    format!(
        "impl Status {{\n{constants}}}\n/// The number, the names and the text of each result.\nstatic NAMES: &[(u32, &CStr, &CStr, &CStr)] = &[\n{names}];\n"
    )
}

/// The words of a name in camel case, with a separator between them.
fn words(name: &str, separator: char) -> String {
    let mut text = String::new();
    let mut previous_is_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && previous_is_lower {
            text.push(separator);
        }
        previous_is_lower = c.is_lowercase() || c.is_ascii_digit();
        text.push(c);
    }
    text
}
