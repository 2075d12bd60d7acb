//! Headers of functions.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Code, FunctionKind, Linkage};
use ptx_isa::Directive;
use ptx_isa::internals::{DirectivePosition, Ending};

use crate::declaration::{Declaration, DeclarationAttribute, linkage_text, write_attributes};
use crate::error::{BuildError, BuildErrorKind};
use crate::lexical;
use crate::number::Number;

/// The header of a function or kernel: linkage, attributes, results, parameters, directives.
///
/// ```
/// # use ptx_build::{Declaration, FunctionHeader, ModuleBuilder};
/// # use ptx_ir::{FunctionKind, Linkage};
/// # use ptx_isa::{Directive, PtxVersion, ScalarType as T, StateSpace, Target};
/// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
/// let fail = FunctionHeader::new()
///     .linkage(Linkage::Extern)
///     .param(Declaration::new(StateSpace::Param, T::B32, "code"))
///     .directive(Directive::Noreturn, &[]);
/// m.declare_function(FunctionKind::Func, "fail", fail)?;
/// # Ok::<(), ptx_build::BuildError>(())
/// ```
#[derive(Clone, PartialEq, Default, Debug)]
pub struct FunctionHeader {
    pub(crate) linkage: Option<Linkage>,
    pub(crate) attributes: Vec<DeclarationAttribute>,
    pub(crate) returns: Vec<Declaration>,
    pub(crate) params: Vec<Declaration>,
    pub(crate) directives: Vec<Result<String, BuildError>>,
    pub(crate) empty_returns: bool,
    pub(crate) no_params: bool,
}

impl FunctionHeader {
    /// A function without parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `.extern`, `.visible`, `.weak` or `.common`.
    #[must_use]
    pub fn linkage(mut self, linkage: Linkage) -> Self {
        self.linkage = Some(linkage);
        self
    }

