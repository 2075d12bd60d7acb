//! Source lines that name the PTX file itself.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::Rewriting;
use ptx_ir::raw::TextPatches;
use ptx_ir::{Item, LineIndex, Module, Rewritten, Span, Statement};
use ptx_isa::Directive;

use crate::debug;
use crate::printed::rewrite;

/// The number of the only file.
const FILE: u32 = 1;

/// Replaces the debug information of a module: afterwards the source line of each instruction is its line in the PTX file, which `file` names, so
/// that profilers and debuggers show PTX. The number and the contents of lines stay the same, except that `.loc` and `.file` directives and debug
/// sections become empty, `.loc` directives precede instructions in their lines, and a last line has the `.file` directive.
///
/// The time is linear in the size of the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t.loc 1 2 3\n\tret;\n}\n.file 1 \"a.cu\"\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = ptx_transform::line_info(&module, "k.ptx");
/// let expected = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t\n\t.loc 1 6 2 ret;\n}\n\n.file 1 \"k.ptx\"\n";
/// assert_eq!(new.text(), expected.as_bytes());
/// ```
#[must_use]
pub fn line_info(module: &Module, file: &str) -> Rewriting {
    rewrite(module, |module| line_info_text(module, file))
}

/// [`line_info`] of a module whose source is its text.
fn line_info_text(module: &Module, file: &str) -> Rewritten {
    let source = module.source();
    let lines = LineIndex::new(source);
    let mut patches = TextPatches::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Section(section) => {
                let section = module.sections().get(section);
                if section.is_some_and(|s| module.name_bytes(s.name).starts_with(b".debug_")) {
                    remove_text(source, span, &mut patches);
                }
            }
            Item::Directive(_) => match module.directive(item) {
                Some(directive) if directive.is_debug() => remove_text(source, span, &mut patches),
                Some(Directive::Target) => {
                    if let Some(option) = debug::target_option(source, span) {
                        remove_text(source, option, &mut patches);
                    }
                }
                _ => {}
            },
            Item::Function(function) => {
                let Some(body) = module.body(function) else {
                    continue;
                };
                let mut last_line = 0;
                for (id, statement) in body.statements() {
                    let span = body.source_span(id);
                    if body.directive(statement).is_some_and(Directive::is_debug) {
                        remove_text(source, span, &mut patches);
                    }
                    let place = lines.position(span.start);
                    if matches!(statement, Statement::Inst(_)) && place.line != last_line {
                        last_line = place.line;
                        let (line, column) = (place.line, place.column);
                        patches.insert(span.start, format!(".loc {FILE} {line} {column} "));
                    }
                }
            }
            _ => {}
        }
    }
    let end = source.len() as u32;
    let newline = if source.ends_with(b"\n") { "" } else { "\n" };
    let file = quoted(file);
    patches.insert(end, format!("{newline}.file {FILE} \"{file}\"\n"));
    patches.apply(source)
}

/// Removes a text but not its line ends.
fn remove_text(source: &[u8], span: Span, patches: &mut TextPatches) {
    let ends: Vec<u8> = span
        .of(source)
        .iter()
        .copied()
        .filter(|byte| *byte == b'\n')
        .collect();
    patches.replace(span, ends);
}

/// A path without characters that would end the string or the line.
fn quoted(path: &str) -> String {
    path.chars()
        .map(|c| if c.is_control() || c == '"' { '_' } else { c })
        .collect::<String>()
        .replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::line_info;

    #[test]
    fn lines_stay() {
        let text = "// head\n.version 8.0\n.target sm_80, debug\n.file 1 \"a.cu\"\n.entry k()\n{\n.reg .pred %p;\n.reg .b32 %r<2>;\n\
            .loc 1 5 0\nL: @%p bra L; mov.b32 %r1, 0;\n/* c */ ret; }\n.section .debug_info\n{\n.b8 0\n}";
        let module = ptx_parse::parse_str(text).module;
        let new = line_info(&module, "a \"b\"\\k.ptx");
        let expected = "// head\n.version 8.0\n.target sm_80\n\n.entry k()\n{\n.reg .pred %p;\n.reg .b32 %r<2>;\n\n\
            L: .loc 1 10 4 @%p bra L; mov.b32 %r1, 0;\n/* c */ .loc 1 11 9 ret; }\n\n\n\n\n.file 1 \"a _b_/k.ptx\"\n";
        assert_eq!(
            core::str::from_utf8(new.text()).unwrap_or_default(),
            expected
        );
        let count = |text: &[u8]| text.iter().filter(|b| **b == b'\n').count();
        assert_eq!(count(new.text()), count(text.as_bytes()) + 2);
    }
}
