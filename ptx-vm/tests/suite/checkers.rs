//! The checkers find what is wrong in the kernels of `tests/checkers`, at the instructions that are marked, and nothing else.
//!
//! A kernel says at its beginning how it is launched: `// grid 4,2 block 64 cluster 2,2 shared 1024`, all of them optional, and for each parameter
//! `// in BYTES` for memory that the host wrote, `// out BYTES` for memory that it did not write, or `// u32 NUMBER`. A line with `// error: TEXT` has a
//! report whose message contains the text, and `// other` marks the other side of all reports that have one.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::fs;
use std::path::Path;

use ptx_vm::{Asynchrony, Checker, Checks, Launch, Machine, Report};

/// The line of an offset.
fn line(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Launches the first kernel of a text as its first lines say.
fn launch(text: &str, checks: Checks, asynchrony: Asynchrony) -> (Vec<Report>, Option<String>) {
    let parsed = ptx_parse::parse_str(text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    let kernel = machine.kernels().next().unwrap().to_owned();
    let mut launch = Launch::new(kernel).shape(1, 32);
    launch.checks = checks;
    launch.asynchrony = asynchrony;
    launch.limits.steps = 1_000_000;
    for header in text.lines().map_while(|l| l.strip_prefix("// ")) {
        let words: Vec<&str> = header.split_whitespace().collect();
        for pair in words.chunks(2) {
            let [name, value] = pair else { break };
            let mut sizes = value.split(',').map_while(|n| n.parse::<u32>().ok());
            let Some(value) = sizes.next() else { break };
            let mut shape = || [value, sizes.next().unwrap_or(1), 1];
            match *name {
                "grid" => launch.grid = shape(),
                "block" => launch.block = shape(),
                "cluster" => launch.cluster = shape(),
                "shared" => launch.shared = value,
                "u32" => launch = launch.argument(value.to_le_bytes()),
                "in" | "out" => {
                    let at = machine.allocate(value.into()).unwrap();
                    if *name == "in" {
                        machine.write(at, &vec![0; value as usize]).unwrap();
                    }
                    launch = launch.argument(at.to_le_bytes());
                }
                _ => break,
            }
        }
    }
    let error = machine.launch(&launch).err().map(|e| e.to_string());
    (machine.reports().to_vec(), error)
}

/// The lines on which reports are, with their messages, and those of the other sides.
fn found(text: &str, reports: &[Report]) -> (Vec<(usize, String)>, Vec<usize>) {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut others = Vec::new();
    for report in reports {
        let at = line(text, report.at.span.unwrap().start as usize);
        lines.push((at, report.message.clone()));
        if let Some((other, _)) = &report.other {
            others.push(line(text, other.span.unwrap().start as usize));
        }
    }
    lines.sort();
    others.sort_unstable();
    others.dedup();
    (lines, others)
}

/// Compares the reports of a kernel with its marks; gives whether it has any.
fn check_file(path: &Path) -> bool {
    let name = path.display();
    let text = fs::read_to_string(path).unwrap();
    let marked = text.lines().zip(1..);
    let errors: Vec<(usize, &str)> = marked
        .clone()
        .filter_map(|(l, n)| {
            Some((
                n,
                l.split("// ")
                    .find_map(|part| part.strip_prefix("error: "))?
                    .trim_end(),
            ))
        })
        .collect();
    let others: Vec<usize> = marked
        .filter(|(l, _)| l.ends_with("// other"))
        .map(|(_, n)| n)
        .collect();
    let (reports, error) = launch(&text, Checks::all(), Asynchrony::Immediate);
    for time in [Asynchrony::Late, Asynchrony::Random(1)] {
        let (other_reports, _) = launch(&text, Checks::all(), time);
        let (found, expected) = (found(&text, &other_reports), found(&text, &reports));
        assert_eq!(found, expected, "{name}: {time}");
    }
    let (lines, other_lines) = found(&text, &reports);
    let same = lines.len() == errors.len()
        && lines
            .iter()
            .zip(&errors)
            .all(|((line, message), (n, part))| line == n && message.contains(part));
    assert!(same, "{name}: {reports:#?}, {error:?}");
    if !others.is_empty() {
        assert_eq!(other_lines, others, "{name}: the other side");
    }
    if errors.is_empty() {
        assert_eq!(error, None, "{name}");
    }
    !errors.is_empty()
}

#[test]
fn a_wait_outside_of_memory_ends() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checkers/memcheck");
    let text = fs::read_to_string(folder.join("wait_outside_of_memory.ptx")).unwrap();
    let (_, error) = launch(&text, Checks::all(), Asynchrony::Immediate);
    assert_eq!(error, None);
}

/// All kernels of a folder.
fn check_folder(checker: Checker) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checkers");
    let files = fs::read_dir(folder.join(checker.name())).unwrap();
    let mut files: Vec<_> = files.map(|f| f.unwrap().path()).collect();
    files.sort();
    let (faulty, correct): (Vec<_>, Vec<_>) = files.iter().partition(|path| check_file(path));
    assert!(faulty.len() >= 10 && correct.len() >= 10, "{}", files.len());
}

#[test]
fn memcheck() {
    check_folder(Checker::Memcheck);
}

#[test]
fn initcheck() {
    check_folder(Checker::Initcheck);
}

#[test]
fn synccheck() {
    check_folder(Checker::Synccheck);
}

#[test]
fn racecheck() {
    check_folder(Checker::Racecheck);
}

#[test]
fn checkers_have_names() {
    for checker in Checker::ALL {
        assert_eq!(checker.name().parse(), Ok(checker));
    }
    assert!("raceczech".parse::<Checker>().is_err());
}

/// Reports of one kind at one instruction are one.
#[test]
fn reports_are_counted() {
    let text = "// grid 4 block 64\n// in 64\n.version 8.0\n.target sm_80\n.address_size 64\n\
        .entry k(.param .u64 data)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [data];\nst.global.u32 [%rd1+64], 1;\nret;\n}\n";
    let checks = Checks::NONE.with(Checker::Memcheck);
    let (reports, error) = launch(text, checks, Asynchrony::Immediate);
    assert_eq!((reports.len(), error), (1, None));
    assert_eq!(reports[0].count, 256);
    assert_eq!(reports[0].kernel, "k");
    assert_eq!(reports[0].code.to_string(), "PTX1401");
    assert_eq!(
        (reports[0].at.block, reports[0].at.thread),
        ([0; 3], [0; 3])
    );
    let shown = reports[0].diagnostic().to_string();
    assert!(
        shown.contains("error[PTX1401]: memcheck: write of 4 bytes at"),
        "{shown}"
    );
    assert!(
        shown.contains("0 bytes after the end of the allocation"),
        "{shown}"
    );
}

/// Without checkers nothing is reported, and the accesses happen.
#[test]
fn nothing_is_checked_without_checkers() {
    let text = "// in 64\n.version 8.0\n.target sm_80\n.address_size 64\n\
        .entry k(.param .u64 data)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [data];\nld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
    assert_eq!(
        launch(text, Checks::NONE, Asynchrony::Immediate),
        (Vec::new(), None)
    );
}
