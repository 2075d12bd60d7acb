//! The file tests: every `.ptx` file in `tests/files` is parsed, must print verbatim, and must give
//! exactly the diagnostics that its comments expect (see `expect`). A file without errors must also
//! survive canonical printing.
//!
//! `PTXKIT_BLESS=1 cargo test -p ptxkit-parse --test files` writes what is found into the files.

mod expect;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use expect::Finding;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_ir::Code;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut files = Vec::new();
    if let Err(error) = collect(&root, &mut files) {
        eprintln!("{}: {error}", root.display());
        return ExitCode::FAILURE;
    }
    if files.is_empty() {
        eprintln!("{}: no tests", root.display());
        return ExitCode::FAILURE;
    }
    files.sort();
    let bless = std::env::var_os("PTXKIT_BLESS").is_some_and(|v| v == "1");
    let mut trials: Vec<Trial> = files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path);
            Trial::test(name.display().to_string(), move || test(&path, bless))
        })
        .collect();
    trials.push(Trial::test("every code has a file", || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
        every_code_has_a_file(&root)
    }));
    trials.push(Trial::test("test_harness", test_harness));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "ptx") {
            files.push(path);
        }
    }
    Ok(())
}

fn test(path: &Path, bless: bool) -> Result<(), Failed> {
    let source = fs::read(path)?;
    let beside = path.with_extension("expected");
    let expected = if beside.exists() {
        expect::beside(&fs::read_to_string(&beside)?)?
    } else {
        expect::inside(&source)?
    };
    let found = read(&source)?;
    let mut wrong = expect::differences(&expected, &found);
    if wrong.is_empty() {
        return Ok(());
    }
    if bless {
        return write(path, &beside, &source);
    }
    wrong.push("PTXKIT_BLESS=1 writes what is found into the file".to_owned());
    Err(wrong.join("\n").into())
}

/// What is found in a source; an error if printing loses something of it.
fn read(source: &[u8]) -> Result<Vec<Finding>, Failed> {
    let parsed = ptx_parse::parse(source);
    if ptx_print::verbatim(&parsed.module) != source {
        return Err("the verbatim print differs from the source".into());
    }
    if !parsed.has_errors() {
        let style = ptx_print::Style::default();
        let text = ptx_print::canonical(&parsed.module, &style);
        let again = ptx_parse::parse(&text);
        if again.has_errors() {
            let found = expect::to_beside(&expect::found(&text, &again.diagnostics));
            let text = String::from_utf8_lossy(&text);
            return Err(format!("the canonical print has errors\n{found}{text}").into());
        }
        ptx_ir::compare::compare(&parsed.module, &again.module)
            .map_err(|d| format!("the canonical print means something else: {d}"))?;
        if ptx_print::canonical(&again.module, &style) != text {
            return Err("the canonical print does not print as itself".into());
        }
    }
    Ok(expect::found(source, &parsed.diagnostics))
}

/// Writes what is found into the source, or beside it if that would change what is found.
fn write(path: &Path, beside: &Path, source: &[u8]) -> Result<(), Failed> {
    if beside.exists() {
        fs::write(beside, expect::to_beside(&read(source)?))?;
        return Ok(());
    }
    let bare = expect::strip(source);
    let found = read(&bare.source)?;
    let annotated = expect::annotate(&bare, &found);
    let fits = expect::inside(&annotated)
        .is_ok_and(|e| read(&annotated).is_ok_and(|f| expect::differences(&e, &f).is_empty()));
    if fits {
        fs::write(path, annotated)?;
    } else {
        fs::write(path, &bare.source)?;
        fs::write(beside, expect::to_beside(&found))?;
    }
    Ok(())
}

/// Each code that the parser reports has a file with its name, which expects it.
fn every_code_has_a_file(root: &Path) -> Result<(), Failed> {
    let of_parser = |c: &&Code| c.number() < 500 || c.number() / 100 == 9;
    let mut missing = Vec::new();
    for code in Code::ALL.iter().filter(of_parser) {
        let path = root.join(format!("codes/{code}.ptx"));
        let source = fs::read(&path).unwrap_or_default();
        let limited = matches!(code, Code::SourceTooLarge | Code::TooManyDiagnostics);
        let limited = limited || *code == Code::NestingTooDeep;
        let kind = format!("[{code}]");
        if !limited && !read(&source)?.iter().any(|f| f.kind.ends_with(&kind)) {
            missing.push(path.display().to_string());
        }
    }
    same(&missing, &Vec::new())
}

/// What the other tests rely on.
fn test_harness() -> Result<(), Failed> {
    let finding = |line, kind: &str, message: &str| Finding {
        line,
        column: None,
        kind: kind.to_owned(),
        message: message.to_owned(),
    };
    let source = b"a //~ error[PTX0101]: x y //~ warning[PTX0102]\r\n  //~^ error[PTX0103]: z\n\
        //~v error[PTX0104]: w\nb\n";
    let mut expected = expect::inside(source)?;
    expected.sort_by_key(|f| (f.line, f.kind.clone()));
    let wanted = [
        finding(1, "error[PTX0101]", "x y"),
        finding(1, "error[PTX0103]", "z"),
        finding(1, "warning[PTX0102]", ""),
        finding(4, "error[PTX0104]", "w"),
    ];
    same(&expected[..], &wanted[..])?;

    let found = [finding(1, "error[PTX0101]", "an x y"), wanted[1].clone()];
    let wrong = expect::differences(&expected, &found);
    same(
        &wrong[..],
        &[
            "expected, not found: 1 warning[PTX0102] ".to_owned(),
            "expected, not found: 4 error[PTX0104] w".to_owned(),
        ],
    )?;
    let wrong = expect::differences(&[], &found[..1]);
    same(
        &wrong[..],
        &["found, not expected: 1 error[PTX0101] an x y".to_owned()],
    )?;

    let bare = expect::strip(
        b"a  //~ error[PTX0101]: x\n  b\n  //~^ error[PTX0102]: y\n//~v error[PTX0103]\nc\r\nd",
    );
    same(&bare.source[..], &b"a\n  b\nc\r\nd"[..])?;
    let found = [
        finding(1, "error[PTX0111]", "p"),
        finding(2, "error[PTX0112]", "q"),
        finding(3, "error[PTX0113]", "r"),
        finding(4, "error[PTX0114]", "s"),
    ];
    let annotated = expect::annotate(&bare, &found);
    let text = "a  //~ error[PTX0111]: p\n  b\n  //~^ error[PTX0112]: q\n//~v error[PTX0113]: r\n\
        c\r\nd  //~ error[PTX0114]: s";
    same(String::from_utf8_lossy(&annotated).as_ref(), text)?;

    for wrong in [
        "x //~ eror[PTX0101]",
        "x //~",
        "x //~^v error[PTX0101]",
        "//~^ error[PTX0101]",
    ] {
        if expect::inside(wrong.as_bytes()).is_ok() {
            return Err(format!("accepted: {wrong}").into());
        }
    }
    let beside = expect::beside("3:14 error[PTX0002] a comment\n\n")?;
    same(
        expect::to_beside(&beside).as_str(),
        "3:14 error[PTX0002] a comment\n",
    )
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(left: &T, right: &T) -> Result<(), Failed> {
    if left == right {
        Ok(())
    } else {
        Err(format!("{left:#?}\nis not\n{right:#?}").into())
    }
}
