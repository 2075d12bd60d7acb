//! The forms by section of the PTX ISA manual and by the names that share them, and the parts of chapter 9.7.

use std::collections::BTreeMap;

use ptx_isa::{Form, Instruction};

/// Forms of one section with the names they belong to.
pub(crate) struct Block {
    pub(crate) section: &'static str,
    pub(crate) names: Vec<&'static str>,
    pub(crate) forms: Vec<&'static Form>,
}

/// All blocks in the order of the PTX ISA manual.
pub(crate) fn blocks() -> Vec<Block> {
    let mut forms: Vec<(&'static Form, Vec<&'static str>)> = Vec::new();
    // Names share forms, not copies of forms.
    let mut form_indices: BTreeMap<usize, usize> = BTreeMap::new();
    for instruction in Instruction::ALL {
        for &form in instruction.forms() {
            let index = *form_indices
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
    blocks.sort_by_key(|b| sort_key(b.section));
    blocks
}

/// The titles of the parts of chapter 9.7.
const PART_TITLES: [&str; 19] = [
    "Integer arithmetic",
    "Extended-precision integer arithmetic",
    "Floating point",
    "Half precision",
    "Mixed precision",
    "Comparison and selection",
    "Comparison in half precision",
    "Logic and shifts",
    "Data movement and conversion",
    "Textures",
    "Surfaces",
    "Control flow",
    "Synchronization and communication",
    "Matrices of a warp",
    "Matrices of a warpgroup",
    "Tensor memory and matrices of the fifth generation",
    "Stack",
    "Video",
    "Miscellaneous",
];

/// The part of chapter 9.7 that a section belongs to.
pub(crate) fn part_of_section(section: &str) -> Option<usize> {
    let digits = section.strip_prefix("9.7.")?.split('.').next()?;
    let number = digits.parse().ok()?;
    (1..=PART_TITLES.len()).contains(&number).then_some(number)
}

pub(crate) fn part_title(part: usize) -> &'static str {
    part.checked_sub(1)
        .and_then(|i| PART_TITLES.get(i))
        .copied()
        .unwrap_or("")
}

/// The file name of the page of a part: `9.7.01-integer-arithmetic.md`. The number has two digits, so that names sort as the parts do.
pub(crate) fn part_page(part: usize) -> String {
    let title = part_title(part).to_lowercase().replace(' ', "-");
    format!("9.7.{part:02}-{title}.md")
}

pub(crate) fn parts() -> impl Iterator<Item = usize> {
    1..=PART_TITLES.len()
}

/// A key that sorts sections as numbers.
pub(crate) fn sort_key(section: &str) -> Vec<u32> {
    section.split('.').map(|n| n.parse().unwrap_or(0)).collect()
}
