//! The signatures of the exported functions against NVIDIA's headers, whose folder is in the variable `CUDA_INCLUDE`. Without it, the test does nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The parameters of functions: the number of bytes of each, by the names of the functions.
type Signatures = BTreeMap<String, Vec<usize>>;

/// The number of bytes of a parameter of C.
fn bytes_in_c(parameter: &str, four_bytes: &[String]) -> usize {
    let words: Vec<&str> = parameter.split_whitespace().collect();
    if parameter.contains('*') || parameter.contains('[') {
        return 8;
    }
    let has = |word: &str| words.contains(&word);
    if has("char") {
        1
    } else if has("short") {
        2
    } else if has("long") || has("size_t") || has("cuuint64_t") || has("double") {
        8
    } else if has("int")
        || has("cuuint32_t")
        || has("unsigned")
        || has("float")
        || has("enum")
        || has("CUdevice")
    {
        4
    } else if has("dim3") {
        12
    } else if words
        .iter()
        .any(|word| word.ends_with("ID") || four_bytes.iter().any(|name| name == word))
    {
        4
    } else {
        // A handle, a pointer to a function, an address, or a structure of eight bytes.
        8
    }
}

/// The number of bytes of a parameter of Rust.
fn bytes_in_rust(kind: &str) -> usize {
    match kind {
        "u8" => 1,
        "u16" => 2,
        "u32" | "i32" | "f32" | "Status" => 4,
        "Dim3" => 12,
        _ => 8,
    }
}

/// The parts of a list that commas separate outside of parentheses and brackets.
fn parts(list: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in list.chars() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.retain(|part| !part.trim().is_empty() && part.trim() != "void");
    parts
}

/// The text up to the parenthesis that closes one which is open at the start.
fn to_closing(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    &text[..end.unwrap_or(0)]
}

/// The functions that a header declares. `marker` is before their names.
fn declared(header: &str, marker: &str, four_bytes: &[String]) -> Signatures {
    let mut signatures = Signatures::new();
    for part in header.split(marker).skip(1) {
        let Some((name, rest)) = part.split_once('(') else {
            continue;
        };
        let name = name.trim();
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        let parameters = parts(to_closing(rest));
        let sizes = parameters
            .iter()
            .map(|p| bytes_in_c(p.split('=').next().unwrap_or(p), four_bytes));
        // The header declares variants of functions with the same name for older programs after the current ones.
        signatures
            .entry(name.to_owned())
            .or_insert_with(|| sizes.collect());
    }
    signatures
}

/// The names of the enumerations of a header.
fn enumerations(header: &str) -> Vec<String> {
    let ends = header.split("typedef enum").skip(1).filter_map(|part| {
        let (_, rest) = part.split_once('}')?;
        Some(rest.split_once(';')?.0.trim().to_owned())
    });
    let aliases = header.split("typedef CU").skip(1).filter_map(|part| {
        let (name, alias) = part.split_once(';')?.0.split_once(' ')?;
        name.ends_with("ID").then(|| alias.trim().to_owned())
    });
    let plain = ["CUresult", "CUdevice_v1"].map(str::to_owned);
    ends.chain(aliases).chain(plain).collect()
}

/// The functions that the sources in a folder export.
fn exported(folder: &Path) -> Signatures {
    let mut signatures = Signatures::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(text) = fs::read_to_string(entry.path()) else {
            signatures.extend(exported(&entry.path()));
            continue;
        };
        for part in text.split("extern \"C\" fn ").skip(1) {
            let Some((name, rest)) = part.split_once('(') else {
                continue;
            };
            // A pointer to a function is not one that is exported.
            if name.is_empty() || !name.starts_with(['c', '_']) {
                continue;
            }
            let kinds = parts(to_closing(rest))
                .into_iter()
                .filter_map(|parameter| Some(bytes_in_rust(parameter.split_once(':')?.1.trim())));
            signatures.insert(name.to_owned(), kinds.collect());
        }
    }
    signatures
}

/// Functions with other parameters in CUDA 12, for which the library has the parameters of both.
const OTHER_IN_CUDA_12: [&str; 2] = ["cudaMemPrefetchAsync", "cudaMemcpyBatchAsync"];

#[test]
fn signatures_are_those_of_the_headers() {
    let Some(include) = std::env::var_os("CUDA_INCLUDE") else {
        return;
    };
    let read = |name: &str| fs::read_to_string(Path::new(&include).join(name)).unwrap();
    let header = read("cuda.h");
    // Newer functions have names with versions, which macros give to the plain ones.
    let mut names = BTreeMap::new();
    for line in header
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("#define cu"))
    {
        let mut words = line.split_whitespace();
        if let (Some(plain), Some(newer)) = (words.next(), words.next()) {
            let newer = newer
                .trim_start_matches("__CUDA_API_PTSZ(")
                .trim_start_matches("__CUDA_API_PTDS(");
            names.insert(format!("cu{plain}"), newer.trim_end_matches(')').to_owned());
        }
    }
    let mut wanted = Signatures::new();
    for (name, sizes) in declared(&header, "CUDAAPI", &enumerations(&header)) {
        let newer = names.get(&name).cloned();
        wanted.insert(newer.unwrap_or(name), sizes);
    }
    let runtime = ["cuda_runtime_api.h", "cuda_profiler_api.h"].map(|name| {
        let text = fs::read_to_string(Path::new(&include).join(name));
        text.unwrap_or_default()
            .replace("CUDARTAPI_CDECL", "CUDARTAPI")
    });
    for header in &runtime {
        wanted.extend(declared(header, "CUDARTAPI", &["cudaError_t".to_owned()]));
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = exported(&source.join("driver"));
    found.extend(exported(&source.join("runtime")));
    let mut compared = 0;
    let mut differences = Vec::new();
    for (name, sizes) in &found {
        if let Some(expected) = wanted
            .get(name)
            .filter(|_| !OTHER_IN_CUDA_12.contains(&name.as_str()))
        {
            compared += 1;
            if expected != sizes {
                differences.push(format!("{name}: expected {expected:?}, found {sizes:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(
        compared * 2 > found.len(),
        "only {compared} of {} functions are declared",
        found.len()
    );
}
