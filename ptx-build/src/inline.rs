//! Inline assembly of other languages, checked alone.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::{PtxVersion, ScalarType, Target};

use crate::error::{BuildError, BuildErrorKind};
use crate::fragment::{AsmReport, Fragment};
use crate::function::FunctionBuilder;
use crate::handle::Dependency;
use crate::module::ModuleBuilder;
use crate::template::{AsmStyle, Substitute};

/// An operand of inline assembly according to its constraint: a register of a type that is written, read or both, or a text that
/// is inserted.
#[derive(Clone, PartialEq, Debug)]
pub struct AsmOperand {
    name: String,
    role: Role,
}

#[derive(Clone, PartialEq, Debug)]
enum Role {
    Register {
        ty: ScalarType,
        is_input: bool,
        is_output: bool,
    },
    /// The input is in the register of this output.
    Tied(usize),
    Text(String),
}

impl AsmOperand {
    fn new(role: Role) -> Self {
        let name = String::new();
        Self { name, role }
    }

    fn register(ty: ScalarType, is_input: bool, is_output: bool) -> Self {
        Self::new(Role::Register {
            ty,
            is_input,
            is_output,
        })
    }

    /// A register that is read: `"r"`.
    #[must_use]
    pub fn input(ty: ScalarType) -> Self {
        Self::register(ty, true, false)
    }

    /// A register that is written: `"=r"`.
    #[must_use]
    pub fn output(ty: ScalarType) -> Self {
        Self::register(ty, false, true)
    }

    /// A register that is read and written: `"+r"`.
    #[must_use]
    pub fn in_out(ty: ScalarType) -> Self {
        Self::register(ty, true, true)
    }

    /// An input in the register of an output: `"0"`.
    #[must_use]
    pub fn same_as(output: usize) -> Self {
        Self::new(Role::Tied(output))
    }

    /// A constant: `"n"(16)`.
    #[must_use]
    pub fn constant(value: i64) -> Self {
        Self::new(Role::Text(value.to_string()))
    }

    /// A part of the text that is known when it is compiled: `"C"("rn")`.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new(Role::Text(text.to_string()))
    }

    /// Sets the name, for `%[name]` and `{name}`.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    /// A register by its constraint: `=` or `+` for a written register, `&`, and a letter.
    ///
    /// | letter | register |
    /// |---|---|
    /// | `b` | `.pred` (LLVM alone) |
    /// | `h`, `c` (LLVM alone) | `.b16` |
    /// | `r` | `.b32` |
    /// | `l` | `.b64` |
    /// | `q` | `.b128` |
    /// | `f` | `.f32` |
    /// | `d` | `.f64` |
    /// | a number | that of an output |
    ///
    /// `n` and `C` have a value: [`constant`](Self::constant) and [`text`](Self::text) say it.
    ///
    /// # Errors
    ///
    /// The constraint is not in the table.
    pub fn from_constraint(constraint: &str) -> Result<Self, BuildError> {
        let letters = constraint.trim_start_matches(['=', '+', '&']);
        let (is_output, is_in_out) = (constraint.contains('='), constraint.contains('+'));
        let ty = match letters {
            "b" => ScalarType::Pred,
            "h" | "c" => ScalarType::B16,
            "r" => ScalarType::B32,
            "l" => ScalarType::B64,
            "q" => ScalarType::B128,
            "f" => ScalarType::F32,
            "d" => ScalarType::F64,
            _ => {
                return match constraint.parse() {
                    Ok(output) => Ok(Self::same_as(output)),
                    Err(_) => Err(BuildError::new(
                        BuildErrorKind::Spelling,
                        format!("invalid register constraint `{constraint}`"),
                        "use one of `b h c r l q f d`, after `=` or `+` for outputs, or the number of an output; `constant` and `text` for `n` and `C`",
                    )),
                };
            }
        };
        Ok(Self::register(
            ty,
            is_in_out || !is_output,
            is_in_out || is_output,
        ))
    }
}

/// Checks statements as text alone: `{name}` denotes a register of the type that is given with the name.
/// [`check_inline_asm`] takes the texts of CUDA C++ and LLVM.
///
/// ```
/// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
/// let check = |text| ptx_build::check_asm(PtxVersion::new(8, 0), Target::Sm80, text, &[("d", T::F32), ("a", T::F32)]);
/// assert_eq!(check("sin.approx.f32 {d}, {a};").unwrap().writes(), ["d"]);
/// assert!(check("sin.approx.f64 {d}, {a};").is_err());
/// ```
///
/// # Errors
///
/// As [`check_inline_asm`].
pub fn check_asm(
    version: PtxVersion,
    target: Target,
    text: &str,
    operands: &[(&str, ScalarType)],
) -> Result<AsmReport, BuildError> {
    let operands: Vec<AsmOperand> = operands
        .iter()
        .map(|(name, ty)| AsmOperand::in_out(*ty).named(name))
        .collect();
    check_inline_asm(version, target, AsmStyle::Braces, text, &operands)
}

