//! The report as text.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write};

use ptx_analysis::memory_access::Pattern;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use ptx_report::counted;
use ptx_report::function_stats::FunctionStats;
use ptx_report::function_values::Coalescing;
use ptx_report::report::{
    Access, Factor, Finding, Function, Loop, Pipeline, Report, Synchronization, Work,
};

use super::estimate::estimate_text;
use crate::fitted_table::wrapped;
use crate::occupancy::{excess_registers, occupancy_text};
use crate::output::{self, align_right, table, write_table};

/// The length at which forms are cut.
const MAX_FORM_LEN: usize = 48;

/// Loops inside of more loops than this are not indented any further.
const MAX_INDENT: usize = 24;

/// Writes the report of a file, unless there are no functions.
pub(super) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.functions.is_empty() {
        return Ok(());
    }
    let target = report.target.as_deref().unwrap_or("no target");
    let ptx = report.ptx.as_deref().unwrap_or("?");
    let file = output::name(&report.file);
    writeln!(out, "{file}: PTX {ptx}, {target}")?;
    for function in &report.functions {
        writeln!(out)?;
        resources(out, function)?;
        work(out, function)?;
        loops(out, function)?;
        accesses(out, function)?;
        for pipeline in &function.pipelines {
            steps(out, pipeline)?;
        }
        findings(out, &function.findings)?;
    }
    Ok(())
}

/// `line 12 (a.cu:3)`
fn location(line: u32, source: Option<&str>) -> String {
    match source {
        Some(source) => format!("line {line} ({source})"),
        None => format!("line {line}"),
    }
}

/// What ptxas made of a function: registers, spills, the PTX lines that spill most, messages.
fn machine_code(stats: &FunctionStats) -> String {
    let mut facts = Vec::new();
    if let Some(code) = &stats.ptxas {
        let registers = code
            .registers
            .map(|count| counted(count as usize, "register"));
        facts.extend(registers);
        match code.spill_store_bytes + code.spill_load_bytes {
            0 => facts.push("no spills".to_owned()),
            spilled => facts.push(format!("{} of spills", byte_count(Some(spilled)))),
        }
        facts.extend(code.messages.iter().map(|message| {
            let line = message.line.map(|line| format!(" in line {line}"));
            let code = message.code.as_deref().unwrap_or("a message");
            format!("{code}{} of ptxas", line.unwrap_or_default())
        }));
    }
    if let Some(sass) = &stats.sass {
        facts.push(counted(sass.instructions as usize, "machine instruction"));
        let spills = sass.local.iter().filter(|accesses| accesses.spills);
        let most = spills.max_by_key(|accesses| accesses.loads + accesses.stores);
        if let Some(line) = most.and_then(|accesses| accesses.line) {
            facts.push(format!("most spills in line {line}"));
        }
    }
    facts.join(", ")
}

fn resources(out: &mut impl Write, function: &Function) -> io::Result<()> {
    let stats = &function.stats;
    let kind = if stats.is_kernel() {
        "Kernel"
    } else {
        "Function"
    };
    let heading = output::heading(format_args!("{kind} {}", stats.title()));
    writeln!(out, "{heading}, line {}", function.line)?;
    let requirements: Vec<String> = stats
        .requires
        .iter()
        .map(|pair| format!("{} from PTX {}", pair.target, pair.ptx))
        .collect();
    let calls: Vec<String> = stats
        .callees
        .iter()
        .map(|callee| {
            let name = callee.demangled.as_deref().or(callee.name.as_deref());
            format!("{} {}", name.unwrap_or("indirect"), callee.count)
        })
        .collect();
    for (name, text) in [
        ("requires", requirements.join(", ")),
        ("directives", stats.signature.directives_text()),
        ("parameters", byte_count(function.parameter_bytes)),
        ("shared", shared(function)),
        (
            "local",
            if stats.local_bytes > 0 {
                byte_count(Some(stats.local_bytes))
            } else {
                String::new()
            },
        ),
        ("live registers", live_registers(function)),
        (
            "occupancy",
            function
                .occupancy
                .as_ref()
                .map_or(String::new(), occupancy_text),
        ),
        (
            "launch",
            function
                .estimate
                .as_ref()
                .map_or(String::new(), |estimate| {
                    estimate_text(estimate, &stats.name)
                }),
        ),
        ("machine code", machine_code(stats)),
        ("barriers", synchronization(&function.synchronization)),
        ("calls", calls.join(", ")),
    ] {
        write_fact(out, name, &text)?;
    }
    Ok(())
}