    /// Adds an attribute, such as [`DeclarationAttribute::Unified`].
    #[must_use]
    pub fn attribute(mut self, attribute: DeclarationAttribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Adds a result, in the space `.param` or `.reg`; one named `_` has no name.
    #[must_use]
    pub fn result(mut self, declaration: Declaration) -> Self {
        self.returns.push(declaration);
        self
    }

    /// Adds a parameter, in the space `.param` or `.reg`; one named `_` has no name.
    #[must_use]
    pub fn param(mut self, declaration: Declaration) -> Self {
        self.params.push(declaration);
        self
    }

    /// Adds a directive between parameters and body, such as `.maxntid`, with its numbers.
    #[must_use]
    pub fn directive(mut self, directive: Directive, numbers: &[Number]) -> Self {
        self.add_directive(directive, numbers);
        self
    }

    /// Adds `.pragma "…";` between parameters and body.
    #[must_use]
    pub fn pragma(mut self, texts: &[&str]) -> Self {
        self.directives.push(pragma(texts));
        self
    }

    /// Writes `()` where there are no results.
    #[must_use]
    pub fn with_empty_results(mut self) -> Self {
        self.empty_returns = true;
        self
    }

    /// Writes nothing, not `()`, where there are no parameters.
    #[must_use]
    pub fn without_parameter_list(mut self) -> Self {
        self.no_params = true;
        self
    }

    pub(crate) fn add_directive(&mut self, directive: Directive, numbers: &[Number]) {
        self.directives.push(directive_text(directive, numbers));
    }

    /// The results and parameters alone, which are all that a caller has to know.
    pub(crate) fn shape(&self) -> Self {
        Self {
            returns: self.returns.clone(),
            params: self.params.clone(),
            ..Self::default()
        }
    }

    /// The header with one name for all parameters that have one.
    pub(crate) fn unnamed(&self) -> Self {
        let mut unnamed = self.clone();
        for declaration in unnamed.returns.iter_mut().chain(&mut unnamed.params) {
            if declaration.name() != "_" {
                declaration.rename("p");
            }
        }
        unnamed
    }

    /// The text before the body; each parameter on a separate line.
    pub(crate) fn header(&self, kind: FunctionKind, name: &str) -> Result<String, BuildError> {
        let mut out = String::new();
        if let Some(linkage) = self.linkage {
            let _ = write!(out, "{} ", linkage_text(linkage));
        }
        let _ = match kind {
            FunctionKind::Entry => write!(out, "{} ", Directive::Entry),
            FunctionKind::Func => write!(out, "{} ", Directive::Func),
        };
        if kind == FunctionKind::Entry && !self.attributes.is_empty() {
            let message = format!("the kernel `{name}` has attributes");
            let help = "attributes are for functions and variables";
            return BuildErrorKind::Argument.refuse(Code::Attribute, message, help);
        }
        write_attributes(&self.attributes, &mut out)?;
        self.write_returns(&mut out)?;
        out.push_str(name);
        if !self.params.is_empty() {
            let _ = write!(out, "(\n\t{}\n)", list(&self.params, ",\n\t")?);
        } else if !self.no_params {
            out.push_str("()");
        }
        self.write_directives('\n', &mut out)?;
        Ok(out)
    }

    /// The text of a `.callprototype`.
    pub(crate) fn prototype(&self) -> Result<String, BuildError> {
        let mut out = format!("{} ", Directive::Callprototype);
        self.write_returns(&mut out)?;
        out.push('_');
        if !self.params.is_empty() || !self.no_params {
            let _ = write!(out, " ({})", list(&self.params, ", ")?);
        }
        self.write_directives(' ', &mut out)?;
        out.push(';');
        Ok(out)
    }

    fn write_returns(&self, out: &mut String) -> Result<(), BuildError> {
        if !self.returns.is_empty() || self.empty_returns {
            let _ = write!(out, "({}) ", list(&self.returns, ", ")?);
        }
        Ok(())
    }

    fn write_directives(&self, separator: char, out: &mut String) -> Result<(), BuildError> {
        for directive in &self.directives {
            out.push(separator);
            out.push_str(directive.as_ref().map_err(Clone::clone)?);
        }
        Ok(())
    }
}

fn list(declarations: &[Declaration], separator: &str) -> Result<String, BuildError> {
    let parameters: Result<Vec<String>, BuildError> =
        declarations.iter().map(Declaration::parameter).collect();
    Ok(parameters?.join(separator))
}

/// `.pragma "…", "…";`
pub(crate) fn pragma(texts: &[&str]) -> Result<String, BuildError> {
    let texts: Result<Vec<String>, BuildError> = texts.iter().map(|t| lexical::string(t)).collect();
    Ok(format!("{} {};", Directive::Pragma, texts?.join(", ")))
}

fn directive_text(directive: Directive, numbers: &[Number]) -> Result<String, BuildError> {
    let mut places = [
        DirectivePosition::Entry,
        DirectivePosition::Func,
        DirectivePosition::Prototype,
    ]
    .into_iter();
    let counts = directive
        .integers()
        .filter(|_| places.any(|p| directive.is_allowed_in(p)));
    let Some((least, most)) = counts else {
        let help = "a header takes directives with numbers, such as `.maxntid`; a pragma has a separate method";
        let message = format!("`{directive}` is not allowed in a header");
        return BuildErrorKind::Argument.refuse(Code::MisplacedDirective, message, help);
    };
    if !(usize::from(least)..=usize::from(most)).contains(&numbers.len()) {
        let message = format!("`{directive}` with {} numbers", numbers.len());
        let help = if least == most {
            format!("it takes {least}")
        } else {
            format!("it takes {least} to {most}")
        };
        return BuildErrorKind::Argument.refuse(Code::DirectiveValue, message, help);
    }
    let mut out = directive.text().to_string();
    for (i, number) in numbers.iter().enumerate() {
        out.push_str(if i == 0 { " " } else { ", " });
        out.push_str(number.text()?);
    }
    if directive.ending() == Ending::Semicolon {
        out.push(';');
    }
    Ok(out)
}
