//! The functions of two modules that correspond: functions with one name, then the most similar ones.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::{FuncId, FunctionKind, Module};

use crate::code::Code;
use crate::numbers::Numbers;
use crate::token::mix;

/// Functions that are less similar do not correspond.
const MIN_SIMILARITY: f32 = 0.5;
/// The number of hashes of sequences of statements in the sketch of a function.
const SKETCH_LENGTH: usize = 16;
/// The largest number of functions that are found by a hash.
const MAX_FUNCTIONS_PER_HASH: usize = 8;
/// The largest number of functions that a function is compared with.
const MAX_CANDIDATES: usize = 4;

/// A function with a body.
pub(crate) struct Definition {
    pub(crate) id: FuncId,
    pub(crate) kind: FunctionKind,
    /// The number of its name.
    pub(crate) name: u32,
    pub(crate) code: Code,
}

/// The functions of a module that have bodies.
pub(crate) fn definitions(module: &Module, numbers: &Numbers) -> Vec<Definition> {
    ptx_ir::raw::parallel::map_functions(module, |ids| {
        ids.iter()
            .filter_map(|&id| {
                let function = module.functions().get(id)?;
                Some(Definition {
                    id,
                    kind: function.kind,
                    name: numbers.name(function.name),
                    code: Code::new(module, id, numbers),
                })
            })
            .collect()
    })
}

/// The indices of functions that correspond.
pub(crate) struct Match {
    pub(crate) left: usize,
    pub(crate) right: usize,
    /// For functions with different names, the fraction of the statements that both have.
    pub(crate) similarity: Option<f32>,
}

/// The functions that correspond, in the order of the left module.
pub(crate) fn matches(a: &[Definition], b: &[Definition]) -> Vec<Match> {
    // If a name is defined twice, which is an error, the first definitions correspond, and the second ones.
    let mut by_name: HashMap<u32, Vec<usize>> = HashMap::new();
    for (j, definition) in b.iter().enumerate().rev() {
        by_name.entry(definition.name).or_default().push(j);
    }
    let mut is_matched = (vec![false; a.len()], vec![false; b.len()]);
    let mut matches = Vec::new();
    for (i, definition) in a.iter().enumerate() {
        let partner = by_name.get_mut(&definition.name).and_then(Vec::pop);
        if let Some(j) = partner
            && mark(&mut is_matched, i, j)
        {
            matches.push(Match {
                left: i,
                right: j,
                similarity: None,
            });
        }
    }
    for candidate in candidates(&unmatched(a, &is_matched.0), &unmatched(b, &is_matched.1)) {
        if mark(&mut is_matched, candidate.left, candidate.right) {
            matches.push(Match {
                left: candidate.left,
                right: candidate.right,
                similarity: Some(candidate.similarity),
            });
        }
    }
    matches.sort_by_key(|m| m.left);
    matches
}

/// Marks two functions as matched, unless one of them has a partner.
fn mark(is_matched: &mut (Vec<bool>, Vec<bool>), i: usize, j: usize) -> bool {
    match (is_matched.0.get_mut(i), is_matched.1.get_mut(j)) {
        (Some(left), Some(right)) if !*left && !*right => {
            (*left, *right) = (true, true);
            true
        }
        _ => false,
    }
}

/// The properties by which functions with different names are compared.
struct Profile {
    /// The index of the function.
    index: usize,
    kind: FunctionKind,
    /// The least hashes of sequences of statements.
    sketch: Vec<u64>,
    /// The shapes of all statements in ascending order.
    shapes: Vec<u64>,
}

/// The profiles of the functions that have no partner.
fn unmatched(definitions: &[Definition], is_matched: &[bool]) -> Vec<Profile> {
    definitions
        .iter()
        .enumerate()
        .filter(|(index, _)| is_matched.get(*index) == Some(&false))
        .map(|(index, definition)| Profile::new(index, definition))
        .collect()
}

impl Profile {
    fn new(index: usize, definition: &Definition) -> Self {
        let mut shapes = definition.code.shapes();
        let mut sketch: Vec<u64> = shapes
            .windows(3.min(shapes.len().max(1)))
            .map(|run| run.iter().fold(0, |hash, shape| mix(hash, *shape)))
            .collect();
        sketch.sort_unstable();
        sketch.dedup();
        sketch.truncate(SKETCH_LENGTH);
        shapes.sort_unstable();
        Self {
            index,
            kind: definition.kind,
            sketch,
            shapes,
        }
    }

    /// Whether two functions have the same kind and about the same length.
    fn is_comparable(&self, other: &Self) -> bool {
        let (length, other_length) = (self.shapes.len(), other.shapes.len());
        self.kind == other.kind && length.min(other_length) * 2 >= length.max(other_length)
    }

    /// The fraction of all statements that both functions have.
    fn similarity(&self, other: &Self) -> f32 {
        let mut shapes = self.shapes.iter().peekable();
        let mut other_shapes = other.shapes.iter().peekable();
        let mut common = 0usize;
        while let (Some(shape), Some(other_shape)) = (shapes.peek(), other_shapes.peek()) {
            let order = shape.cmp(other_shape);
            common += usize::from(order.is_eq());
            if order.is_le() {
                shapes.next();
            }
            if order.is_ge() {
                other_shapes.next();
            }
        }
        match self.shapes.len() + other.shapes.len() - common {
            0 => 1.0,
            total => common as f32 / total as f32,
        }
    }
}

/// Two functions that may correspond.
struct Candidate {
    similarity: f32,
    left: usize,
    right: usize,
}

/// The pairs of similar functions, the most similar first.
fn candidates(left: &[Profile], right: &[Profile]) -> Vec<Candidate> {
    if left.is_empty() || right.is_empty() {
        return Vec::new();
    }
    let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, profile) in left.iter().enumerate() {
        for hash in &profile.sketch {
            let functions = by_hash.entry(*hash).or_default();
            if functions.len() < MAX_FUNCTIONS_PER_HASH {
                functions.push(index);
            }
        }
    }
    let mut candidates = Vec::new();
    for profile in right {
        let mut functions: Vec<usize> = profile
            .sketch
            .iter()
            .filter_map(|hash| by_hash.get(hash))
            .flatten()
            .copied()
            .collect();
        functions.sort_unstable();
        // The number of common hashes of each function.
        let mut counts: Vec<(usize, usize)> = functions
            .chunk_by(|p, q| p == q)
            .filter_map(|equal| Some((equal.len(), *equal.first()?)))
            .collect();
        counts.sort_by(|p, q| q.0.cmp(&p.0).then(p.1.cmp(&q.1)));
        for (_, index) in counts.into_iter().take(MAX_CANDIDATES) {
            let Some(partner) = left.get(index).filter(|p| p.is_comparable(profile)) else {
                continue;
            };
            let similarity = partner.similarity(profile);
            if similarity >= MIN_SIMILARITY {
                candidates.push(Candidate {
                    similarity,
                    left: partner.index,
                    right: profile.index,
                });
            }
        }
    }
    candidates.sort_by(|p, q| {
        q.similarity
            .total_cmp(&p.similarity)
            .then((p.left, p.right).cmp(&(q.left, q.right)))
    });
    candidates
}
