//! Declarations of variables, registers and parameters, with their initial values.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Code, Linkage};
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::error::{BuildError, BuildErrorKind, no_variables};
use crate::handle::{CodeLabel, Func, Variable};
use crate::lexical::{self, ends_with_digit};
use crate::number::Number;

/// A name of a declaration with what follows it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) count: Option<Number>,
    /// `None` is an array without its size.
    pub(crate) dims: Vec<Option<Number>>,
    pub(crate) init: Option<Init>,
}

impl Name {
    fn new(text: &str) -> Self {
        Self {
            text: String::from(text),
            count: None,
            dims: Vec::new(),
            init: None,
        }
    }

    pub(crate) fn write(&self, name: &str, out: &mut String) -> Result<(), BuildError> {
        out.push_str(name);
        for dim in &self.dims {
            let dim = dim.as_ref().map_or(Ok(""), Number::text)?;
            let _ = write!(out, "[{dim}]");
        }
        Ok(())
    }

    /// The names that it declares: itself, or those of its range.
    pub(crate) fn members(&self) -> Result<Vec<String>, BuildError> {
        let Some(count) = &self.count else {
            return Ok(vec![self.text.clone()]);
        };
        if ends_with_digit(&self.text) {
            return Ok(Vec::new());
        }
        match count.value() {
            Some(n) if n <= MOST_MEMBERS => {
                Ok((0..n).map(|i| format!("{}{i}", self.text)).collect())
            }
            _ => {
                let text = count.text()?;
                let message = format!(
                    "`{}<{text}>` are more variables than the {MOST_MEMBERS} that one range may have here",
                    self.text
                );
                let help = "declare an array, or several ranges";
                BuildErrorKind::Argument.refuse(Code::BadCount, message, help)
            }
        }
    }
}

/// The largest number of handles of one range.
pub(crate) const MOST_MEMBERS: u64 = 1 << 16;

/// An attribute of a variable or a function. Manual 5.4.8, 11.5.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DeclarationAttribute {
    /// `.managed`: a variable in memory that host and device share.
    Managed,
    /// `.unified(a, b)`: one address for host and device, with the two halves of its identifier.
    Unified(Number, Number),
}

/// Writes the attributes of a declaration with their directive, if there are any.
pub(crate) fn write_attributes(
    attributes: &[DeclarationAttribute],
    out: &mut String,
) -> Result<(), BuildError> {
    for (index, attribute) in attributes.iter().enumerate() {
        if index == 0 {
            let _ = write!(out, "{}(", Directive::Attribute);
        } else {
            out.push_str(", ");
        }
        let _ = match attribute {
            DeclarationAttribute::Managed => write!(out, ".managed"),
            DeclarationAttribute::Unified(first, second) => {
                write!(out, ".unified({}, {})", first.text()?, second.text()?)
            }
        };
    }
    if !attributes.is_empty() {
        out.push_str(") ");
    }
    Ok(())
}

/// Variables, registers or a parameter, to be declared by a [module](crate::ModuleBuilder::declare), a
/// [function](crate::FunctionBuilder::declare) or as a [parameter](crate::FunctionBuilder::param).
///
/// ```
/// use ptx_build::{Declaration, Init};
/// use ptx_isa::{ScalarType, StateSpace};
/// let table = Declaration::new(StateSpace::Const, ScalarType::S32, "table")
///     .align(16)
///     .array([4])
///     .init(Init::List((0..4).map(Init::Int).collect()));
/// // `.global .b32 a, b[2];`: dimensions, a range or an initial value belong to the last name.
/// let two = Declaration::new(StateSpace::Global, ScalarType::B32, "a").and("b").array([2]);
/// # let _ = (table, two);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    pub(crate) space: StateSpace,
    pub(crate) ty: ScalarType,
    pub(crate) align: Option<Number>,
    vector: u8,
    linkage: Option<Linkage>,
    attributes: Vec<DeclarationAttribute>,
    pointer: Option<Pointer>,
    trailing_align: Option<Number>,
    hidden: bool,
    has_names: bool,
    first: Name,
    additional_names: Vec<Name>,
}

/// The memory that a parameter of a kernel points to.
#[derive(Clone, PartialEq, Default, Debug)]
struct Pointer {
    /// The text of its space or opaque type; empty for a generic pointer.
    target: &'static str,
    align: Option<Number>,
}

