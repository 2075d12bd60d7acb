//! Examples as complete modules.

use core::fmt;

use super::from_fn;
use crate::{PtxVersion, ScalarType, SpecialReg, Target};

/// The registers of examples: the prefix of their names, and their type.
const REGISTERS: [(&str, ScalarType); 8] = [
    ("%p", ScalarType::Pred),
    ("%rb", ScalarType::B8),
    ("%rs", ScalarType::B16),
    ("%r", ScalarType::B32),
    ("%rd", ScalarType::B64),
    ("%rq", ScalarType::B128),
    ("%f", ScalarType::F32),
    ("%fd", ScalarType::F64),
];

/// The variables and functions of examples.
const DECLARATIONS: [(&str, &str); 3] = [
    ("image", ".global .texref image;"),
    ("surface", ".global .surfref surface;"),
    (
        "square",
        ".func (.param .b32 result) square (.param .b32 x)\n{\n\tret;\n}",
    ),
];

/// A module with a kernel for each of some [examples](crate::Instruction::examples). It declares the registers, variables and
/// functions that occur in them; a label `done` is at the end of each kernel.
///
/// ```
/// use ptx_isa::{Instruction, PtxVersion, Target};
/// use ptx_isa::internals::describe;
/// let add = Instruction::ALL.iter().find(|i| i.name() == "add").unwrap();
/// let text = describe::example_module(add.examples(), PtxVersion::new(8, 0), Target::Sm90).to_string();
/// assert!(text.starts_with(".version 8.0\n.target sm_90\n"));
/// assert!(text.contains(".reg .b32 %r<100>;"));
/// ```
#[must_use]
pub fn example_module<'a>(
    examples: &'a [&'a str],
    version: PtxVersion,
    target: Target,
) -> impl fmt::Display + use<'a> {
    from_fn(move |f| {
        writeln!(
            f,
            ".version {version}\n.target {target}\n.address_size 64\n"
        )?;
        for (name, declaration) in DECLARATIONS {
            if examples.iter().any(|example| contains_word(example, name)) {
                writeln!(f, "{declaration}")?;
            }
        }
        for (number, example) in examples.iter().enumerate() {
            write_kernel(f, number, example)?;
        }
        Ok(())
    })
}

/// A module with the [example](crate::Directive::example) of a directive. The example of a directive of the header contains the header.
///
/// ```
/// use ptx_isa::{Directive, PtxVersion, Target};
/// use ptx_isa::internals::describe;
/// let example = Directive::Maxnreg.example().unwrap();
/// let text = describe::directive_module(example, PtxVersion::new(8, 0), Target::Sm90).to_string();
/// assert!(text.ends_with(".address_size 64\n.entry k() .maxnreg 64 { ret; }\n"));
/// ```
#[must_use]
pub fn directive_module(
    example: &str,
    version: PtxVersion,
    target: Target,
) -> impl fmt::Display + use<'_> {
    from_fn(move |f| {
        if !example.starts_with(".version") {
            writeln!(f, ".version {version}\n.target {target}\n.address_size 64")?;
        }
        writeln!(f, "{example}")
    })
}

/// An [example](example_module) that reads a special register.
///
/// ```
/// use ptx_isa::SpecialReg;
/// use ptx_isa::internals::describe;
/// assert_eq!(describe::register_example(SpecialReg::Tid).to_string(), "mov.u32 %r1, %tid.x;");
/// ```
#[must_use]
pub fn register_example(register: SpecialReg) -> impl fmt::Display {
    from_fn(move |f| {
        let ty = register.scalar_type();
        let prefix = REGISTERS
            .iter()
            .find(|(_, register_type)| register_type.bits() == ty.bits())
            .map_or("%r", |(prefix, _)| prefix);
        let component = if register.is_vector() { ".x" } else { "" };
        write!(f, "mov{ty} {prefix}1, {register}{component};")
    })
}

fn write_kernel(f: &mut fmt::Formatter<'_>, number: usize, example: &str) -> fmt::Result {
    writeln!(f, ".visible .entry example{number}()")?;
    for register in SpecialReg::ALL {
        if let Some(directive) = register.needs()
            && contains_word(example, register.text())
        {
            writeln!(f, "{directive} 1024")?;
        }
    }
    writeln!(f, "{{")?;
    for (prefix, ty) in REGISTERS {
        if contains(example, prefix, |next| next.is_ascii_digit()) {
            writeln!(f, "\t.reg {ty} {prefix}<100>;")?;
        }
    }
    for line in example.lines() {
        writeln!(f, "\t{line}")?;
    }
    writeln!(f, "done:\n\tret;\n}}")
}

/// Whether a text contains a name that is followed by a character that is neither a letter nor a digit.
fn contains_word(text: &str, name: &str) -> bool {
    contains(text, name, |next| !next.is_ascii_alphanumeric())
}

/// Whether a text contains a name before a byte that passes the test.
fn contains(text: &str, name: &str, is_next: impl Fn(u8) -> bool) -> bool {
    text.match_indices(name).any(|(start, _)| {
        text.as_bytes()
            .get(start + name.len())
            .is_some_and(|&b| is_next(b))
    })
}
