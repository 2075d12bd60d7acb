//! One module from several.

mod assemble;
mod compat;
mod emit;
mod files;
mod header;
mod order;
mod shared_symbols;
mod uniquify;
mod variable;

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::OffsetMap;
use ptx_ir::{Diagnostic, Module, Severity, Span};

/// What [`link`] does beside putting modules together.
#[derive(Copy, Clone, Default, Debug)]
pub struct LinkOptions<'a> {
    /// Names that nothing outside the result needs: their `.visible` is taken away, so that the assembler may inline such
    /// functions and leave out what is not used.
    pub hide: &'a [&'a str],
}

/// Modules put together.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The text of the one module.
    pub text: Vec<u8>,
    /// For each module, from its source to the text.
    pub maps: Vec<OffsetMap>,
    /// What should be known; all of it warnings.
    pub notes: Vec<LinkDiagnostic>,
}

/// Something about one of several modules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkDiagnostic {
    /// Which module, counted from 0: the spans are places in its source.
    pub input: usize,
    /// What there is to say.
    pub diagnostic: Diagnostic,
    /// Places in other modules.
    pub elsewhere: Vec<Elsewhere>,
}

/// A place in another module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// Which module, counted from 0.
    pub input: usize,
    /// The place in its source.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// Puts modules together that were read without errors. Manual 11.6.
///
/// * The header has the highest version and the one target that has what all others ask for.
/// * `.extern` declarations go where another module defines the name; a `.weak` definition goes where there is a strong one, or
///   where another weak one came first; of `.common` variables the largest stays, with the largest alignment.
/// * Two strong definitions, and declarations that mean different things, are errors that name both places.
/// * What has no linkage is private to its module: where several modules have such a name, all but one get another
///   (`name$2` in the second module). Labels that would hide behind names of another module are renamed as well.
/// * Numbers of `.file` are made unique. Debug sections stay where only one module has any; else only what `.loc` needs.
/// * The order of each module stays, and everything is declared before it is used. Comments stay, except those right above a
///   definition that goes. What is nowhere defined remains external.
///
/// The cost is linear in the text.
///
/// ```
/// let a = b".version 7.8\n.target sm_80\n.address_size 64\n.extern .func f();\n.visible .entry k() { call f; ret; }\n";
/// let b = b".version 8.0\n.target sm_90\n.address_size 64\n// the one\n.visible .func f() { ret; }\n";
/// let (a, b) = (ptx_parse::parse(a).module, ptx_parse::parse(b).module);
/// let linked = ptx_transform::link(&[&a, &b], &Default::default()).expect("they go together");
/// assert_eq!(linked.text, b".version 8.0\n.target sm_90\n.address_size 64
/// // the one\n.visible .func f() { ret; }\n.visible .entry k() { call f; ret; }\n");
/// ```
///
/// # Errors
///
/// Everything that keeps the modules apart, with places in all modules concerned. Their codes are PTX1001 to PTX1005, those
/// of [`ptx_verify::verify`] for what is not legal under the new header, and PTX0901.
pub fn link(modules: &[&Module], options: &LinkOptions<'_>) -> Result<Linked, Vec<LinkDiagnostic>> {
    let mut found = Vec::new();
    let header = header::unite(modules, &mut found);
    compat::check(modules, &mut found);
    let errors =
        |all: &[LinkDiagnostic]| all.iter().any(|d| d.diagnostic.severity == Severity::Error);
    let Some(header) = header.filter(|_| !errors(&found)) else {
        return Err(found);
    };
    let unique = uniquify::prepare(modules, &mut found);
    if errors(&found) {
        return Err(found);
    }
    let renamed: Vec<&Module> = unique
        .iter()
        .zip(modules)
        .map(|(u, m)| u.module(m))
        .collect();
    let mut linked = match emit::emit(&renamed, &header, options) {
        Ok(linked) => linked,
        Err(diagnostic) => {
            found.push(diagnostic);
            return Err(found);
        }
    };
    for note in &mut linked.notes {
        if let Some(unique) = unique.get(note.input) {
            note.diagnostic.span = unique.to_old(note.diagnostic.span);
        }
    }
    for (map, unique) in linked.maps.iter_mut().zip(&unique) {
        if let Some(first) = unique.map() {
            *map = first.then(map);
        }
    }
    found.append(&mut linked.notes);
    linked.notes = found;
    Ok(linked)
}

/// Something about one module.
fn about(input: usize, diagnostic: Diagnostic) -> LinkDiagnostic {
    LinkDiagnostic {
        input,
        diagnostic,
        elsewhere: Vec::new(),
    }
}

impl LinkDiagnostic {
    /// With a place in another module.
    fn with(mut self, input: usize, span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        self.elsewhere.push(Elsewhere {
            input,
            span,
            message,
        });
        self
    }
}
