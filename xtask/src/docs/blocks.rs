//! The forms as the PTX ISA manual groups them: by section and by the names that share them.

use std::collections::BTreeMap;

use ptx_isa::{Form, Instruction};

use super::chapters;

/// Forms of one section with the names they belong to.
pub(crate) struct Block {
    pub(crate) section: &'static str,
    pub(crate) names: Vec<&'static str>,
    pub(crate) forms: Vec<&'static Form>,
}

/// All of them, in the PTX ISA manual's order.
pub(crate) fn all() -> Vec<Block> {
    let mut forms: Vec<(&'static Form, Vec<&'static str>)> = Vec::new();
    // Names share forms, not copies of forms.
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    for instruction in Instruction::ALL {
        for &form in instruction.forms() {
            let index = *seen
                .entry(std::ptr::from_ref(form).addr())
                .or_insert(forms.len());
            match forms.get_mut(index) {
                Some((_, names)) => names.push(instruction.name()),
                None => forms.push((form, vec![instruction.name()])),
            }
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (form, names) in forms {
        let section = form.section();
        match blocks
            .iter_mut()
            .find(|b| b.section == section && b.names == names)
        {
            Some(block) => block.forms.push(form),
            None => blocks.push(Block {
                section,
                names,
                forms: vec![form],
            }),
        }
    }
    blocks.sort_by_key(|b| chapters::key(b.section));
    blocks
}
