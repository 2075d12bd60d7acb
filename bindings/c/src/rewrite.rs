//! Rewrites of whole modules.

use std::mem::MaybeUninit;

use ptxkit::edit::{Names, Renaming};
use ptxkit::ir::Module;
use ptxkit::isa::{PtxVersion, Target};
use ptxkit::print::{self, Style};
use ptxkit::transform::clean::{self, Pass};
use ptxkit::transform::{self, ExtractError, LinkOptions, MinifyOptions};
use ptxkit::verify::{self, Options};

use crate::diagnostics::parse_optional;
use crate::memory::{create, free, non_null, ptxkit_string, slice};
use crate::module::ptxkit_module;
use crate::status::{Failure, get, ptxkit_status, run};

/// A text. It never changes, so any number of threads may use it at the same time.
pub struct ptxkit_text(pub(crate) Vec<u8>);

/// Writes a text that `make` creates from a module. Fails if the module has syntax errors.
fn rewrite(
    module: Option<&ptxkit_module>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
    make: impl FnOnce(&Module) -> Result<Vec<u8>, Failure>,
) -> ptxkit_status {
    run(|| {
        create(text, || {
            let module = non_null(module)?;
            module.refuse_errors(&module.diagnostics)?;
            make(&module.ir).map(ptxkit_text)
        })
    })
}

/// The texts of strings that were passed to the call.
fn texts(strings: &[ptxkit_string]) -> Result<Vec<&str>, Failure> {
    strings.iter().map(ptxkit_string::text).collect()
}

/// Returns the bytes of a text.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_text_get(text: Option<&ptxkit_text>) -> ptxkit_string {
    get(|| Some(ptxkit_string::from_bytes(&text?.0)))
}

/// Frees a text.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_text_free(text: Option<Box<ptxkit_text>>) {
    free(text);
}

/// Formats a module in the canonical style. Like all rewrites, it fails if the module has syntax errors. Free the text with `ptxkit_text_free`.
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
    rewrite(module, text, |ir| Ok(transform::strip(ir).text().to_vec()))
}

/// Shortens a module: removes whitespace and comments, and shortens names that are not visible to other modules.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_minify(
    module: Option<&ptxkit_module>,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let options = MinifyOptions::default();
        Ok(transform::minify(ir, &options).text().to_vec())
    })
}

/// Extracts functions with all of their dependencies.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_extract(
    module: Option<&ptxkit_module>,
    names: *const ptxkit_string,
    count: usize,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let names = texts(slice(&names, count)?)?;
        let part = transform::extract(ir, &names).map_err(|error| match error {
            ExtractError::Unknown { .. } => Failure::not_found(error),
            _ => Failure::refused(error),
        })?;
        Ok(part.text().to_vec())
    })
}

/// Renames all functions, variables, registers (`%r` for the range `%r<9>`), parameters and labels with the name `old_name`. If `function` is not empty,
/// only names in this function are renamed. Fails if the new name is in use.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_rename(
    module: Option<&ptxkit_module>,
    old_name: ptxkit_string,
    new_name: ptxkit_string,
    function: ptxkit_string,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let (old_name, new_name) = (old_name.text()?, new_name.text()?);
        let function = match function.text()? {
            "" => None,
            name => Some(ir.function(name).ok_or_else(|| unknown_name(name))?),
        };
        let names = Names::of(ir);
        let entities = names.find(ir, old_name, function);
        if entities.is_empty() {
            return Err(unknown_name(old_name));
        }
        let mut renaming = Renaming::new();
        for entity in entities {
            renaming.set(entity, new_name);
        }
        let renamed = renaming.apply(ir, &names).map_err(Failure::refused)?;
        Ok(renamed.text().to_vec())
    })
}

fn unknown_name(name: &str) -> Failure {
    Failure::not_found(format_args!("no name `{name}`"))
}

/// Changes the target and the version of the header. If `version` is empty, the version stays, or becomes the first one that supports the target. Fails if
/// the module is not legal on the target in the version.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_retarget(
    module: Option<&ptxkit_module>,
    target: ptxkit_string,
    version: ptxkit_string,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let target: Target = parse_optional(&target, "target")?
            .ok_or_else(|| Failure::argument("the target is empty"))?;
        let version: Option<PtxVersion> = parse_optional(&version, "PTX version")?;
        let first_version = target.min_version();
        let version = version.unwrap_or_else(|| {
            let version = ir.header().version;
            version.map_or(first_version, |v| v.max(first_version))
        });
        let rewriting = transform::retarget(ir, target, version).map_err(Failure::refused)?;
        let retargeted = ptxkit_module::new(rewriting.text().to_vec());
        let diagnostics = verify::verify(&retargeted.ir, &Options::default());
        retargeted.refuse_errors(&diagnostics)?;
        Ok(retargeted.ir.source().to_vec())
    })
}

/// Removes code without effect and simplifies the remaining code. `passes` lists the names of the options of `ptxkit clean` without dashes, separated by
/// commas. If it is empty, the default passes run.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_clean(
    module: Option<&ptxkit_module>,
    passes: ptxkit_string,
    text: Option<&mut MaybeUninit<Option<Box<ptxkit_text>>>>,
) -> ptxkit_status {
    rewrite(module, text, |ir| {
        let passes: Vec<Pass> = passes
            .text()?
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(Failure::argument)?;
        let mut options = clean::Options::default();
        if !passes.is_empty() {
            options.passes = passes;
        }
        Ok(clean::clean(ir, &options).text().to_vec())
    })
}

/// Links legal modules into one. `hidden` contains the names of symbols that no module outside of the result uses.
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
            let modules: Vec<&ptxkit_module> = slice(&modules, count)?
                .iter()
                .map(|module| non_null(*module))
                .collect::<Result<_, _>>()?;
            for module in &modules {
                module.refuse_errors(&module.diagnostics)?;
                module.refuse_errors(&verify::verify(&module.ir, &Options::default()))?;
            }
            let hidden = texts(slice(&hidden, hidden_count)?)?;
            let irs: Vec<&Module> = modules.iter().map(|module| &module.ir).collect();
            let options = LinkOptions::default().with_hidden(&hidden);
            let linked = transform::link(&irs, &options).map_err(|error| {
                let first = error
                    .diagnostics()
                    .first()
                    .map(|d| d.diagnostic.message.as_str());
                Failure::refused(first.unwrap_or("the modules cannot be linked"))
            })?;
            Ok(ptxkit_text(linked.text().to_vec()))
        })
    })
}
