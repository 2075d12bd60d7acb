//! Initial values of variables.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::error::{BuildError, BuildErrorKind};
use crate::function::Body;
use crate::handle_owner::Handle;
use crate::lexical;
use crate::module::Tables;
use crate::number::Number;
use crate::operand::{CodeLabel, Func, Variable};
use crate::refusal::{early, hidden, later};
use crate::writer::Dependency;

/// An initial value. Manual 5.4.4.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Init {
    /// An integer.
    Int(i64),
    /// An integer without a sign.
    Unsigned(u64),
    /// Single precision.
    F32(f32),
    /// Double precision.
    F64(f64),
    /// A constant in its own spelling.
    Constant(String),
    /// A string with its end.
    Text(String),
    /// The address of a variable, so many bytes behind it.
    Address(Variable, i64),
    /// The generic address of a variable, so many bytes behind it: `generic(a)+4`.
    Generic(Variable, i64),
    /// A function.
    Function(Func),
    /// The place of a label of the function.
    Label(CodeLabel),
    /// So many bytes behind another value, as the number is spelled: `a+0x10`.
    Plus(Box<Init>, Number),
    /// One byte of an address, shifted down: `0xFF00(a)`. Manual 5.4.4.
    Masked(Number, Box<Init>),
    /// A field of a sampler or texture: `addr_mode_0 = wrap`.
    Field(String, String),
    /// `{…}`
    List(Vec<Init>),
}

/// What names mean where an initial value stands.
pub(crate) struct Scope<'s> {
    pub(crate) tables: &'s Tables,
    /// `None` outside of functions.
    pub(crate) body: Option<&'s Body>,
}

impl Scope<'_> {
    fn place(&self) -> Option<&str> {
        self.body.map(|b| b.name.as_str())
    }

    /// Refuses a name of the module that means something else here.
    fn is_shown(&self, noun: &str, name: &str) -> Result<(), BuildError> {
        match self.body.is_some_and(|b| b.means(name)) {
            true => Err(hidden(noun, name)),
            false => Ok(()),
        }
    }

    fn var(&self, var: Variable, mentions: &mut Vec<Dependency>) -> Result<&str, BuildError> {
        let body = self.body.filter(|b| b.owner == var.owner);
        let local = body.and_then(|b| b.locals.get(var.index as usize));
        if let Some(local) = local.filter(|l| l.visible) {
            mentions.push(Dependency::Local(var.index));
            return Ok(&local.name);
        }
        if let Some(local) = local {
            return Err(hidden("variable", &local.name));
        }
        let name = self.tables.global(var, self.place())?;
        self.is_shown("variable", name)?;
        mentions.push(Dependency::Global(var.index));
        Ok(name)
    }

    fn label(&self, label: CodeLabel, mentions: &mut Vec<Dependency>) -> Result<&str, BuildError> {
        let body = self.body.filter(|b| b.owner == label.owner);
        let Some(info) = body.and_then(|b| b.labels.get(label.index as usize)) else {
            let past = &self.tables.past;
            return Err(past.refuse(Handle::Label(label), self.place()));
        };
        if !body.is_some_and(|b| b.reaches(info)) {
            return Err(hidden("label", &info.name));
        }
        if info.place.is_none() && self.tables.names.contains(&info.name) {
            return Err(early(&info.name));
        }
        mentions.push(Dependency::Label(label.index));
        Ok(&info.name)
    }
}

const DEPTH: usize = 64;

pub(crate) fn write_init(
    init: &Init,
    scope: &Scope<'_>,
    out: &mut String,
    mentions: &mut Vec<Dependency>,
    depth: usize,
) -> Result<(), BuildError> {
    if depth > DEPTH {
        return Err(BuildError::new(
            BuildErrorKind::Argument,
            format!("initial values nest deeper than {DEPTH} lists"),
            "a list holds one list for each dimension of the array",
        ));
    }
    let offset = |out: &mut String, offset: i64| {
        if offset != 0 {
            let _ = write!(out, "+{offset}");
        }
    };
    let _ = match init {
        Init::Int(n) => write!(out, "{n}"),
        Init::Unsigned(n) => write!(out, "{n}"),
        Init::F32(x) => write!(out, "0f{:08X}", x.to_bits()),
        Init::F64(x) => write!(out, "0d{:016X}", x.to_bits()),
        Init::Constant(text) => {
            out.push_str(Number::from(text.as_str()).text()?);
            Ok(())
        }
        Init::Text(text) => write!(out, "{}", lexical::string(text)?),
        Init::Address(var, n) => {
            out.push_str(scope.var(*var, mentions)?);
            offset(out, *n);
            Ok(())
        }
        Init::Generic(var, n) => {
            let _ = write!(out, "generic({})", scope.var(*var, mentions)?);
            offset(out, *n);
            Ok(())
        }
        Init::Function(func) => {
            let known = scope.tables.func(*func, scope.place())?;
            let name = &known.name;
            if scope
                .body
                .is_some_and(|b| !b.knows(func.index, known.written))
            {
                return Err(later(name));
            }
            if scope.body.is_some_and(|b| b.shadows(name, func.index)) {
                return Err(hidden("function", name));
            }
            mentions.push(Dependency::Func(func.index));
            write!(out, "{name}")
        }
        Init::Label(label) => write!(out, "{}", scope.label(*label, mentions)?),
        Init::Plus(base, number) => {
            write_init(base, scope, out, mentions, depth + 1)?;
            write!(out, "+{}", number.text()?)
        }
        Init::Masked(mask, of) => {
            let _ = write!(out, "{}(", mask.text()?);
            write_init(of, scope, out, mentions, depth + 1)?;
            out.push(')');
            Ok(())
        }
        Init::Field(name, value) => {
            lexical::name(name)?;
            match lexical::is_constant(value) {
                true => {}
                false => lexical::name(value)?,
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
                write_init(part, scope, out, mentions, depth + 1)?;
            }
            out.push('}');
            Ok(())
        }
    };
    Ok(())
}