/// The most registers that are live at the same time, and where; empty without registers.
fn live_registers(function: &Function) -> String {
    let stats = &function.stats;
    let classes: Vec<String> = stats
        .pressure
        .by_class
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(class, count)| format!("{class} {count}"))
        .collect();
    let curve = &function.pressure_curve;
    let peak = curve
        .peak_line
        .map(|line| location(line, curve.peak_source.as_deref()));
    let excess = excess_registers(stats.pressure.max_b32_units);
    if classes.is_empty() {
        return String::new();
    }
    format!(
        "at most {} of 32 bits ({}), {}{excess}",
        stats.pressure.max_b32_units,
        classes.join(", "),
        peak.unwrap_or_default()
    )
}

/// The shared memory of a kernel.
fn shared(function: &Function) -> String {
    let stats = &function.stats;
    let Some(bytes) = stats.shared_bytes else {
        return String::new();
    };
    match (bytes, stats.dynamic_shared) {
        (bytes, false) => byte_count(Some(bytes)),
        (0, true) => "dynamic: the launch determines the size".to_owned(),
        (bytes, true) => format!("{}, and dynamic", byte_count(Some(bytes))),
    }
}

/// The column at which the text of a fact begins.
const FACT_COLUMN: usize = 16;

/// Writes a fact with its name, unless it is empty. The text is wrapped at the width of the terminal.
fn write_fact(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let lines = match output::width() {
        Some(width) => wrapped(text, width.into(), FACT_COLUMN),
        None => vec![format!("{:FACT_COLUMN$}{text}", "")],
    };
    for (index, line) in lines.iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        let text = line.get(FACT_COLUMN..).unwrap_or_default();
        writeln!(out, " {name:15}{text}")?;
    }
    Ok(())
}

fn byte_count(bytes: Option<u64>) -> String {
    bytes.map_or("unknown".to_owned(), |bytes| {
        counted(bytes as usize, "byte")
    })
}

fn synchronization(operations: &Synchronization) -> String {
    let counts = [
        (operations.cta_barriers, "CTA barrier"),
        (operations.warp_barriers, "warp barrier"),
        (operations.cluster_barriers, "cluster barrier"),
        (operations.mbarrier_objects, "mbarrier initialization"),
        (operations.mbarrier_waits, "mbarrier wait"),
        (operations.fences, "fence"),
    ];
    let mut words: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| counted(count as usize, name))
        .collect();
    let numbers: Vec<String> = operations
        .barrier_numbers
        .iter()
        .map(i64::to_string)
        .collect();
    if !numbers.is_empty() {
        words.push(format!("named {}", numbers.join(", ")));
    }
    words.join(", ")
}

/// `2.50`
/// The arithmetic intensity: an upper bound if bytes are not known.
fn intensity(work: &Work) -> String {
    let text = ratio(work.intensity);
    if work.intensity_is_bound && !text.is_empty() {
        format!("<= {text}")
    } else {
        text
    }
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"))
}

/// `2 * (max(1, n) - 1)`; empty for work that is done once.
fn factors(factors: &[Factor]) -> String {
    let texts: Vec<String> = factors
        .iter()
        .map(|factor| {
            let unknown = || format!("loop at {}", factor.header);
            let form = factor.form.clone().unwrap_or_else(unknown);
            if factor.without_last {
                format!("({form} - 1)")
            } else if form.starts_with("max(") {
                form
            } else {
                format!("({form})")
            }
        })
        .collect();
    texts.join(" * ")
}

/// The bytes of state spaces, all directions together.
fn bytes_of(work: &Work, spaces: &[Space]) -> String {
    let mut bytes = 0u64;
    let mut unknown = 0u64;
    for memory in &work.memory {
        if spaces.contains(&*memory.space) {
            bytes = bytes
                .saturating_add(memory.read)
                .saturating_add(memory.written)
                .saturating_add(memory.updated);
            unknown = unknown.saturating_add(memory.unknown);
        }
    }
    at_least(bytes, unknown)
}

