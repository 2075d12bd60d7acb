//! Declarations as statements, with initial values that mention variables, functions and labels.

use alloc::string::String;
use core::fmt::Write as _;

use ptx_ir::Code;

use crate::declaration::{Declaration, Init};
use crate::error::{BuildError, BuildErrorKind};
use crate::lexical;
use crate::name_scope::NameScope;
use crate::number::Number;

impl Declaration {
    /// The statement; its initial values mention `names`.
    pub(crate) fn statement(&self, names: &mut NameScope<'_>) -> Result<String, BuildError> {
        let mut out = String::new();
        self.write_head(&mut out)?;
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            lexical::name(&name.text)?;
            let text = match &name.count {
                Some(count) => format!("{}<{}>", name.text, count.text()?),
                None => name.text.clone(),
            };
            if name.count.is_some() && !name.dims.is_empty() {
                let message = format!("`{text}` is a range and an array");
                let help = "declare an array of one dimension more, or each array by its own name";
                return BuildErrorKind::Argument.refuse(Code::VariableType, message, help);
            }
            name.write(&text, &mut out)?;
            if let Some(init) = &name.init {
                out.push_str(" = ");
                write_init(init, names, &mut out, 0)?;
            }
        }
        out.push(';');
        Ok(out)
    }
}

/// The deepest nesting of initial values.
const DEPTH: usize = 64;

/// Writes an initial value that is nested in `depth` others.
fn write_init(
    init: &Init,
    names: &mut NameScope<'_>,
    out: &mut String,
    depth: usize,
) -> Result<(), BuildError> {
    if depth > DEPTH {
        return Err(BuildError::new(
            BuildErrorKind::Argument,
            format!("initial values nest deeper than {DEPTH} lists"),
            "a list holds one list for each dimension of the array",
        ));
    }
    let _ = match init {
        Init::Int(n) => write!(out, "{n}"),
        Init::Unsigned(n) => write!(out, "{n}"),
        Init::F32(x) => write!(out, "0f{:08X}", x.to_bits()),
        Init::F64(x) => write!(out, "0d{:016X}", x.to_bits()),
        Init::Constant(text) => write!(out, "{}", Number::from(text.as_str()).text()?),
        Init::Text(text) => write!(out, "{}", lexical::string(text)?),
        Init::Address(var, n) => {
            let named = names.variable(*var)?;
            write!(out, "{}{}", names.mention(named), Offset(*n))
        }
        Init::Generic(var, n) => {
            let named = names.variable(*var)?;
            write!(out, "generic({}){}", names.mention(named), Offset(*n))
        }
        Init::Function(func) => {
            let named = names.function(*func)?;
            write!(out, "{}", names.mention(named))
        }
        Init::Label(label) => {
            let named = names.label(*label)?;
            write!(out, "{}", names.mention(named))
        }
        Init::Plus(base, number) => {
            write_init(base, names, out, depth + 1)?;
            write!(out, "+{}", number.text()?)
        }
        Init::Masked(mask, of) => {
            let _ = write!(out, "{}(", mask.text()?);
            write_init(of, names, out, depth + 1)?;
            write!(out, ")")
        }
        Init::Field(name, value) => {
            lexical::name(name)?;
            if !lexical::is_constant(value) {
                lexical::name(value)?;
            }
            write!(out, "{name} = {value}")
        }
        Init::List(parts) => {
            out.push('{');
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    // As the canonical style has it.
                    out.push_str(if i % 16 == 0 { ",\n\t" } else { ", " });
                }
                write_init(part, names, out, depth + 1)?;
            }
            write!(out, "}}")
        }
    };
    Ok(())
}

/// `+4`, or nothing.
struct Offset(i64);

impl core::fmt::Display for Offset {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            0 => Ok(()),
            offset => write!(f, "+{offset}"),
        }
    }
}
