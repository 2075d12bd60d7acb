//! Matrix instructions on matrices of small integers, whose products are exact, compared with plain matrix products.
//!
//! With `PTXAS` and `PTXAS_NEWER` in the environment, each kernel is also assembled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod dense;
mod element;
mod fragments;
mod moves;
mod quads;
mod scaled;
mod shown;
mod sparse;
mod warpgroup_sums;
mod warpgroups;
mod warps;

use ptx_vm::{Asynchrony, Checker, Launch, Machine, RunError};

/// A matrix of integers, row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) values: Vec<i64>,
}

impl Numbers {
    pub(crate) fn new(rows: usize, columns: usize, mut f: impl FnMut(usize, usize) -> i64) -> Self {
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Self {
            rows,
            columns,
            values: places.map(|(row, column)| f(row, column)).collect(),
        }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> i64 {
        self.values[row * self.columns + column]
    }

    pub(crate) fn transposed(&self) -> Self {
        Self::new(self.columns, self.rows, |row, column| self.at(column, row))
    }

    /// `self · b + c`.
    pub(crate) fn multiplied(&self, b: &Self, c: &Self) -> Self {
        Self::new(c.rows, c.columns, |row, column| {
            let products = (0..self.columns).map(|k| self.at(row, k) * b.at(k, column));
            products.sum::<i64>() + c.at(row, column)
        })
    }
}

/// A kernel `k` of one warp with pointers to input and output.
pub(crate) fn kernel(target: &str, declarations: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n\
         .shared .align 128 .b8 memory[8192];\n\
         .visible .entry k(.param .u64 input, .param .u64 output)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %t, %r<48>;\n.reg .f32 %f<32>;\n.reg .b64 %rd<16>;\n.reg .f64 %fd<32>;\n.reg .b16 %h<8>;\n{declarations}\n\
         ld.param.u64 %rd1, [input];\nld.param.u64 %rd2, [output];\nmov.u32 %t, %tid.x;\n\
         {body}\nret;\n}}\n"
    )
}

/// Copies bytes from the input to shared memory.
pub(crate) fn copy_in(bytes: usize) -> String {
    format!(
        "shl.b32 %r40, %t, 2;\nCOPY: setp.ge.u32 %p1, %r40, {bytes};\n@%p1 bra COPIED;\n\
         cvt.u64.u32 %rd10, %r40;\nadd.s64 %rd10, %rd10, %rd1;\nld.global.b32 %r41, [%rd10];\n\
         mov.u32 %r42, memory;\nadd.u32 %r42, %r42, %r40;\nst.shared.b32 [%r42], %r41;\n\
         add.u32 %r40, %r40, 128;\nbra COPY;\nCOPIED: bar.sync 0;\n"
    )
}

/// Fails if ptxas does not accept a module.
fn assemble(text: &str) {
    let name = if text.starts_with(".version 8") {
        "PTXAS"
    } else {
        "PTXAS_NEWER"
    };
    let Some(ptxas) = std::env::var_os(name) else {
        return;
    };
    let target = text
        .lines()
        .find_map(|l| l.strip_prefix(".target "))
        .unwrap();
    let thread = format!("{:?}", std::thread::current().id());
    let name = thread.replace(['(', ')'], "");
    let path = std::env::temp_dir().join(format!("matrices-{}-{name}.ptx", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let mut command = std::process::Command::new(ptxas);
    let command = command
        .args(["-arch", target, "-o", test_support::NULL_DEVICE])
        .arg(&path);
    let output = command.output().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(
        output.status.success(),
        "{}\n{text}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs a kernel of one warp; gives the output. The checkers find nothing in it.
pub(crate) fn run(text: &str, input: &[u8], output: usize) -> Result<Vec<u8>, RunError> {
    run_threads(text, [32, 0], input, output)
}

/// Runs a kernel of a number of threads with dynamic shared memory; gives the output. The checkers find nothing in it.
pub(crate) fn run_threads(
    text: &str,
    [threads, shared]: [usize; 2],
    input: &[u8],
    output: usize,
) -> Result<Vec<u8>, RunError> {
    assemble(text);
    let parsed = ptx_parse::parse_str(text);
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{text}",
        parsed.diagnostics
    );
    let launched = |checkers: &[Checker], asynchrony: Asynchrony| {
        let mut machine = Machine::new(&parsed.module);
        let from = machine.allocate(input.len().max(4) as u64).unwrap();
        let to = machine.allocate(output as u64).unwrap();
        machine.write(from, input)?;
        let mut launch = Launch::new("k").shape(1, threads as u32);
        launch.shared = shared as u32;
        launch.asynchrony = asynchrony;
        let launch = launch
            .argument(from.to_le_bytes())
            .argument(to.to_le_bytes());
        let launch = checkers
            .iter()
            .fold(launch, |launch, &checker| launch.check(checker));
        machine.launch(&launch)?;
        let reports: Vec<String> = machine.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{reports:#?}\n{text}");
        machine.read(to, output)
    };
    let bytes = launched(&[], Asynchrony::Immediate)?;
    assert_eq!(launched(&Checker::ALL, Asynchrony::Immediate)?, bytes);
    if text.contains("wgmma") {
        assert_eq!(launched(&[], Asynchrony::Random(1))?, bytes);
        assert_eq!(launched(&Checker::ALL, Asynchrony::Late)?, bytes);
    }
    Ok(bytes)
}

/// Names of registers in braces.
pub(crate) fn list(prefix: &str, first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count)
        .map(|n| format!("{prefix}{n}"))
        .collect();
    format!("{{{}}}", names.join(", "))
}