/// Checks the text of an `asm` statement of CUDA C++ or LLVM IR for a target, with its operands as its constraints say them. The
/// report names them as the text does (`%0`, `$0`; by their names in braces), and so do errors, whose spans are in the text
/// as it was given. An input that is written is an error: the compiler takes it for unchanged.
///
/// ```
/// # use ptx_build::{AsmOperand, AsmStyle, check_inline_asm};
/// # use ptx_isa::{PtxVersion, Target};
/// let check = |text| {
///     let operands = [AsmOperand::from_constraint("=r")?, AsmOperand::from_constraint("l")?];
///     check_inline_asm(PtxVersion::new(8, 0), Target::Sm80, AsmStyle::Cuda, text, &operands)
/// };
/// let report = check("{ .reg .b64 t; cvta.to.global.u64 t, %1;\n\tld.global.nc.b32 %0, [t]; }")?;
/// assert_eq!((report.reads().join(" "), report.writes().join(" ")), ("%1 t".into(), "t %0".into()));
/// let text = "ld.global.nc.b32 %0, [%1]; add.f64 %0, %0, 1;";
/// let wrong = check(text).unwrap_err();
/// assert_eq!(wrong.diagnostics()[0].span.of(text.as_bytes()), b"%0");
/// # Ok::<(), ptx_build::BuildError>(())
/// ```
///
/// # Errors
///
/// The text is illegal, mentions an unknown operand, or writes an input.
pub fn check_inline_asm(
    version: PtxVersion,
    target: Target,
    style: AsmStyle,
    text: &str,
    operands: &[AsmOperand],
) -> Result<AsmReport, BuildError> {
    let mut module = ModuleBuilder::new(version, target);
    // In a function and not a kernel, as inline assembly is allowed in both.
    let mut function = module.func("$asm")?;
    let checked = check(&mut function, style, text, operands);
    function.finish()?;
    checked
}

fn check(
    function: &mut FunctionBuilder<'_>,
    style: AsmStyle,
    template: &str,
    operands: &[AsmOperand],
) -> Result<AsmReport, BuildError> {
    // A stem that no text has, so that nothing in it is taken for an operand.
    let mut stem = String::from("%operand");
    let is_in_texts = |stem: &str| {
        let mut texts = operands.iter().filter_map(|o| match &o.role {
            Role::Text(text) => Some(text),
            _ => None,
        });
        template.contains(stem) || texts.any(|t| t.contains(stem))
    };
    while is_in_texts(&stem) {
        stem.push('_');
    }
    let mut fragment = Fragment {
        style,
        template,
        operands: Vec::new(),
    };
    let mut names = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        let (text, is_unique) = match &operand.role {
            Role::Register { .. } => (format!("{stem}{i}_"), true),
            Role::Tied(output) => (tied_text(operands, *output, &stem)?, true),
            Role::Text(text) => (text.clone(), false),
        };
        names.push(text.clone());
        fragment.operands.push(Substitute {
            name: operand.name.clone(),
            text,
            is_unique,
        });
    }
    let mut mentions = Vec::new();
    for (name, operand) in names.iter().zip(operands) {
        if let Role::Register { ty, .. } = operand.role {
            mentions.push(Dependency::Reg(mentions.len() as u32));
            function
                .named_reg(ty, name)
                .map_err(|e| e.renamed(|text| fragment.renamed(text)))?;
        }
    }
    function.body.pending.mentions = mentions;
    let filled = fragment.fill(0)?;
    let checked = function.check_fragment(&fragment, &filled)?;
    for (i, operand) in operands.iter().enumerate() {
        let report_name = names
            .get(i)
            .map_or(String::new(), |n| fragment.report_name(n));
        let is_tied = operands.iter().any(|o| o.role == Role::Tied(i));
        let is_read_only = matches!(
            operand.role,
            Role::Register {
                is_output: false,
                ..
            }
        );
        if is_read_only
            && !is_tied
            && let Some((_, span)) = checked.writes.iter().find(|w| w.0 == report_name)
        {
            return Err(written(template, &report_name, *span));
        }
    }
    let second_copy = fragment.fill(1)?;
    let mut report = checked.report;
    report.repeatable = function.is_repeatable(&filled, &second_copy);
    Ok(report)
}

/// The substitute of an input that is in the register of an output.
fn tied_text(operands: &[AsmOperand], output: usize, stem: &str) -> Result<String, BuildError> {
    match operands.get(output).map(|o| &o.role) {
        Some(Role::Register {
            is_output: true, ..
        }) => Ok(format!("{stem}{output}_")),
        _ => Err(BuildError::new(
            BuildErrorKind::Argument,
            format!("an operand is tied to operand {output}, which is not an output"),
            "outputs come first and count from 0",
        )),
    }
}

fn written(template: &str, operand: &str, span: Span) -> BuildError {
    let message = format!("`{operand}` is an input, and written here");
    let mut error = Diagnostic::error(Code::OperandKind, span, message);
    error.help = Some("make it an output that is read too, with `+`, or copy it first".into());
    BuildError::illegal(template.to_string(), [error].into())
}
