//! The text of the kernel of a program, and where its results are.

use std::fmt::Write as _;

use ptx_isa::{PtxVersion, ScalarType, Target};

use crate::assign::{SCRATCH, assign};
use crate::program::{Program, Step, bytes};
use crate::template::Register;

/// Bytes between values in memory, so that accesses are not combined.
pub(crate) const EACH: usize = 16;

/// A result in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stored {
    pub(crate) step: usize,
    /// The number of the result; that of the carry flag follows the others.
    pub(crate) result: usize,
    /// The bytes of the results of a thread before it.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    /// Whether it is a number, and not a predicate or the carry flag.
    pub(crate) ty: Option<ScalarType>,
}

/// The results of a program, in the order of its steps.
pub(crate) fn stored(program: &Program<'_>) -> Vec<Stored> {
    let mut all = Vec::new();
    for (number, step) in program.steps.iter().enumerate() {
        let registers = step.results.iter().map(|r| (bytes(r.declared), r.ty));
        let carry = step.template.writes_carry.then_some((4, None));
        for (result, (bytes, ty)) in registers.chain(carry).enumerate() {
            let ty = ty.filter(|ty| *ty != ScalarType::Pred);
            all.push(Stored {
                step: number,
                result,
                offset: all.len() * EACH,
                bytes,
                ty,
            });
        }
    }
    all
}

/// The module of a kernel `k` that reads the inputs of each thread at `data`, and stores its results at `out`.
pub(crate) fn module(program: &Program<'_>, version: PtxVersion, target: Target) -> String {
    let (inputs, outputs) = (program.inputs.len() * EACH, stored(program).len() * EACH);
    let mut text = format!(
        "{}.visible .entry k(.param .b64 inputs, .param .b64 outputs)\n{{\n.reg .b64 data, out;\n{SCRATCH}\n{}\
         ld.param.b64 data, [inputs];\nld.param.b64 out, [outputs];\nmov.u32 word, %tid.x;\n\
         mad.wide.u32 data, word, {inputs}, data;\nmad.wide.u32 out, word, {outputs}, out;\n",
        header(version, target),
        registers(program),
    );
    for (number, register) in program.inputs.iter().enumerate() {
        text += &load(register, number * EACH);
    }
    write_steps(&mut text, program);
    text + "ret;\n}\n"
}

/// The module with a kernel for each thread, `k0` and so on, whose inputs are constants.
pub(crate) fn constant_module(
    program: &Program<'_>,
    version: PtxVersion,
    target: Target,
    threads: &[Vec<u128>],
) -> String {
    let mut text = header(version, target);
    for (thread, values) in threads.iter().enumerate() {
        let _ = write!(
            text,
            ".visible .entry k{thread}(.param .b64 outputs)\n{{\n.reg .b64 out;\n{SCRATCH}\n{}ld.param.b64 out, [outputs];\n",
            registers(program)
        );
        for (register, bits) in program.inputs.iter().zip(values) {
            text += &assign(register, *bits);
        }
        write_steps(&mut text, program);
        text += "ret;\n}\n";
    }
    text
}

fn header(version: PtxVersion, target: Target) -> String {
    format!(".version {version}\n.target {target}\n.address_size 64\n")
}

fn registers(program: &Program<'_>) -> String {
    let results = program.steps.iter().flat_map(|step| &step.results);
    let all = program.inputs.iter().chain(results);
    let lines = all.map(|r| format!(".reg {} {};\n", r.declared, r.name));
    lines.collect()
}

fn load(register: &Register, offset: usize) -> String {
    let name = &register.name;
    match register.declared.bits() {
        _ if register.declared == ScalarType::Pred => {
            format!("ld.global.b32 word, [data+{offset}];\nsetp.ne.u32 {name}, word, 0;\n")
        }
        128 => format!(
            "ld.global.b64 low, [data+{offset}];\nld.global.b64 high, [data+{}];\nmov.b128 {name}, {{low, high}};\n",
            offset + 8
        ),
        bits => format!("ld.global.b{bits} {name}, [data+{offset}];\n"),
    }
}

fn write_steps(text: &mut String, program: &Program<'_>) {
    let mut offset = 0;
    for step in &program.steps {
        write_step(text, step, &mut offset);
    }
}

fn write_step(text: &mut String, step: &Step<'_>, offset: &mut usize) {
    if let Some(carry) = step.carry {
        let _ = writeln!(text, "add.cc.u32 word, {}, 1;", if carry { -1 } else { 0 });
    }
    let _ = writeln!(text, "{}", step.line);
    // Before another instruction writes it.
    if step.template.writes_carry {
        text.push_str("addc.u32 word, 0, 0;\n");
    }
    let carry_at = *offset + step.results.len() * EACH;
    if step.template.writes_carry {
        let _ = writeln!(text, "st.global.b32 [out+{carry_at}], word;");
    }
    for register in &step.results {
        let (name, at) = (&register.name, *offset);
        let _ = match register.declared.bits() {
            _ if register.declared == ScalarType::Pred => {
                writeln!(
                    text,
                    "selp.b32 word, 1, 0, {name};\nst.global.b32 [out+{at}], word;"
                )
            }
            128 => writeln!(
                text,
                "mov.b128 {{low, high}}, {name};\nst.global.b64 [out+{at}], low;\nst.global.b64 [out+{}], high;",
                at + 8
            ),
            bits => writeln!(text, "st.global.b{bits} [out+{at}], {name};"),
        };
        *offset += EACH;
    }
    *offset += match step.template.writes_carry {
        true => EACH,
        false => 0,
    };
}