impl Declaration {
    /// A scalar without an initial value.
    #[must_use]
    pub fn new(space: StateSpace, ty: ScalarType, name: &str) -> Self {
        Self {
            space,
            ty,
            align: None,
            vector: 1,
            linkage: None,
            attributes: Vec::new(),
            pointer: None,
            trailing_align: None,
            hidden: false,
            has_names: true,
            first: Name::new(name),
            additional_names: Vec::new(),
        }
    }

    /// A declaration without a name, `.global .b32 ;`, which declares nothing.
    #[must_use]
    pub fn nothing(space: StateSpace, ty: ScalarType) -> Self {
        Self {
            has_names: false,
            ..Self::new(space, ty, "_")
        }
    }

    /// Another name in the same declaration.
    #[must_use]
    pub fn and(mut self, name: &str) -> Self {
        self.additional_names.push(Name::new(name));
        self
    }

    fn last(&mut self) -> &mut Name {
        self.additional_names.last_mut().unwrap_or(&mut self.first)
    }

    /// Sets the alignment in bytes.
    #[must_use]
    pub fn align(mut self, bytes: impl Into<Number>) -> Self {
        self.align = Some(bytes.into());
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
        let dims = dims.into_iter().map(|n| Some(n.into()));
        self.last().dims.extend(dims);
        self
    }

    /// An array whose (outermost) size is not written: of the initial values, of another module, or of a call.
    #[must_use]
    pub fn unsized_array(mut self) -> Self {
        self.last().dims.insert(0, None);
        self
    }

    /// One more dimension, the innermost so far.
    #[must_use]
    pub fn dimension(mut self, size: impl Into<Number>) -> Self {
        self.last().dims.push(Some(size.into()));
        self
    }

    /// `.extern`, `.visible`, `.weak` or `.common`.
    #[must_use]
    pub fn linkage(mut self, linkage: Linkage) -> Self {
        self.linkage = Some(linkage);
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: DeclarationAttribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Declares a range of this many variables or registers: `name0`, `name1`, …
    #[must_use]
    pub fn range(mut self, count: impl Into<Number>) -> Self {
        self.last().count = Some(count.into());
        self
    }

    /// A parameter of a kernel that points to a space (generic without one), to memory so aligned. Manual 4.4.2.
    #[must_use]
    pub fn pointer(mut self, space: Option<StateSpace>, align: Option<u32>) -> Self {
        self.pointer = Some(Pointer {
            target: space.map_or("", StateSpace::text),
            align: align.map(Number::from),
        });
        self
    }

    /// A parameter of a kernel that points to a texture, a sampler or a surface, with an alignment in its own spelling.
    #[must_use]
    pub fn pointer_to(mut self, ty: ScalarType, align: Option<Number>) -> Self {
        self.pointer = Some(Pointer {
            target: ty.text(),
            align,
        });
        self
    }

    /// Sets the alignment of the memory that a [pointer](Self::pointer) points to, in its own spelling.
    #[must_use]
    pub fn pointer_align(mut self, bytes: impl Into<Number>) -> Self {
        self.pointer.get_or_insert_default().align = Some(bytes.into());
        self
    }

    /// An alignment after the type of a kernel parameter, which some compilers write and ptxas ignores.
    #[must_use]
    pub fn trailing_align(mut self, bytes: impl Into<Number>) -> Self {
        self.trailing_align = Some(bytes.into());
        self
    }

    /// Marks a kernel parameter that a compiler adds with `.hidden`.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// The initial value.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.last().init = Some(init);
        self
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> + '_ {
        let first = self.has_names.then_some(&self.first);
        first.into_iter().chain(&self.additional_names)
    }

    pub(crate) fn name(&self) -> &str {
        &self.first.text
    }

    /// Refuses a declaration without names.
    pub(crate) fn check_members(&self) -> Result<(), BuildError> {
        if let Some(count) = &self.first.count
            && self.first.members()?.is_empty()
        {
            let name = &self.first.text;
            return Err(no_variables(&format!("{name}<{}>", count.text()?)));
        }
        Ok(())
    }

    /// Whether a name is declared as it is, not as a member of a range.
    pub(crate) fn is_plain(&self, name: &str) -> bool {
        self.names().any(|n| n.count.is_none() && n.text == name)
    }

