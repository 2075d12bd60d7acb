//! Names that users choose.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::scan;
use ptx_ir::{FuncId, Module};

use crate::names::{Entity, Fixed, Refused, Spellings, each_name, is_plain, rewrite, same_names};
use crate::{Rewritten, Splices, minify::private_symbols};

/// Another name for what has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rename<'a> {
    /// The function whose own names are meant; without one, the names of the module, and where it has none of this name,
    /// those of all functions.
    pub function: Option<FuncId>,
    /// The name; of a range such as `%r<9>`, `%r`.
    pub old: &'a str,
    /// The new one.
    pub new: &'a str,
}

/// Renames registers, labels, parameters, variables and functions wherever they stand; no other byte changes. All or nothing:
/// refused where a name is missing or taken, cannot be a name, or is spoken of by something that is not resolved. Linear in
/// the source.
///
/// ```
/// use ptx_transform::{Rename, rename};
/// let text = b".version 8.0 .target sm_80 .func f ( ) { ret; } .entry k() { call f; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let new = rename(&module, &[Rename { function: None, old: "f", new: "helper" }])?;
/// assert!(new.text.ends_with(b".func helper ( ) { ret; } .entry k() { call helper; ret; }"));
/// assert!(rename(&module, &[Rename { function: None, old: "f", new: "k" }]).is_err());
/// # Ok::<(), ptx_transform::Refused>(())
/// ```
pub fn rename(module: &Module, all: &[Rename<'_>]) -> Result<Rewritten, Refused> {
    checked(module, |module| {
        let fixed = Fixed::new(module);
        let mut spellings = Spellings::default();
        for one in all {
            may_be(one.new)?;
            let meant = meant(module, one);
            if meant.is_empty() {
                return Err(Refused::Missing(one.old.to_owned()));
            }
            for entity in meant {
                if fixed.has(module, entity) {
                    return Err(Refused::Used(one.old.to_owned()));
                }
                spellings.set(entity, one.new.to_owned());
            }
        }
        Ok(spellings)
    })
}

/// Puts a prefix before every name of the module that other modules cannot see, so that it clashes with none of theirs.
/// Linear in the source.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .func f() { ret; } .visible .entry k() { call f; ret; }";
/// let new = ptx_transform::prefix(&ptx_parse::parse(text).module, "mine_")?;
/// assert!(new.text.ends_with(b".func mine_f() { ret; } .visible .entry k() { call mine_f; ret; }"));
/// # Ok::<(), ptx_transform::Refused>(())
/// ```
pub fn prefix(module: &Module, prefix: &str) -> Result<Rewritten, Refused> {
    checked(module, |module| {
        let fixed = Fixed::new(module);
        let mut spellings = Spellings::default();
        for symbol in private_symbols(module) {
            let entity = Entity::Symbol(symbol);
            if let Some(name) = entity.name(module).filter(|_| !fixed.has(module, entity)) {
                let new = [prefix, module.name(name)].concat();
                may_be(&new)?;
                spellings.set(entity, new);
            }
        }
        Ok(spellings)
    })
}

/// Applies spellings if every name then means what it meant.
fn checked(
    module: &Module,
    spellings: impl FnOnce(&Module) -> Result<Spellings, Refused>,
) -> Result<Rewritten, Refused> {
    let mut clash = None;
    let done = rewrite(module, |module| {
        let spellings = spellings(module)?;
        let mut splices = Splices::new();
        spellings.splice(module, &mut splices);
        let text = splices.clone().apply(module.source()).text;
        let again = ptx_parse::parse(&text);
        let before = ptx_parse::parse(module.source()).diagnostics.len();
        if again.diagnostics.len() > before || !same_names(module, &again.module) {
            clash = spellings.first_clash(module);
            return Err(Refused::Taken(String::new()));
        }
        Ok(splices)
    });
    match (done, clash) {
        (Err(Refused::Taken(_)), Some(name)) => Err(Refused::Taken(name)),
        (done, _) => done,
    }
}

fn may_be(name: &str) -> Result<(), Refused> {
    let bytes = name.as_bytes();
    if !scan::starts_ident(bytes, 0) || scan::ident_end(bytes, 0) != bytes.len() {
        return Err(Refused::Spelling(name.to_owned()));
    }
    if !is_plain(name) {
        return Err(Refused::Taken(name.to_owned()));
    }
    Ok(())
}

fn meant(module: &Module, one: &Rename<'_>) -> Vec<Entity> {
    let mut all = BTreeSet::new();
    each_name(module, |name| {
        let spelled = name.entity.name(module).map(|n| module.name(n));
        let unknown = matches!(name.entity, Entity::Unknown(_) | Entity::Parameter(_));
        if spelled == Some(one.old) && !unknown {
            all.insert(name.entity);
        }
    });
    let symbols = all.iter().any(|e| matches!(e, Entity::Symbol(_)));
    let wanted = |e: &Entity| match one.function {
        Some(function) => e.function() == Some(function),
        None => !symbols || matches!(e, Entity::Symbol(_)),
    };
    all.into_iter().filter(wanted).collect()
}
