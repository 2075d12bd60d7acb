//! The report as text.

use std::io::{self, Write};

use ptx_analysis::memory_access::Pattern;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use ptx_report::counted;
use ptx_report::report::{
    Access, Factor, Finding, Function, Loop, Pipeline, Report, Synchronization, Work,
};

use super::short;
use crate::output::{align_right, table, write_table};

/// Longer forms are cut.
const LONGEST_FORM: usize = 48;

/// Loops inside of more loops than this are not indented any further.
const DEEPEST_INDENT: usize = 24;

/// Writes the report of a file, unless there are no functions.
pub(super) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.functions.is_empty() {
        return Ok(());
    }
    let target = report.target.as_deref().unwrap_or("no target");
    let ptx = report.ptx.as_deref().unwrap_or("?");
    writeln!(out, "{}: PTX {ptx}, {target}", report.file)?;
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
fn place(line: u32, source: Option<&str>) -> String {
    match source {
        Some(source) => format!("line {line} ({source})"),
        None => format!("line {line}"),
    }
}

fn resources(out: &mut impl Write, of: &Function) -> io::Result<()> {
    let stats = &of.stats;
    let kind = if stats.is_kernel() {
        "Kernel"
    } else {
        "Function"
    };
    writeln!(out, "{kind} {}, line {}", stats.title(), of.line)?;
    let pairs = stats.requires.iter();
    let pairs: Vec<String> = pairs
        .map(|p| format!("{} from PTX {}", p.target, p.ptx))
        .collect();
    let directives = stats.signature.directives.iter().map(|(name, values)| {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        format!(".{name} {}", values.join(", "))
            .trim_end()
            .to_owned()
    });
    let directives: Vec<String> = directives.collect();
    let bytes = |n: Option<u64>| n.map_or("unknown".to_owned(), |n| counted(n as usize, "byte"));
    let calls = stats.callees.iter().map(|c| {
        let name = c.demangled.as_deref().or(c.name.as_deref());
        format!("{} {}", name.unwrap_or("indirect"), c.count)
    });
    let calls: Vec<String> = calls.collect();
    let classes = stats.pressure.by_class.iter().filter(|(_, n)| **n > 0);
    let classes: Vec<String> = classes.map(|(class, n)| format!("{class} {n}")).collect();
    let curve = &of.pressure_curve;
    let peak = curve
        .peak_line
        .map(|line| place(line, curve.peak_source.as_deref()));
    let live = format!(
        "at most {} of 32 bits ({}), {}",
        stats.pressure.max_b32_units,
        classes.join(", "),
        peak.unwrap_or_default()
    );
    for (name, text) in [
        ("requires", pairs.join(", ")),
        ("directives", directives.join("; ")),
        ("parameters", bytes(of.parameter_bytes)),
        (
            "shared",
            stats.shared_bytes.map_or(String::new(), |n| bytes(Some(n))),
        ),
        (
            "local",
            if stats.local_bytes > 0 {
                bytes(Some(stats.local_bytes))
            } else {
                String::new()
            },
        ),
        (
            "live registers",
            if classes.is_empty() {
                String::new()
            } else {
                live
            },
        ),
        ("barriers", synchronization(&of.synchronization)),
        ("calls", calls.join(", ")),
    ] {
        if !text.is_empty() {
            writeln!(out, " {name:15}{text}")?;
        }
    }
    Ok(())
}

fn synchronization(of: &Synchronization) -> String {
    let mut words = Vec::new();
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            words.push(counted(count as usize, what));
        }
    };
    add(of.cta_barriers, "CTA barrier");
    add(of.warp_barriers, "warp barrier");
    add(of.cluster_barriers, "cluster barrier");
    add(of.mbarrier_objects, "mbarrier initialization");
    add(of.mbarrier_waits, "mbarrier wait");
    add(of.fences, "fence");
    let numbers: Vec<String> = of.barrier_numbers.iter().map(i64::to_string).collect();
    if !numbers.is_empty() {
        words.push(format!("named {}", numbers.join(", ")));
    }
    words.join(", ")
}

/// `2.50`
fn ratio(of: Option<f64>) -> String {
    of.map_or(String::new(), |n| format!("{n:.2}"))
}

/// `2 * (1 + max(0, n - 1) - 1)`; empty for what is done once.
fn factors(all: &[Factor], function: &str) -> String {
    let factor = |f: &Factor| {
        let form = f.form.as_deref().map(|form| short(form, function));
        let form = form.unwrap_or_else(|| format!("loop at {}", f.header));
        match f.without_last {
            true => format!("({form} - 1)"),
            false => format!("({form})"),
        }
    };
    all.iter().map(factor).collect::<Vec<_>>().join(" * ")
}

/// The bytes of state spaces, all directions together.
fn bytes_of(work: &Work, spaces: &[Space]) -> String {
    let memory = work.memory.iter().filter(|m| spaces.contains(&*m.space));
    let sums = memory.map(|m| {
        (
            m.read.saturating_add(m.written).saturating_add(m.updated),
            m.unknown,
        )
    });
    let (bytes, unknown) = sums.fold((0u64, 0u64), |(a, b), (c, d)| {
        (a.saturating_add(c), b.saturating_add(d))
    });
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

fn has_tensor_memory<'w>(mut all: impl Iterator<Item = &'w Work>) -> bool {
    all.any(|work| work.memory.iter().any(|m| *m.space == Space::Tensor))
}

/// What the numbers of work are; with those of tensor memory only where there are any.
fn titles(tensor: bool) -> Vec<&'static str> {
    let mut titles = vec![
        "Instructions",
        "FLOP",
        "Integer",
        "Multiply-adds",
        "Global",
        "Shared",
        "FLOP/byte",
    ];
    if tensor {
        titles.insert(6, "Tensor");
    }
    titles
}

