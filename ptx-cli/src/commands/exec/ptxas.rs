//! The replacement for ptxas: it checks PTX and passes it on as the code, which the library loads.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use ptx_ir::{LineIndex, Severity};
use ptx_isa::Target;

use crate::output::{self, Out, Status};
use crate::render::Report;

/// The version that programs read, from which they choose the version of PTX. It is that of the CUDA version that the library reports.
const VERSION: &str = "\
ptxkit: a replacement for ptxas, which passes PTX on
Cuda compilation tools, release 13.2, V13.2.0
";

/// The options of ptxas whose value is the next argument.
const WITH_VALUE: &str = include_str!("ptxas_options.txt");

/// What the arguments request.
#[derive(PartialEq, Eq, Debug)]
enum Request {
    Version,
    Assemble {
        input: PathBuf,
        output: PathBuf,
        target: Option<Target>,
    },
}

/// Whether an option takes the next argument as its value.
fn takes_value(option: &str) -> bool {
    WITH_VALUE.lines().any(|line| line == option)
}

/// Reads the arguments.
fn request(arguments: &[OsString]) -> Result<Request> {
    let mut input = None;
    let mut output = PathBuf::from("elf.o");
    let mut target = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if matches!(&*text, "--version" | "-V") {
            return Ok(Request::Version);
        }
        if !text.starts_with('-') || text == "-" {
            input = Some(PathBuf::from(argument));
            continue;
        }
        let (option, value) = match text.split_once('=') {
            Some((option, value)) => (option.to_owned(), Some(OsString::from(value))),
            None if takes_value(&text) => (text.to_string(), arguments.next().cloned()),
            None => (text.to_string(), None),
        };
        match (option.as_str(), value) {
            ("-o" | "--output-file", Some(value)) => output = value.into(),
            ("-arch" | "--gpu-name", Some(value)) => {
                let name = value.to_string_lossy();
                let name = name.replace("compute_", "sm_");
                let parsed = name.parse::<Target>().ok();
                target = Some(parsed.with_context(|| format!("unknown target `{name}`"))?);
            }
            _ => {}
        }
    }
    match input {
        Some(input) => Ok(Request::Assemble {
            input,
            output,
            target,
        }),
        None => bail!("no input file"),
    }
}

/// Checks a file and copies it to the output, as ptxas does with its result.
pub(super) fn run(arguments: &[OsString]) -> Result<Status> {
    let (input, output, target) = match request(arguments)? {
        Request::Version => {
            let mut out = Out::new();
            out.write_all(VERSION.as_bytes())?;
            out.flush()?;
            return Ok(Status::Ok);
        }
        Request::Assemble {
            input,
            output,
            target,
        } => (input, output, target),
    };
    let name = ptx_report::clean(&input.to_string_lossy()).into_owned();
    let text = fs::read(&input).with_context(|| name.clone())?;
    let end = text.iter().position(|byte| *byte == 0);
    let text = &text[..end.unwrap_or(text.len())];
    let parsed = ptx_parse::parse(text);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
    let lines = LineIndex::new(text);
    let report = Report {
        name: &name,
        source: text,
        lines: &lines,
    };
    for diagnostic in &diagnostics {
        output::note(report.short(diagnostic));
    }
    if !diagnostics.is_empty() {
        return Ok(Status::Program(255));
    }
    let written = parsed.module.header().target;
    if let (Some(target), Some(written)) = (target, written)
        && !target.implies(written)
    {
        bail!("{name}: the PTX is for {written}, which {target} does not execute");
    }
    fs::write(&output, text).with_context(|| output.display().to_string())?;
    Ok(Status::Ok)
}

/// The arguments of this program if it was called as ptxas.
pub(crate) fn as_ptxas(arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.first().map(PathBuf::from).unwrap_or_default();
    if name.file_name() != Some(OsStr::new("ptxas")) {
        return arguments;
    }
    let command = ["ptxkit", "exec", "--as-ptxas", "--"];
    let command = command.into_iter().map(OsString::from);
    command.chain(arguments.into_iter().skip(1)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panics")]

    use super::*;

    fn read(line: &str) -> Result<Request> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        request(&arguments)
    }

    #[test]
    fn the_input_is_not_the_value_of_an_option() {
        let expected = Request::Assemble {
            input: "a.ptx".into(),
            output: "a.cubin".into(),
            target: Some(Target::Sm80),
        };
        let lines = [
            "-lineinfo -v --gpu-name=sm_80 a.ptx -o a.cubin",
            "-O 3 -arch sm_80 --maxrregcount 64 -o a.cubin a.ptx",
            "--opt-level 3 --fmad=false a.ptx --output-file=a.cubin -arch=compute_80",
        ];
        for line in lines {
            assert_eq!(read(line).unwrap(), expected, "{line}");
        }
        assert_eq!(read("--version").unwrap(), Request::Version);
        assert!(read("-v").is_err());
        assert!(read("-arch=sm_7 a.ptx").is_err());
    }

    #[test]
    fn the_name_of_the_program_chooses_ptxas() {
        let called = |line: &str| as_ptxas(line.split(' ').map(OsString::from).collect());
        let expected: Vec<OsString> = ["ptxkit", "exec", "--as-ptxas", "--", "--version"]
            .map(OsString::from)
            .to_vec();
        assert_eq!(called("/tmp/x/ptxas --version"), expected);
        assert_eq!(called("ptxkit check"), ["ptxkit", "check"]);
    }
}