/// A number, and that there may be more.
fn at_least(number: u64, unknown: u64) -> String {
    match (number, unknown) {
        (0, 0) => String::new(),
        (0, _) => "unknown".to_owned(),
        (number, 0) => number.to_string(),
        (number, _) => format!("at least {number}"),
    }
}

fn has_tensor_memory<'w>(mut works: impl Iterator<Item = &'w Work>) -> bool {
    works.any(|work| {
        work.memory
            .iter()
            .any(|memory| *memory.space == Space::Tensor)
    })
}

/// The titles of the columns with numbers of work. Tensor memory has a column only where it is accessed.
fn titles(has_tensor: bool) -> Vec<&'static str> {
    let mut titles = vec![
        "Instructions",
        "FLOP",
        "Integer",
        "Multiply-adds",
        "Global",
        "Shared",
        "FLOP/byte",
    ];
    if has_tensor {
        titles.insert(6, "Tensor");
    }
    titles
}

fn work(out: &mut impl Write, function: &Function) -> io::Result<()> {
    writeln!(out, "\n {}", output::heading("Work of a warp"))?;
    let mut table = table();
    let has_tensor = has_tensor_memory(function.work.parts.iter().map(|part| &part.work));
    let mut header = titles(has_tensor);
    let numbers_end = header.len();
    header.push("Times");
    table.set_header(header);
    for part in &function.work.parts {
        let mut times = factors(&part.factors);
        if !part.exact {
            times = format!("at most {}", if times.is_empty() { "1" } else { &times });
        }
        let mut cells = numbers(&part.work, has_tensor);
        cells.push(times);
        table.add_row(cells);
    }
    align_right(&mut table, &(0..numbers_end).collect::<Vec<_>>());
    write_table(out, &table)
}

fn numbers(work: &Work, has_tensor: bool) -> Vec<String> {
    let mut numbers = vec![
        work.instructions.to_string(),
        at_least(work.flops, 0),
        at_least(work.integer, 0),
        at_least(work.multiply_adds, work.unknown_products),
        bytes_of(work, &[Space::State(StateSpace::Global), Space::Generic]),
        bytes_of(
            work,
            &[
                Space::State(StateSpace::Shared),
                Space::State(StateSpace::SharedCta),
            ],
        ),
        intensity(work),
    ];
    if has_tensor {
        numbers.insert(6, bytes_of(work, &[Space::Tensor]));
    }
    numbers
}

fn loops(out: &mut impl Write, function: &Function) -> io::Result<()> {
    if function.loops.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n {}",
        output::heading("Loops, one iteration of each")
    )?;
    let mut table = table();
    let has_tensor = has_tensor_memory(function.loops.iter().map(|region| &region.iteration));
    let mut header = titles(has_tensor);
    let numbers_end = header.len();
    header.extend(["Loop", "Line", "Trip count", "Mix"]);
    table.set_header(header);
    for region in &function.loops {
        let mut cells = numbers(&region.iteration, has_tensor);
        let level = region.depth.saturating_sub(1) as usize;
        let indent = "  ".repeat(level.min(MAX_INDENT));
        let name = region
            .label
            .clone()
            .unwrap_or_else(|| region.header.to_string());
        cells.push(format!("{indent}{name}"));
        cells.push(location(region.line, region.source.as_deref()).replace("line ", ""));
        cells.push(trip_count(region));
        cells.push(mix(&region.iteration));
        table.add_row(cells);
    }
    align_right(&mut table, &(0..numbers_end).collect::<Vec<_>>());
    write_table(out, &table)
}

fn trip_count(region: &Loop) -> String {
    match &region.trip_count {
        Some(count) if count.exact => count.form.clone(),
        Some(count) => format!("at most {}", count.form),
        None => "unknown".to_owned(),
    }
}

/// `integer 4, global 2, control 1`
fn mix(work: &Work) -> String {
    let mut classes: Vec<_> = work.classes.iter().collect();
    classes.sort_by_key(|(name, count)| (Reverse(**count), **name));
    let classes: Vec<String> = classes
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    classes.join(", ")
}

