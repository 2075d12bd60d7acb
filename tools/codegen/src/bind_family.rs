//! Resolves whole families, and reports definitions that nothing uses.

use std::collections::HashMap;

use crate::bind::{Binder, Used};
use crate::bind_rules::since;
use crate::input::{Error, Result, split};
use crate::notation as ast;
use crate::notation::TextKind;
use crate::schema::{Block, Family, Texts};
use crate::vocabulary::{ModifierId, Vocabulary};
use crate::vocabulary_rows::Names;

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
            let bound_block = bind_block(vocabulary, &mut used, family, block)?;
            for (name, _) in &bound_block.texts {
                if let Some(first) = described.insert(name.clone(), &block.pos) {
                    let message = format!("{name} is described at {first} already");
                    return Err(Error::new(&block.pos, message));
                }
            }
            blocks.push(bound_block);
            used.check(block)?;
        }
        for def in &family.shared {
            if !used.definitions.contains(&def.name.pos) {
                return def.name.error(format!("no form uses {}", def.name));
            }
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
    let mut name_floors = Vec::new();
    for (name, list) in &block.name_floors {
        if !block.names.iter().any(|n| n.text == name.text) {
            return name.error(format!("{name} is not a name of this block"));
        }
        name_floors.push((name.text.clone(), since(v, list)?));
    }
    let mut forms = Vec::new();
    for form in &block.forms {
        forms.push(Binder::new(v, used, family, block, form).bind()?);
    }
    Ok(Block {
        forms,
        names: block.names.iter().map(|n| n.text.clone()).collect(),
        name_floors,
        texts: texts(block)?,
    })
}

/// The texts of each name that the block describes.
fn texts(block: &ast::Block) -> Result<Vec<(String, Texts)>> {
    let mut described: Vec<(String, Texts)> = Vec::new();
    for text in &block.texts {
        let mut has_name = false;
        for name in &block.names {
            if text.name.as_ref().is_some_and(|t| t.text != name.text) {
                continue;
            }
            has_name = true;
            let index = match described.iter().position(|(n, _)| *n == name.text) {
                Some(index) => index,
                None => {
                    described.push((name.text.clone(), Texts::default()));
                    described.len() - 1
                }
            };
            let texts = &mut described[index].1;
            match text.kind {
                TextKind::About if texts.about.is_empty() => texts.about.clone_from(&text.text),
                TextKind::About => {
                    return Err(Error::new(
                        &text.pos,
                        format!("a second sentence about {name}"),
                    ));
                }
                TextKind::Example => texts.examples.push(text.text.clone()),
                TextKind::Pitfall => texts.pitfalls.push(text.text.clone()),
            }
        }
        if !has_name {
            return Err(Error::new(&text.pos, "no name of the block has this text"));
        }
    }
    Ok(described)
}

/// Checks that every modifier is used and that every instruction named in the vocabulary exists.
fn check_vocabulary(vocabulary: &Vocabulary, families: &[ast::Family], used: &Used) -> Result<()> {
    for (name, _) in &vocabulary.ignored_on {
        let is_instruction = families
            .iter()
            .flat_map(|family| &family.blocks)
            .flat_map(|block| &block.names)
            .any(|n| n.text == name.text);
        if !is_instruction {
            return name.error(format!("there is no instruction {name}"));
        }
    }
    for (i, modifier) in vocabulary.modifiers.iter().enumerate() {
        let may_be_unused = modifier.ignored
            || modifier.names == Names::Type
            || vocabulary.classes[modifier.class].name.text == "lane";
        if !may_be_unused && !used.modifiers.contains(&ModifierId(i)) {
            let word = &modifier.word;
            return word.error(format!("no form and no name uses {word}"));
        }
    }
    Ok(())
}
