//! Removes comments and debug information.

use alloc::vec::Vec;

use ptx_ir::{Item, Module, Span, Statement};
use ptx_isa::Directive;

use crate::{Rewritten, Splices, debug, trivia};

/// Removes comments, line markers and debug information: `.loc`, `.file`, debug sections and the option `debug` of `.target`.
/// Lines that become empty are removed, too. Everything with another meaning stays, such as `.pragma`.
///
/// The time is linear in the size of the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80, debug // yes\n.file 1 \"a.cu\"\n.entry k()\n{\n\t.loc 1 2 3\n\tret; /* end */\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = ptx_transform::strip(&module);
/// assert_eq!(new.text, b".version 8.0\n.target sm_80\n.entry k()\n{\n\tret;\n}\n");
/// ```
#[must_use]
pub fn strip(module: &Module) -> Rewritten {
    let source = module.source();
    let mut pieces: Vec<Span> = Vec::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Section(s) => {
                let section = module.sections().get(s);
                if section.is_some_and(|s| module.name_bytes(s.name).starts_with(b".debug_")) {
                    pieces.push(span);
                }
            }
            Item::Directive(d) => match module.directives().get(d).map(|d| d.directive) {
                Some(Directive::File) => pieces.push(span),
                Some(Directive::Target) => pieces.extend(debug::target_option(source, span)),
                _ => {}
            },
            Item::Function(f) => {
                let Some(body) = module.body(f) else {
                    continue;
                };
                for (id, statement) in body.statements() {
                    if let Statement::Directive(d) = statement
                        && body.directives().get(d).map(|d| d.directive) == Some(Directive::Loc)
                    {
                        pieces.push(body.source_span(id));
                    }
                }
            }
            _ => {}
        }
    }
    let mut splices = Splices::new();
    trivia::without(source, &pieces, &mut splices);
    splices.apply(source)
}