fn accesses(out: &mut impl Write, function: &Function) -> io::Result<()> {
    if function.accesses.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n {}", output::heading("Accesses of a warp"))?;
    let mut table = table();
    table.set_header([
        "Line",
        "Depth",
        "Bytes",
        "Sectors",
        "Least",
        "Degree",
        "Pattern",
        "Space",
        "Instruction",
        "Address",
        "Source",
    ]);
    for access in &function.accesses {
        table.add_row(row(access));
    }
    align_right(&mut table, &[0, 1, 2, 3, 4, 5]);
    write_table(out, &table)?;
    for group in &function.adjacent {
        let members = group
            .iter()
            .filter_map(|&index| function.accesses.get(index));
        let lines: Vec<String> = members
            .clone()
            .map(|access| access.line.to_string())
            .collect();
        let bytes: u64 = members.filter_map(|access| access.bytes).sum();
        writeln!(
            out,
            " Lines {} could be combined into one access of {bytes} bytes",
            lines.join(", ")
        )?;
    }
    Ok(())
}

fn row(access: &Access) -> Vec<String> {
    let coalescing = access.coalescing.as_ref();
    let pattern = coalescing.map_or_else(|| "unknown".to_owned(), pattern_text);
    let form = access.address.clone().unwrap_or_default();
    let form = match form.char_indices().nth(MAX_FORM_LEN) {
        Some((end, _)) => format!("{}…", &form[..end]),
        None => form,
    };
    vec![
        access.line.to_string(),
        access.loop_depth.to_string(),
        optional_number(access.bytes),
        optional_number(coalescing.and_then(|coalescing| coalescing.sectors)),
        optional_number(access.least_sectors),
        optional_number(coalescing.and_then(|coalescing| coalescing.degree)),
        pattern,
        access.space.to_string(),
        access.mnemonic.clone(),
        form,
        access.source.clone().unwrap_or_default(),
    ]
}

/// The pattern of an access: `strided 8`, or `8 rows of 64 bytes, 2*n apart: 16 sectors if n >= 32`.
fn pattern_text(coalescing: &Coalescing) -> String {
    match (*coalescing.pattern, coalescing.stride, &coalescing.rows) {
        (Pattern::Strided(_), Some(stride), _) => format!("strided {stride}"),
        (_, _, Some(rows)) => {
            let mut text = format!("{} rows of {} bytes", rows.count, rows.bytes);
            if let Some(distance) = &rows.distance {
                let _ = write!(text, ", {distance} apart");
            }
            if let (Some(sectors), Some(condition)) = (coalescing.sectors, &rows.condition) {
                let _ = write!(text, ": {sectors} sectors if {condition}");
            }
            if let Some(degree) = rows.most_degree.filter(|degree| *degree > 1) {
                let _ = write!(text, ", at most {degree}-way");
            }
            text
        }
        (pattern, _, _) => pattern.name().to_owned(),
    }
}

fn optional_number(number: Option<u64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

fn steps(out: &mut impl Write, pipeline: &Pipeline) -> io::Result<()> {
    match pipeline.header {
        Some(header) => writeln!(out, "\n Asynchronous operations of the loop at {header}")?,
        None => writeln!(out, "\n Asynchronous operations outside of loops")?,
    }
    let mut table = table();
    table.set_header(["Line", "What", "Instruction", "In flight after"]);
    for step in &pipeline.steps {
        let in_flight: Vec<String> = step
            .in_flight
            .iter()
            .map(|operations| {
                let open = if operations.open > 0 {
                    format!(" and {} in no group", operations.open)
                } else {
                    String::new()
                };
                let groups = counted(operations.groups as usize, "group");
                format!("{} {groups}{open}", operations.completion)
            })
            .collect();
        let operation = match step.leaves {
            Some(leaves) => format!("{} {leaves}", step.kind.name()),
            None => step.kind.name().to_owned(),
        };
        table.add_row([
            step.line.to_string(),
            operation,
            step.mnemonic.clone(),
            in_flight.join(", "),
        ]);
    }
    align_right(&mut table, &[0]);
    write_table(out, &table)
}

fn findings(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n {}", output::heading("Findings"))?;
    let mut table = table();
    table.set_header(["Line", "Lint", "Certainty", "Message", "Source"]);
    for finding in findings {
        table.add_row([
            finding.line.to_string(),
            finding.lint.to_string(),
            finding.certainty.to_string(),
            finding.message.clone(),
            finding.source.clone().unwrap_or_default(),
        ]);
    }
    align_right(&mut table, &[0]);
    write_table(out, &table)
}
