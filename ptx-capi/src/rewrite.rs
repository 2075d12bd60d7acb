//! Rewriting of whole modules.

use std::mem::MaybeUninit;

use ptxkit::edit::{Names, Renaming};
use ptxkit::ir::Module;
use ptxkit::isa::{PtxVersion, Target};
use ptxkit::print::{self, Style};
use ptxkit::transform::clean::{self, Pass};
use ptxkit::transform::{self, ExtractError, LinkOptions, Minify};
use ptxkit::verify::{self, Options};

use crate::diagnostics::word;
use crate::memory::{create, free, given, list, ptxkit_string};
use crate::module::ptxkit_module;
use crate::status::{Failure, get, ptxkit_status, run};

/// A text. It does not change: any number of threads may use it at the same time.
pub struct ptxkit_text(pub(crate) Vec<u8>);

/// Writes the text that `make` makes of a module without errors of syntax.
fn rewrite(
    module: Option<&ptxkit_module>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
    make: impl FnOnce(&Module) -> Result<Vec<u8>, Failure>,
) -> ptxkit_status {
    run(|| {
        create(text, || {
            let module = given(module)?;
            module.refuse(&module.found)?;
            make(&module.ir).map(ptxkit_text)
        })
    })
}

/// Returns the bytes of a text.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_text_get(text: Option<&ptxkit_text>) -> ptxkit_string {
    get(|| Some(ptxkit_string::bytes_of(&text?.0)))
}

/// Frees a text.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_text_free(text: Option<Box<ptxkit_text>>) {
    free(text);
}

/// Formats a module in the canonical style. Like all rewritings, it fails if the module has errors of syntax, and its text is freed with
/// `ptxkit_text_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_format(
    module: Option<&ptxkit_module>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        Ok(print::canonical(ir, &Style::default()))
    })
}

/// Removes comments and debug information.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_strip(
    module: Option<&ptxkit_module>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| Ok(transform::strip(ir).text))
}

/// Shortens a module: whitespace, comments, and names that other modules do not see.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_minify(
    module: Option<&ptxkit_module>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        Ok(transform::minify(ir, Minify::new()).text)
    })
}

/// Extracts functions with everything they need.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_extract(
    module: Option<&ptxkit_module>,
    names: *const ptxkit_string,
    count: usize,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let names = list(&names, count)?;
        let names: Vec<&str> = names
            .iter()
            .map(ptxkit_string::text)
            .collect::<Result<_, _>>()?;
        let part = transform::extract(ir, &names).map_err(|error| match error {
            ExtractError::Unknown { .. } => Failure::not_found(error),
            _ => Failure::refused(error),
        })?;
        Ok(part.rewritten.text)
    })
}

/// Renames what is called `old`: functions, variables, registers (`%r` for the range `%r<9>`), parameters and labels; with a
/// `function` only inside of it. It fails if the new name is in use.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_rename(
    module: Option<&ptxkit_module>,
    old: ptxkit_string,
    new_name: ptxkit_string,
    function: ptxkit_string,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let (old, new, function) = (old.text()?, new_name.text()?, function.text()?);
        let unknown = |name: &str| Failure::not_found(format_args!("no name `{name}`"));
        let function = match function {
            "" => None,
            name => Some(ir.function(name).ok_or_else(|| unknown(name))?),
        };
        let names = Names::of(ir);
        let found = names.find(ir, old, function);
        if found.is_empty() {
            return Err(unknown(old));
        }
        let mut renaming = Renaming::new();
        for entity in found {
            renaming.set(entity, new);
        }
        Ok(renaming.apply(ir, &names).map_err(Failure::refused)?.text)
    })
}

/// Changes the target and the version of the header. An empty `version` is that of the header, or the first one that has the
/// target. It fails if the module is not legal there.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_retarget(
    module: Option<&ptxkit_module>,
    target: ptxkit_string,
    version: ptxkit_string,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let target: Option<Target> = word(&target, "target")?;
        let target = target.ok_or_else(|| Failure::argument("the target is empty"))?;
        let version: Option<PtxVersion> = word(&version, "PTX version")?;
        let floor = target.min_version();
        let version =
            version.unwrap_or_else(|| ir.header().version.map_or(floor, |v| v.max(floor)));
        let text = transform::retarget(ir, target, version);
        let text =
            text.ok_or_else(|| Failure::refused("the header has no `.version` or no `.target`"))?;
        let new = ptxkit_module::new(text);
        new.refuse(&verify::verify(&new.ir, &Options::default()))?;
        Ok(new.ir.source().to_vec())
    })
}

/// Removes code without effect and simplifies the rest. `passes` are the names of the options of `ptxkit clean` without dashes, with commas between
/// them; all if it is empty.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_clean(
    module: Option<&ptxkit_module>,
    passes: ptxkit_string,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let names = passes.text()?.split(',').filter(|name| !name.is_empty());
        let passes: Result<Vec<Pass>, _> = names.map(str::parse).collect();
        let options = match passes.map_err(Failure::argument)? {
            none if none.is_empty() => clean::Options::default(),
            passes => clean::Options::new(passes),
        };
        let mut ir = ir.clone();
        clean::clean(&mut ir, &options);
        Ok(print::verbatim(&ir))
    })
}

/// Links modules that are legal into one. `hidden` are the names that nothing outside of the result uses.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_link(
    modules: *const Option<&ptxkit_module>,
    count: usize,
    hidden: *const ptxkit_string,
    hidden_count: usize,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    run(|| {
        create(text, || {
            let all = list(&modules, count)?.iter();
            let all: Vec<&ptxkit_module> = all.map(|m| given(*m)).collect::<Result<_, _>>()?;
            for module in &all {
                module.refuse(&module.found)?;
                module.refuse(&verify::verify(&module.ir, &Options::default()))?;
            }
            let hidden = list(&hidden, hidden_count)?;
            let hidden: Vec<&str> = hidden
                .iter()
                .map(ptxkit_string::text)
                .collect::<Result<_, _>>()?;
            let irs: Vec<&Module> = all.iter().map(|m| &m.ir).collect();
            let linked = transform::link(&irs, &LinkOptions::new().with_hidden(&hidden));
            let linked = linked.map_err(|found| {
                let first = found.first().map(|d| d.diagnostic.message.as_str());
                Failure::refused(first.unwrap_or("the modules cannot be linked"))
            })?;
            Ok(ptxkit_text(linked.text))
        })
    })
}
