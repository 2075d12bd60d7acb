//! Compares the verdicts on published suites of litmus tests with those of their authors.
//!
//! `cargo run --release -p ptxkit-memory --example suites -- FOLDER`: the folder has the content of `suites.tar.gz`.
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ptx_memory::litmus::Litmus;
use ptx_memory::{ExploreOptions, Version};

/// The number of agreeing and of all tests of a list of expected verdicts.
fn compare(folder: &Path, list: &str, version: Version, is_liveness: bool) -> (usize, usize) {
    let mut options = ExploreOptions::default();
    options.version = version;
    let text = std::fs::read_to_string(folder.join("litmus").join(list)).unwrap_or_default();
    let (mut agreeing, mut all) = (0, 0);
    for row in text.lines() {
        let Some((path, expected)) = row.trim().rsplit_once(',') else {
            continue;
        };
        all += 1;
        let source = match std::fs::read_to_string(folder.join(path)) {
            Ok(source) => source,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let litmus = match Litmus::parse(&source) {
            Ok(litmus) => litmus,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let start = Instant::now();
        let (result, is_certain) = if is_liveness {
            let verdict = litmus.decide_fully(&options);
            (
                !verdict.may_hang,
                verdict.may_hang || verdict.statistics.is_exhaustive(),
            )
        } else {
            let verdict = litmus.decide(&options);
            (verdict.holds, verdict.is_certain)
        };
        if start.elapsed().as_millis() > 100 {
            println!("{path}: {} ms", start.elapsed().as_millis());
        }
        let is_equal = result == (expected == "1");
        if is_equal && is_certain {
            agreeing += 1;
        } else {
            println!("{path}: expected {expected}, decided {result}, certain {is_certain}");
        }
    }
    (agreeing, all)
}

/// Tests whose published verdict contradicts the text of the PTX ISA manual (`docs/memory-model.md`, Deviations).
const SETTLED: [&str; 1] = ["Release_acquire_pattern.test"];

/// The number of tests in the mixed-proxy format that hold, and of all.
fn mixed_proxy(folder: &Path) -> (usize, usize) {
    let (mut agreeing, mut all) = (0, 0);
    let Ok(entries) = std::fs::read_dir(folder.join("litmus/mixedproxy/tests")) else {
        return (0, 0);
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        match Litmus::parse_proxy_tests(&source) {
            Ok(tests) => {
                for test in tests {
                    all += 1;
                    let verdict = test.decide(&ExploreOptions::default());
                    let is_settled = SETTLED.iter().any(|name| path.ends_with(name));
                    if verdict.holds != is_settled && verdict.is_certain {
                        agreeing += 1;
                    } else {
                        println!("{} {}: does not hold", path.display(), test.name);
                    }
                }
            }
            Err(error) => println!("{}: {error}", path.display()),
        }
    }
    (agreeing, all)
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        println!("usage: suites FOLDER");
        return ExitCode::from(2);
    };
    let folder = Path::new(&folder);
    let mut is_equal = true;
    let mut show = |name: &str, start: Instant, (agreeing, all): (usize, usize)| {
        println!(
            "{name}: {agreeing} of {all} in {} ms",
            start.elapsed().as_millis()
        );
        is_equal &= agreeing == all && all > 0;
    };
    for (name, list, version, is_liveness) in [
        ("PTX 7.5", "PTXv7_5-expected.csv", Version::Ptx75, false),
        ("PTX 6.0", "PTXv6_0-expected.csv", Version::Ptx60, false),
        (
            "PTX 7.5, liveness",
            "PTXv7_5-Liveness-expected.csv",
            Version::Ptx75,
            true,
        ),
        (
            "PTX 6.0, liveness",
            "PTXv6_0-Liveness-expected.csv",
            Version::Ptx60,
            true,
        ),
    ] {
        let start = Instant::now();
        show(name, start, compare(folder, list, version, is_liveness));
    }
    let start = Instant::now();
    show("mixed proxies", start, mixed_proxy(folder));
    if is_equal {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
