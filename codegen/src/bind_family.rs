//! Resolves whole families, and reports definitions that nothing uses.

use std::collections::{HashMap, HashSet};

use crate::bind::Binder;
use crate::bind_rules::since;
use crate::input::{Error, Pos, Result, split};
use crate::notation as ast;
use crate::notation::TextKind;
use crate::schema::{Block, Family, Texts};
use crate::vocabulary::{ModifierId, Names, Vocabulary};

/// Which definitions are used.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) definitions: HashSet<Pos>,
    pub(crate) rules: HashSet<Pos>,
    pub(crate) modifiers: HashSet<ModifierId>,
}

impl Used {
    /// An error for the first definition of a block that no form uses.
    fn check(&self, block: &ast::Block) -> Result<()> {
        for body in std::iter::once(&block.body).chain(block.forms.iter().map(|f| &f.body)) {
            let mut names = body
                .slots
                .iter()
                .map(|d| &d.name)
                .chain(body.operands.iter().map(|d| &d.name));
            if let Some(name) = names.find(|name| !self.definitions.contains(&name.pos)) {
                return name.error(format!("no form uses {name}"));
            }
            let mut rules = body.rules.iter();
            if let Some(rule) = rules.find(|rule| !self.rules.contains(&rule.pos)) {
                return Err(Error::new(
                    &rule.pos,
                    "the rule applies to no form: it can never be violated",
                ));
            }
            let mut computations = body.computations.iter();
            if let Some(unused) = computations.find(|c| !self.rules.contains(&c.pos)) {
                return Err(Error::new(&unused.pos, "no form computes this"));
            }
        }
        Ok(())
    }
}

/// Resolves all families.
pub(crate) fn bind(vocabulary: &Vocabulary, families: &[ast::Family]) -> Result<Vec<Family>> {
    let mut used = Used::default();
    let mut sections = HashMap::new();
    let mut described = HashMap::new();
    let mut bound = Vec::new();
    for family in families {
        let mut blocks = Vec::new();
        for block in &family.blocks {
            let names: Vec<String> = block.names.iter().map(|n| n.text.clone()).collect();
            if let Some(first) = sections.insert((names, &block.section), &block.pos) {
                let names = block
                    .names
                    .iter()
                    .map(|n| n.text.as_str())
                    .collect::<Vec<_>>()
                    .join(" ");
                let message = format!("{names} of section {} is at {first} already", block.section);
                return Err(Error::new(&block.pos, message));
            }
            let bound = bind_block(vocabulary, &mut used, family, block)?;
            for (name, _) in &bound.texts {
                if let Some(first) = described.insert(name.clone(), &block.pos) {
                    let message = format!("{name} is described at {first} already");
                    return Err(Error::new(&block.pos, message));
                }
            }
            blocks.push(bound);
            used.check(block)?;
        }
        let mut shared = family.shared.iter();
        if let Some(def) = shared.find(|def| !used.definitions.contains(&def.name.pos)) {
            return def.name.error(format!("no form uses {}", def.name));
        }
        bound.push(Family {
            name: family.name.clone(),
            blocks,
        });
    }
    check_vocabulary(vocabulary, families, &used)?;
    Ok(bound)
}

fn bind_block(
    v: &Vocabulary,
    used: &mut Used,
    family: &ast::Family,
    block: &ast::Block,
) -> Result<Block> {
    if block.forms.is_empty() {
        return Err(Error::new(&block.pos, "the block has no form"));
    }
    for name in &block.names {
        for modifier in split(name.text.trim_start_matches(|c| c != '.')) {
            match v.modifier_id(&modifier) {
                Some(id) => used.modifiers.insert(id),
                None => {
                    let message = format!("{modifier} of the name {name} is not in modifiers.isa");
                    return Err(Error::new(&block.pos, message));
                }
            };
        }
    }
    let mut names_since = Vec::new();
    for (name, list) in &block.names_since {
        if !block.names.iter().any(|n| n.text == name.text) {
            return name.error(format!("{name} is not a name of this block"));
        }
        names_since.push((name.text.clone(), since(v, list)?));
    }
    let forms = block
        .forms
        .iter()
        .map(|form| Binder::new(v, used, family, block, form).bind());
    Ok(Block {
        forms: forms.collect::<Result<_>>()?,
        names: block.names.iter().map(|n| n.text.clone()).collect(),
        names_since,
        texts: texts(block)?,
    })
}

/// The texts of each name that the block describes.
fn texts(block: &ast::Block) -> Result<Vec<(String, Texts)>> {
    let mut all: Vec<(String, Texts)> = Vec::new();
    for text in &block.texts {
        let named = |n: &&crate::input::Word| text.name.as_ref().is_none_or(|t| t.text == n.text);
        let mut names = block.names.iter().filter(named).peekable();
        if names.peek().is_none() {
            return Err(Error::new(&text.pos, "no name of the block has this text"));
        }
        for name in names {
            let at = all.iter().position(|(n, _)| *n == name.text);
            let at = at.unwrap_or_else(|| {
                all.push((name.text.clone(), Texts::default()));
                all.len() - 1
            });
            let of = &mut all[at].1;
            match text.kind {
                TextKind::About if of.about.is_empty() => of.about.clone_from(&text.text),
                TextKind::About => {
                    return Err(Error::new(
                        &text.pos,
                        format!("a second sentence about {name}"),
                    ));
                }
                TextKind::Example => of.examples.push(text.text.clone()),
                TextKind::Pitfall => of.pitfalls.push(text.text.clone()),
            }
        }
    }
    Ok(all)
}

/// Checks that every modifier is used and that every instruction named in the vocabulary exists.
fn check_vocabulary(vocabulary: &Vocabulary, families: &[ast::Family], used: &Used) -> Result<()> {
    let blocks = || families.iter().flat_map(|f| &f.blocks);
    for (name, _) in &vocabulary.ignored_on {
        if !blocks().flat_map(|b| &b.names).any(|n| n.text == name.text) {
            return name.error(format!("there is no instruction {name}"));
        }
    }
    let all = vocabulary.modifiers.iter().enumerate();
    let typed = |names: Names| matches!(names, Names::Type);
    let mut unused = all.filter(|(i, m)| {
        !m.ignored
            && !typed(m.names)
            && vocabulary.classes[m.class].name.text != "lane"
            && !used.modifiers.contains(&ModifierId(*i))
    });
    match unused.next() {
        Some((_, m)) => m.word.error(format!("no form and no name uses {}", m.word)),
        None => Ok(()),
    }
}
