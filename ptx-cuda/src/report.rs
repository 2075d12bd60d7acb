//! The log of what was found in this process, for `ptxkit exec` (`ptx_report::launch_log`), and the same as text on standard error.
//!
//! A finding is printed and written when it is first found. Launches that find the same at the same instruction are counted.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, io};

use ptx_analysis::source_lines::SourceLines;
use ptx_ir::render::{NamedSource, Renderer};
use ptx_ir::{Code, Diagnostic, Module, Span};
use ptx_report::launch_log::{
    self, EXTENSION, Event, LoggedInstruction, LoggedMatrix, LoggedMemory,
};
use ptx_report::source_frames::{self, Finder};
use ptx_report::{demangle, scalars};
use ptx_vm::{InstructionProfile, Profile, RunError};

/// The most findings that are kept and written; others are only printed.
const MOST_FINDINGS: usize = 10_000;
/// The most lines about findings that were written before.
const MOST_REPEATS: u64 = 1 << 20;

/// What makes findings the same: the module, the kernel, the code and the instruction.
type Cause = (u64, String, Code, Span);

/// The profiles of all launches of a kernel.
#[derive(Debug, Default)]
struct KernelProfile {
    launches: u64,
    steps: u64,
    instructions: BTreeMap<[u32; 2], LoggedInstruction>,
}

/// Writes the log of this process.
#[derive(Debug)]
pub(crate) struct Reporter {
    /// The folder of logs; `None` if nothing is written.
    folder: Option<PathBuf>,
    file: Option<File>,
    /// The numbers of modules by their text.
    modules: HashMap<Arc<[u8]>, u64>,
    /// The number of each finding.
    findings: HashMap<Cause, u64>,
    repeats: u64,
    profiles: BTreeMap<(u64, String), KernelProfile>,
}

/// What a launch found, and the code that it ran.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: &'a str,
    /// The number of the launch.
    pub(crate) launch: u64,
    pub(crate) reports: &'a [ptx_vm::Report],
    /// The error that ended the launch.
    pub(crate) error: Option<&'a RunError>,
}

/// A finding, as text and as it is logged.
struct Finding {
    /// The diagnostic, which says how often it was found in this launch.
    shown: Diagnostic,
    /// The same without that number.
    logged: Diagnostic,
    occurrences: u64,
    ended_launch: bool,
}

impl Reporter {
    /// A reporter that writes to a folder.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            file: None,
            modules: HashMap::new(),
            findings: HashMap::new(),
            repeats: 0,
            profiles: BTreeMap::new(),
        }
    }

    /// Reports what a launch found.
    pub(crate) fn add(&mut self, found: &Found<'_>) {
        if let Some(error) = found.error.filter(|error| error.reason.code().is_none()) {
            let kernel = demangle::display_name(found.kernel);
            eprintln!("ptxkit: the launch of {kernel} is not possible: {error}");
        }
        let findings = findings(found);
        if findings.is_empty() {
            return;
        }
        let module = self.module(found.module);
        let mut new = Vec::new();
        for finding in findings {
            let kernel = found.kernel.to_owned();
            let cause = (module, kernel, finding.logged.code, finding.logged.span);
            if let Some(&number) = self.findings.get(&cause) {
                self.write_repeat(number, finding.occurrences);
                continue;
            }
            if self.findings.len() < MOST_FINDINGS {
                let number = self.findings.len() as u64;
                self.findings.insert(cause, number);
                self.write(&Event::Finding {
                    finding: number,
                    module,
                    kernel: found.kernel.to_owned(),
                    launch: found.launch,
                    ended_launch: finding.ended_launch,
                    occurrences: finding.occurrences,
                    diagnostic: (&finding.logged).into(),
                });
            }
            new.push(finding.shown);
        }
        print(found, &new);
    }

    /// Adds the profile of a launch.
    pub(crate) fn add_profile(
        &mut self,
        module: &Module,
        kernel: &str,
        steps: u64,
        profile: &Profile,
    ) {
        let number = self.module(module);
        let sums = self
            .profiles
            .entry((number, kernel.to_owned()))
            .or_default();
        sums.launches += 1;
        sums.steps += steps;
        for instruction in &profile.instructions {
            let Some(span) = instruction.span else {
                continue;
            };
            let added = logged(instruction, span);
            sums.instructions
                .entry(added.span)
                .and_modify(|sum| add(sum, &added))
                .or_insert(added);
        }
    }

    /// Writes the profiles and the last line.
    pub(crate) fn end(&mut self, launches: u64, steps: u64) {
        if launches == 0 {
            return;
        }
        for ((module, kernel), profile) in std::mem::take(&mut self.profiles) {
            self.write(&Event::Profile {
                module,
                kernel,
                launches: profile.launches,
                steps: profile.steps,
                instructions: profile.instructions.into_values().collect(),
            });
        }
        self.write(&Event::End { launches, steps });
    }

    /// The number of a module, whose text is written before it is first used.
    fn module(&mut self, module: &Module) -> u64 {
        let text = module.source();
        if let Some(number) = self.modules.get(text) {
            return *number;
        }
        let number = self.modules.len() as u64;
        self.modules.insert(text.into(), number);
        self.write(&Event::Module {
            module: number,
            text: String::from_utf8_lossy(text).into_owned(),
        });
        number
    }

    fn write_repeat(&mut self, finding: u64, occurrences: u64) {
        if self.repeats < MOST_REPEATS {
            self.repeats += 1;
            self.write(&Event::Again {
                finding,
                occurrences,
            });
        }
    }

    /// Writes a line, without a buffer, so that nothing is lost when the process is killed. After an error, nothing more is written.
    fn write(&mut self, event: &Event) {
        let Some(folder) = &self.folder else {
            return;
        };
        let file = match self.file.take() {
            Some(file) => Ok(file),
            None => create(folder.clone()),
        };
        let written = file.and_then(|mut file| {
            let mut line = serde_json::to_vec(event).map_err(io::Error::other)?;
            line.push(b'\n');
            file.write_all(&line)?;
            Ok(file)
        });
        match written {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                eprintln!("ptxkit: {}: {error}", folder.display());
                self.folder = None;
            }
        }
    }
}

