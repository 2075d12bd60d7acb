//! Modules, functions and statements as values with `Display`.

use core::fmt;

use ptx_ir::{Body, FuncId, Module, StmtId};

use crate::{FmtSink, Style, write_canonical, write_canonical_function, write_canonical_statement};

/// A module or a part of it that prints in the canonical style. [`display`], [`display_function`] and
/// [`display_statement`] return it.
///
/// Bytes that are not UTF-8, which only comments can have, print as U+FFFD; [`canonical`](crate::canonical)
/// gives the exact bytes.
#[derive(Copy, Clone, Debug)]
pub struct Display<'m> {
    module: &'m Module,
    part: Part<'m>,
}

#[derive(Copy, Clone, Debug)]
enum Part<'m> {
    Module,
    Function(FuncId),
    Statement(&'m Body, StmtId),
}

/// A module, to be printed with `{}`.
///
/// ```
/// let module = ptx_parse::parse(b".version 8.0\n.target   sm_90\n").module;
/// assert_eq!(ptx_print::display(&module).to_string(), ".version 8.0\n.target sm_90\n");
/// ```
#[must_use]
pub fn display(module: &Module) -> Display<'_> {
    Display {
        module,
        part: Part::Module,
    }
}

/// A function without the comments before it, to be printed with `{}`.
#[must_use]
pub fn display_function(module: &Module, function: FuncId) -> Display<'_> {
    Display {
        module,
        part: Part::Function(function),
    }
}

/// A statement, such as an instruction, to be printed with `{}`.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.entry k()\n{\n    .reg .b32 %r<2>;\n    add.s32   %r0,%r1,1;\n}\n";
/// let module = ptx_parse::parse_str(text).into_result()?;
/// let (_, _, body) = module.definitions().next().expect("a kernel");
/// let (add, _) = body.statements().nth(1).expect("an addition");
/// let shown = ptx_print::display_statement(&module, body, add).to_string();
/// assert_eq!(shown, "add.s32 %r0, %r1, 1;");
/// # Ok::<(), ptx_parse::ParseError>(())
/// ```
#[must_use]
pub fn display_statement<'m>(module: &'m Module, body: &'m Body, statement: StmtId) -> Display<'m> {
    Display {
        module,
        part: Part::Statement(body, statement),
    }
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (module, style, sink) = (self.module, &Style::default(), &mut FmtSink(f));
        match self.part {
            Part::Module => write_canonical(module, style, sink),
            Part::Function(id) => write_canonical_function(module, id, style, sink),
            Part::Statement(body, id) => write_canonical_statement(module, body, id, style, sink),
        }
    }
}