    pub(crate) fn dims(&self) -> &[Option<Number>] {
        &self.first.dims
    }

    pub(crate) fn write_head(&self, out: &mut String) -> Result<(), BuildError> {
        if let Some(linkage) = self.linkage {
            out.push_str(linkage_text(linkage));
            out.push(' ');
        }
        if self.hidden {
            let _ = write!(out, "{} ", Directive::Hidden);
        }
        let _ = write!(out, "{} ", self.space.text());
        write_attributes(&self.attributes, out)?;
        if let Some(align) = &self.align {
            let _ = write!(out, "{} {} ", Directive::Align, align.text()?);
        }
        if self.vector != 1 {
            let _ = write!(out, ".v{} ", self.vector);
        }
        let _ = write!(out, "{}", self.ty);
        if let Some(Pointer { target, align }) = &self.pointer {
            let _ = write!(out, " {}", Directive::Ptr);
            if !target.is_empty() {
                let _ = write!(out, " {target}");
            }
            if let Some(align) = align {
                let _ = write!(out, " {} {}", Directive::Align, align.text()?);
            }
        }
        if let Some(align) = &self.trailing_align {
            let _ = write!(out, " {} {}", Directive::Align, align.text()?);
        }
        out.push(' ');
        Ok(())
    }

    fn declarator_text(&self, name: &Name, text: &str) -> Result<String, BuildError> {
        let mut out = String::new();
        self.write_head(&mut out)?;
        name.write(text, &mut out)?;
        Ok(out)
    }

    /// The text in a parameter list.
    pub(crate) fn parameter(&self) -> Result<String, BuildError> {
        if self.first.text != "_" {
            lexical::name(&self.first.text)?;
        }
        let refused = [
            (self.linkage.is_some(), "a linkage", Code::Linkage),
            (
                self.first.count.is_some() || !self.additional_names.is_empty(),
                "several names",
                Code::Parameter,
            ),
            (
                self.first.init.is_some(),
                "an initial value",
                Code::InitialPlace,
            ),
        ];
        if let Some((_, part, code)) = refused.into_iter().find(|r| r.0) {
            let message = format!("the parameter `{}` has {part}", self.first.text);
            let help = "a parameter has a space, a type, a name, and at most an alignment and one dimension";
            return Err(BuildError::new(BuildErrorKind::Argument, message, help).with_code(code));
        }
        self.declarator_text(&self.first, &self.first.text)
    }

    pub(crate) fn unnamed(&self) -> Self {
        let mut unnamed = self.clone();
        unnamed.rename("_");
        unnamed
    }

    pub(crate) fn rename(&mut self, name: &str) {
        self.first.text = String::from(name);
    }

    /// A member of one of its names as a statement, without its initial value.
    pub(crate) fn bare(&self, name: &Name, member: &str) -> Result<String, BuildError> {
        Ok(format!("{};", self.declarator_text(name, member)?))
    }

    /// The size in bytes, if all dimensions are written.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let element = u64::from(self.ty.bits()).div_ceil(8) * u64::from(self.vector);
        self.first.dims.iter().try_fold(element, |bytes, dim| {
            bytes.checked_mul(dim.as_ref()?.value()?)
        })
    }

    pub(crate) fn is_array(&self) -> bool {
        !self.first.dims.is_empty()
    }

    pub(crate) fn vector_len(&self) -> u8 {
        self.vector
    }
}

pub(crate) fn linkage_text(linkage: Linkage) -> &'static str {
    linkage.directive().text()
}

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
    /// The address of a variable plus an offset in bytes.
    Address(Variable, i64),
    /// The generic address of a variable plus an offset in bytes: `generic(a)+4`.
    Generic(Variable, i64),
    /// A function.
    Function(Func),
    /// The place of a label of the function.
    Label(CodeLabel),
    /// Another value plus an offset in bytes, which keeps its spelling: `a+0x10`.
    Plus(Box<Init>, Number),
    /// One byte of an address, shifted down: `0xFF00(a)`. Manual 5.4.4.
    Masked(Number, Box<Init>),
    /// A field of a sampler or texture: `addr_mode_0 = wrap`.
    Field(String, String),
    /// `{…}`
    List(Vec<Init>),
}
