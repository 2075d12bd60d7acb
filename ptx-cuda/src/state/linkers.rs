//! Links of several modules into one.

use super::Driver;
use super::images::{self, LoadError};
use super::prototypes::add_results;
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};
use ptx_edit::EditModule as _;
use ptx_ir::{FuncId, FunctionKind, Module, Operand};
use ptx_isa::Directive;
use ptx_transform::{LinkOptions, link};

/// A link in progress.
#[derive(Debug)]
pub(crate) struct Linker {
    /// The most registers of a thread, if an option limits them.
    register_limit: Option<u32>,
    /// The texts of the modules.
    texts: Vec<Vec<u8>>,
    /// The linked module, with a zero byte at the end.
    linked: Option<Vec<u8>>,
}

impl Linker {
    /// A link without inputs.
    pub(crate) fn new(register_limit: Option<u32>) -> Self {
        Self {
            register_limit,
            texts: Vec::new(),
            linked: None,
        }
    }
}

impl Kind for Linker {
    const NUMBER: usize = 7;
}

/// An input of a link.
#[derive(Debug)]
pub(crate) struct LinkInput {
    /// The number of the kind of code.
    pub(crate) kind: u32,
    pub(crate) bytes: Vec<u8>,
}

/// The number of libraries among the kinds of code.
const LIBRARY: u32 = 4;

impl Driver {
    /// Adds an input to a link.
    pub(crate) fn add_link_input(&mut self, linker: Raw, input: LinkInput) -> Outcome<()> {
        let target = self.config.target;
        let linker = self.linkers.get_mut(linker)?;
        match images::ptx_of(&input.bytes, target) {
            Ok(text) => linker.texts.push(text),
            // The driver provides the functions of the device runtime, which is such a library.
            Err(_) if input.kind == LIBRARY => {}
            Err(error) => return Err(printed(error)),
        }
        Ok(())
    }

    /// Links the inputs. The result, a text that ends with a zero byte, exists until the link is destroyed.
    pub(crate) fn complete_link(&mut self, linker: Raw) -> Outcome<&[u8]> {
        let target = self.config.target;
        let linker = self.linkers.get_mut(linker)?;
        let mut text = match &linker.texts[..] {
            [] => return Err(Status::INVALID_VALUE),
            [only] => only.clone(),
            several => linked(several, target).map_err(printed)?,
        };
        if let Some(limit) = linker.register_limit {
            text = with_register_limit(&text, limit, target).map_err(printed)?;
        }
        text.push(0);
        Ok(linker.linked.insert(text))
    }
}

/// The text of several modules as one.
pub(crate) fn linked(texts: &[Vec<u8>], target: ptx_isa::Target) -> Result<Vec<u8>, LoadError> {
    let modules: Result<Vec<_>, _> = texts
        .iter()
        .map(|text| images::parse(text, target))
        .collect();
    let mut modules = modules?;
    add_results(&mut modules);
    let references: Vec<_> = modules.iter().collect();
    match link(&references, &LinkOptions::default()) {
        Ok(linked) => Ok(linked.text().to_vec()),
        Err(error) => Err(LoadError::new(Status::INVALID_PTX, error.to_string())),
    }
}

/// The text of a module in which each kernel has a limit of registers: its own one, or this one.
fn with_register_limit(
    text: &[u8],
    limit: u32,
    target: ptx_isa::Target,
) -> Result<Vec<u8>, LoadError> {
    let mut module = images::parse(text, target)?;
    let kernels: Vec<_> = module
        .functions()
        .iter()
        .filter(|(_, function)| function.kind == FunctionKind::Entry)
        .filter(|(id, _)| directive_limit(&module, *id).is_none())
        .map(|(id, _)| id)
        .collect();
    let arguments = [Operand::Small(i32::try_from(limit).unwrap_or(i32::MAX))];
    for kernel in kernels {
        let mut editor = module.editor();
        let edited = editor.set_directive(kernel, Directive::Maxnreg, &arguments);
        edited.map_err(|error| LoadError::new(Status::INVALID_PTX, error.to_string()))?;
    }
    Ok(ptx_print::verbatim(&module))
}

/// The most registers of a thread that the directive `.maxnreg` of a kernel allows.
pub(crate) fn directive_limit(module: &Module, kernel: FuncId) -> Option<u32> {
    let directives = module.functions().get(kernel)?.interface.directives;
    let mut directives = directives.of(module.interface_directives()).iter();
    let limit = directives.find(|directive| directive.directive == Directive::Maxnreg)?;
    let argument = module.pool().slice(limit.args).first()?;
    u32::try_from(module.pool().integer(*argument)?).ok()
}

/// Prints the reason why code cannot be used, and returns its status.
fn printed(error: LoadError) -> Status {
    eprintln!("ptxkit: {error}");
    error.status
}
