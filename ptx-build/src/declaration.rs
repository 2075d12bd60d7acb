//! Variables and parameters, as they are declared.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::Linkage;
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::error::Error;
use crate::module::Tables;
use crate::operand::{Func, Var};
use crate::spelling;

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
    Address(Var, i64),
    /// The generic address of a variable, so many bytes behind it: `generic(a)+4`.
    Generic(Var, i64),
    /// A function.
    Function(Func),
    /// Some bytes of an address: `0xFF00(a)`.
    Masked(u64, Var),
    /// A field of a sampler or texture: `addr_mode_0 = wrap`.
    Field(String, String),
    /// `{…}`
    List(Vec<Init>),
}

/// A variable or a parameter, to be declared by a [module](crate::ModuleBuilder::declare), a
/// [function](crate::FunctionBuilder::declare) or as a [parameter](crate::FunctionBuilder::param).
///
/// ```
/// use ptx_build::{Declaration, Init};
/// use ptx_isa::{ScalarType, StateSpace};
/// let table = Declaration::new(StateSpace::Const, ScalarType::S32, "table")
///     .align(16)
///     .array([4])
///     .init(Init::List((0..4).map(Init::Int).collect()));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    pub(crate) space: StateSpace,
    pub(crate) ty: ScalarType,
    pub(crate) name: String,
    pub(crate) align: Option<u32>,
    vector: u8,
    /// `None` is an array without its size.
    pub(crate) dims: Vec<Option<u64>>,
    linkage: Option<Linkage>,
    attributes: Vec<String>,
    count: Option<u32>,
    pointer: Option<(String, Option<u32>)>,
    init: Option<Init>,
}

impl Declaration {
    /// A scalar without an initial value.
    pub fn new(space: StateSpace, ty: ScalarType, name: &str) -> Self {
        Self {
            space,
            ty,
            name: String::from(name),
            align: None,
            vector: 1,
            dims: Vec::new(),
            linkage: None,
            attributes: Vec::new(),
            count: None,
            pointer: None,
            init: None,
        }
    }

    /// Aligned to so many bytes.
    #[must_use]
    pub fn align(mut self, bytes: u32) -> Self {
        self.align = Some(bytes);
        self
    }

    /// A vector of 2 or 4 elements.
    #[must_use]
    pub fn vector(mut self, elements: u8) -> Self {
        self.vector = elements;
        self
    }

    /// An array of these dimensions, outermost first.
    #[must_use]
    pub fn array(mut self, dims: impl IntoIterator<Item = u64>) -> Self {
        self.dims.extend(dims.into_iter().map(Some));
        self
    }

    /// An array whose (outermost) size is not written: of the initial values, of another module, or of a call.
    #[must_use]
    pub fn unsized_array(mut self) -> Self {
        self.dims.insert(0, None);
        self
    }

    /// `.extern`, `.visible`, `.weak` or `.common`.
    #[must_use]
    pub fn linkage(mut self, linkage: Linkage) -> Self {
        self.linkage = Some(linkage);
        self
    }

    /// An attribute as it is written: `.managed`, `.unified(1, 2)`.
    #[must_use]
    pub fn attribute(mut self, attribute: &str) -> Self {
        self.attributes.push(String::from(attribute));
        self
    }

    /// So many variables, or registers, `name0`, `name1`, …
    #[must_use]
    pub fn range(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }

    /// A parameter of a kernel that points to a space (generic without one), to memory so aligned. Manual 4.4.2.
    #[must_use]
    pub fn pointer(mut self, space: Option<StateSpace>, align: Option<u32>) -> Self {
        let space = space.map_or("", StateSpace::text);
        self.pointer = Some((String::from(space), align));
        self
    }