/// Creates the log of this process, with its first line. Numbers of processes are used again, so the time is part of the name.
fn create(folder: PathBuf) -> io::Result<File> {
    // Not the folders above: a process that outlives `ptxkit exec` does not create them again.
    if !folder.exists() {
        fs::create_dir(&folder)?;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = now.unwrap_or_default().as_nanos();
    let process = process::id();
    let mut file = File::create_new(folder.join(format!("{process}-{time}.{EXTENSION}")))?;
    let program = env::current_exe().unwrap_or_default();
    let event = Event::Process {
        process,
        program: program.to_string_lossy().into_owned(),
    };
    let line = serde_json::to_string(&event).map_err(io::Error::other)?;
    writeln!(file, "{line}")?;
    Ok(file)
}

/// The reports of the checkers, and the error that ended the launch.
fn findings(found: &Found<'_>) -> Vec<Finding> {
    let reports = found.reports.iter().map(|report| {
        let mut once = report.clone();
        once.count = 1;
        Finding {
            shown: report.diagnostic(),
            logged: once.diagnostic(),
            occurrences: report.count,
            ended_launch: false,
        }
    });
    let function = found.module.function(found.kernel);
    let header = function.and_then(|function| found.module.interface_spans(function));
    let kernel_span = header.map(|header| header.name).unwrap_or_default();
    let error = found.error.and_then(|error| error.diagnostic(kernel_span));
    let error = error.map(|diagnostic| Finding {
        shown: diagnostic.clone(),
        logged: diagnostic,
        occurrences: 1,
        ended_launch: true,
    });
    reports.chain(error).collect()
}

/// Prints diagnostics with the lines of the PTX and of its source.
fn print(found: &Found<'_>, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    let lines = SourceLines::new(found.module);
    let mut finder = Finder::new(found.module, &lines);
    let name = launch_log::file_name(found.kernel);
    let source = NamedSource::new(&name, found.module.source());
    let renderer = Renderer::plain();
    for diagnostic in diagnostics {
        let place = finder.place(diagnostic.span.start);
        let origin = source_frames::text(&place.source);
        let note = (!origin.is_empty()).then(|| format!("from {origin}"));
        let mut shown = diagnostic.clone();
        shown.message = demangle::display_message(&shown.message).into_owned();
        let text = renderer.render_with(&source, &shown, note.as_deref());
        eprintln!("{}", text.trim_end());
    }
}

/// The profile of an instruction, as it is logged.
fn logged(instruction: &InstructionProfile, span: Span) -> LoggedInstruction {
    LoggedInstruction {
        span: [span.start, span.end],
        executions: instruction.executions,
        lanes: instruction.lanes,
        memory: instruction
            .memory
            .iter()
            .map(|memory| LoggedMemory {
                space: memory.space.text().to_owned(),
                bytes: memory.bytes,
                requests: memory.requests,
                sectors: memory.sectors,
                passes: memory.passes,
                least_passes: memory.least_passes,
            })
            .collect(),
        matrix: instruction.matrix.as_ref().map(|matrix| LoggedMatrix {
            shape: matrix.shape,
            factors: matrix.factors.map(|ty| scalars::name(ty).to_owned()),
            sparse: matrix.sparse,
            products: matrix.products,
            multiply_adds: matrix.multiply_adds,
        }),
    }
}

/// Adds the counts of a later launch.
fn add(sum: &mut LoggedInstruction, added: &LoggedInstruction) {
    sum.executions += added.executions;
    sum.lanes += added.lanes;
    for memory in &added.memory {
        match sum.memory.iter_mut().find(|sum| sum.space == memory.space) {
            Some(sum) => {
                sum.bytes += memory.bytes;
                sum.requests += memory.requests;
                sum.sectors += memory.sectors;
                sum.passes += memory.passes;
                sum.least_passes += memory.least_passes;
            }
            None => sum.memory.push(memory.clone()),
        }
    }
    match (&mut sum.matrix, &added.matrix) {
        (Some(sum), Some(matrix)) => {
            sum.products += matrix.products;
            sum.multiply_adds += matrix.multiply_adds;
        }
        (None, Some(matrix)) => sum.matrix = Some(matrix.clone()),
        (_, None) => {}
    }
}