fn work(out: &mut impl Write, of: &Function) -> io::Result<()> {
    writeln!(out, "\n Work of a warp")?;
    let mut table = table();
    let tensor = has_tensor_memory(of.work.parts.iter().map(|part| &part.work));
    let mut header = titles(tensor);
    let numbers_end = header.len();
    header.push("Times");
    table.set_header(header);
    for part in &of.work.parts {
        let mut times = factors(&part.factors, &of.stats.name);
        if !part.exact {
            times = format!("at most {}", if times.is_empty() { "1" } else { &times });
        }
        let mut cells = numbers(&part.work, tensor);
        cells.push(times);
        table.add_row(cells);
    }
    align_right(&mut table, &(0..numbers_end).collect::<Vec<_>>());
    write_table(out, &table)
}

fn numbers(work: &Work, tensor: bool) -> Vec<String> {
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
        ratio(work.intensity),
    ];
    if tensor {
        numbers.insert(6, bytes_of(work, &[Space::Tensor]));
    }
    numbers
}

fn loops(out: &mut impl Write, of: &Function) -> io::Result<()> {
    if of.loops.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n Loops, one iteration of each")?;
    let mut table = table();
    let tensor = has_tensor_memory(of.loops.iter().map(|l| &l.iteration));
    let mut header = titles(tensor);
    let numbers_end = header.len();
    header.extend(["Loop", "Line", "Trip count", "Mix"]);
    table.set_header(header);
    for l in &of.loops {
        let mut cells = numbers(&l.iteration, tensor);
        let level = l.depth.saturating_sub(1) as usize;
        let indent = "  ".repeat(level.min(DEEPEST_INDENT));
        let name = l.label.clone().unwrap_or_else(|| l.header.to_string());
        cells.push(format!("{indent}{name}"));
        cells.push(place(l.line, l.source.as_deref()).replace("line ", ""));
        cells.push(short(&trip_count(l), &of.stats.name));
        cells.push(mix(&l.iteration));
        table.add_row(cells);
    }
    align_right(&mut table, &(0..numbers_end).collect::<Vec<_>>());
    write_table(out, &table)
}

fn trip_count(of: &Loop) -> String {
    match &of.trip_count {
        Some(count) if count.exact => count.form.clone(),
        Some(count) => format!("at most {}", count.form),
        None => "unknown".to_owned(),
    }
}

/// `integer 4, global 2, control 1`
fn mix(work: &Work) -> String {
    let mut classes: Vec<_> = work.classes.iter().collect();
    classes.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
    let classes: Vec<String> = classes
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    classes.join(", ")
}

fn accesses(out: &mut impl Write, of: &Function) -> io::Result<()> {
    if of.accesses.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n Accesses of a warp")?;
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
    for access in &of.accesses {
        table.add_row(row(access, &of.stats.name));
    }
    align_right(&mut table, &[0, 1, 2, 3, 4, 5]);
    write_table(out, &table)?;
    for group in &of.adjacent {
        let members = group.iter().filter_map(|&at| of.accesses.get(at));
        let lines: Vec<String> = members.clone().map(|a| a.line.to_string()).collect();
        let bytes: u64 = members.filter_map(|a| a.bytes).sum();
        writeln!(
            out,
            " Lines {} could be combined into one access of {bytes} bytes",
            lines.join(", ")
        )?;
    }
    Ok(())
}

fn row(access: &Access, function: &str) -> Vec<String> {
    let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let coalescing = access.coalescing.as_ref();
    let pattern = coalescing.map_or("unknown".to_owned(), |c| match (*c.pattern, c.stride) {
        (Pattern::Strided(_), Some(stride)) => format!("strided {stride}"),
        (pattern, _) => pattern.name().to_owned(),
    });
    let form = short(access.address.as_deref().unwrap_or_default(), function);
    let form = match form.char_indices().nth(LONGEST_FORM) {
        Some((at, _)) => format!("{}…", &form[..at]),
        None => form,
    };
    vec![
        access.line.to_string(),
        access.loop_depth.to_string(),
        number(access.bytes),
        number(coalescing.and_then(|c| c.sectors)),
        number(access.least_sectors),
        number(coalescing.and_then(|c| c.degree)),
        pattern,
        access.space.to_string(),
        access.mnemonic.clone(),
        form,
        access.source.clone().unwrap_or_default(),
    ]
}

fn steps(out: &mut impl Write, of: &Pipeline) -> io::Result<()> {
    match of.header {
        Some(header) => writeln!(out, "\n Asynchronous operations of the loop at {header}")?,
        None => writeln!(out, "\n Asynchronous operations outside of loops")?,
    }
    let mut table = table();
    table.set_header(["Line", "What", "Instruction", "In flight after"]);
    for step in &of.steps {
        let flying = step.in_flight.iter().map(|f| {
            let open = if f.open > 0 {
                format!(" and {} in no group", f.open)
            } else {
                String::new()
            };
            format!(
                "{} {}{open}",
                f.completion,
                counted(f.groups as usize, "group")
            )
        });
        let flying: Vec<String> = flying.collect();
        let what = match step.leaves {
            Some(leaves) => format!("{} {leaves}", step.kind.name()),
            None => step.kind.name().to_owned(),
        };
        table.add_row([
            step.line.to_string(),
            what,
            step.mnemonic.clone(),
            flying.join(", "),
        ]);
    }
    align_right(&mut table, &[0]);
    write_table(out, &table)
}

fn findings(out: &mut impl Write, all: &[Finding]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n Findings")?;
    let mut table = table();
    table.set_header(["Line", "Lint", "Certainty", "Message", "Source"]);
    for finding in all {
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