    /// Its initial value.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.init = Some(init);
        self
    }

    fn head(&self, name: &str) -> String {
        let mut out = String::new();
        if let Some(linkage) = self.linkage {
            out.push_str(linkage_text(linkage));
            out.push(' ');
        }
        let _ = write!(out, "{} ", self.space.text());
        if !self.attributes.is_empty() {
            let all = self.attributes.join(", ");
            let _ = write!(out, "{}({all}) ", Directive::Attribute);
        }
        if let Some(align) = self.align {
            let _ = write!(out, "{} {align} ", Directive::Align);
        }
        if self.vector != 1 {
            let _ = write!(out, ".v{} ", self.vector);
        }
        let _ = write!(out, "{}", self.ty);
        if let Some((space, align)) = &self.pointer {
            let _ = write!(out, " {}", Directive::Ptr);
            if !space.is_empty() {
                let _ = write!(out, " {space}");
            }
            if let Some(align) = align {
                let _ = write!(out, " {} {align}", Directive::Align);
            }
        }
        let _ = write!(out, " {name}");
        if let Some(count) = self.count {
            let _ = write!(out, "<{count}>");
        }
        for dim in &self.dims {
            match dim {
                Some(n) => {
                    let _ = write!(out, "[{n}]");
                }
                None => out.push_str("[]"),
            }
        }
        out
    }

    /// What stands in a list of parameters.
    pub(crate) fn parameter(&self) -> String {
        self.head(&self.name)
    }

    /// The same without a name: what a caller sees of it.
    pub(crate) fn nameless(&self) -> String {
        self.head("_")
    }

    /// The statement.
    pub(crate) fn statement(&self, tables: &Tables) -> Result<String, Error> {
        let mut out = self.head(&self.name);
        if let Some(init) = &self.init {
            out.push_str(" = ");
            write_init(init, tables, &mut out, 0)?;
        }
        out.push(';');
        Ok(out)
    }

    /// The statement without its initial value.
    pub(crate) fn bare(&self) -> String {
        format!("{};", self.head(&self.name))
    }

    /// How many bytes it takes, if that is written.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let element = u64::from(self.ty.bits()).div_ceil(8) * u64::from(self.vector);
        let mut dims = self.dims.iter();
        dims.try_fold(element, |bytes, dim| bytes.checked_mul((*dim)?))
    }

    pub(crate) fn is_array(&self) -> bool {
        !self.dims.is_empty()
    }

    pub(crate) fn vector_len(&self) -> u8 {
        self.vector
    }
}

pub(crate) fn linkage_text(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Extern => Directive::Extern.text(),
        Linkage::Visible => Directive::Visible.text(),
        Linkage::Weak => Directive::Weak.text(),
        Linkage::Common => Directive::Common.text(),
    }
}

const DEPTH: usize = 64;

fn write_init(init: &Init, tables: &Tables, out: &mut String, depth: usize) -> Result<(), Error> {
    use crate::error::Kind;
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
        Init::Constant(text) if spelling::is_constant(text) => write!(out, "{text}"),
        Init::Constant(text) => {
            let message = format!("`{text}` is no constant");
            return Err(Error::new(Kind::Spelling, message));
        }
        Init::Text(text) => write!(out, "{}", spelling::string(text)?),
        Init::Address(var, n) => {
            out.push_str(tables.global(*var)?);
            offset(out, *n);
            Ok(())
        }
        Init::Generic(var, n) => {
            let _ = write!(out, "generic({})", tables.global(*var)?);
            offset(out, *n);
            Ok(())
        }
        Init::Function(func) => write!(out, "{}", tables.func(*func)?.name),
        Init::Masked(mask, var) => write!(out, "0x{mask:X}({})", tables.global(*var)?),
        Init::Field(name, value) => {
            spelling::name(name)?;
            match spelling::is_constant(value) {
                true => {}
                false => spelling::name(value)?,
            }
            write!(out, "{name} = {value}")
        }
        Init::List(parts) if depth < DEPTH => {
            out.push('{');
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    // As the canonical style has it.
                    out.push_str(if i % 16 == 0 { ",\n\t" } else { ", " });
                }
                write_init(part, tables, out, depth + 1)?;
            }
            out.push('}');
            Ok(())
        }
        Init::List(_) => {
            let message = "initial values nest too deep".into();
            return Err(Error::new(Kind::Spelling, message));
        }
    };
    Ok(())
}
