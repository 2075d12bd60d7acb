//! Which functions of two modules correspond: those of one name, then the most similar ones.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::{FuncId, FunctionKind, Module};

use crate::code::Code;
use crate::names::Numbers;
use crate::token::mix;

/// Functions that are less similar do not correspond.
const LEAST: f32 = 0.5;
/// The least hashes of sequences of statements that a function is found by.
const SKETCH: usize = 16;
/// How many functions are known for a hash.
const MOST_KNOWN: usize = 8;
/// How many functions one is compared with.
const MOST_CANDIDATES: usize = 4;

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
    ptx_ir::parallel::map_functions(module, |ids| {
        let all = ids.iter().filter_map(|&id| {
            let function = module.functions().get(id)?;
            Some(Definition {
                id,
                kind: function.kind,
                name: numbers.name(function.name),
                code: Code::new(module, id, numbers),
            })
        });
        all.collect()
    })
}

/// Indices of functions that correspond, and how similar those of different names are.
pub(crate) struct Match {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) similarity: Option<f32>,
}

/// The functions that correspond, in the order of the left module.
pub(crate) fn matches(a: &[Definition], b: &[Definition]) -> Vec<Match> {
    // A name that is defined twice, which is an error: the first ones correspond, and the second ones.
    let mut of_name: HashMap<u32, Vec<usize>> = HashMap::new();
    for (j, definition) in b.iter().enumerate().rev() {
        of_name.entry(definition.name).or_default().push(j);
    }
    let (mut left, mut right) = (vec![false; a.len()], vec![false; b.len()]);
    let mut found = Vec::new();
    for (i, definition) in a.iter().enumerate() {
        let same = of_name.get_mut(&definition.name);
        let Some(j) = same.and_then(Vec::pop) else {
            continue;
        };
        if pair(&mut left, &mut right, i, j) {
            found.push(Match {
                left: i,
                right: j,
                similarity: None,
            });
        }
    }
    let rest = |all: &[Definition], used: &[bool]| -> Vec<usize> {
        let indices = 0..all.len();
        indices.filter(|i| used.get(*i) == Some(&false)).collect()
    };
    let (x, y) = (rest(a, &left), rest(b, &right));
    for (similarity, i, j) in candidates(a, b, &x, &y) {
        if pair(&mut left, &mut right, i, j) {
            found.push(Match {
                left: i,
                right: j,
                similarity: Some(similarity),
            });
        }
    }
    found.sort_by_key(|m| m.left);
    found
}

/// Pairs two functions unless one has a partner.
fn pair(left: &mut [bool], right: &mut [bool], i: usize, j: usize) -> bool {
    match (left.get_mut(i), right.get_mut(j)) {
        (Some(a), Some(b)) if !*a && !*b => {
            (*a, *b) = (true, true);
            true
        }
        _ => false,
    }
}

/// What functions are compared by.
struct Profile {
    sketch: Vec<u64>,
    shapes: Vec<u64>,
}

impl Profile {
    fn new(code: &Code) -> Self {
        let mut shapes = code.shapes();
        let runs = shapes.windows(3.min(shapes.len().max(1)));
        let mut sketch: Vec<u64> = runs
            .map(|run| run.iter().fold(0, |hash, shape| mix(hash, *shape)))
            .collect();
        sketch.sort_unstable();
        sketch.dedup();
        sketch.truncate(SKETCH);
        shapes.sort_unstable();
        Self { sketch, shapes }
    }

    /// The part of all statements that both have.
    fn similarity(&self, other: &Self) -> f32 {
        let (mut a, mut b) = (
            self.shapes.iter().peekable(),
            other.shapes.iter().peekable(),
        );
        let mut common = 0usize;
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let order = x.cmp(y);
            common += usize::from(order.is_eq());
            if order.is_le() {
                a.next();
            }
            if order.is_ge() {
                b.next();
            }
        }
        let all = self.shapes.len() + other.shapes.len() - common;
        match all {
            0 => 1.0,
            _ => common as f32 / all as f32,
        }
    }
}

/// Similar functions among those at `x` and `y`, the most similar first.
fn candidates(
    a: &[Definition],
    b: &[Definition],
    x: &[usize],
    y: &[usize],
) -> Vec<(f32, usize, usize)> {
    if x.is_empty() || y.is_empty() {
        return Vec::new();
    }
    let profiles = |all: &[Definition], chosen: &[usize]| -> Vec<Profile> {
        let definitions = chosen.iter().filter_map(|i| all.get(*i));
        definitions.map(|d| Profile::new(&d.code)).collect()
    };
    let (left, right) = (profiles(a, x), profiles(b, y));
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, profile) in left.iter().enumerate() {
        for hash in &profile.sketch {
            let functions = known.entry(*hash).or_default();
            if functions.len() < MOST_KNOWN {
                functions.push(at);
            }
        }
    }
    let mut found = Vec::new();
    for (profile, &j) in right.iter().zip(y) {
        let known = profile.sketch.iter().filter_map(|hash| known.get(hash));
        let mut likely: Vec<usize> = known.flatten().copied().collect();
        likely.sort_unstable();
        let same = likely.chunk_by(|p, q| p == q);
        let mut counts: Vec<(usize, usize)> = same
            .filter_map(|all| Some((all.len(), *all.first()?)))
            .collect();
        counts.sort_by(|p, q| q.0.cmp(&p.0).then(p.1.cmp(&q.1)));
        for (_, at) in counts.into_iter().take(MOST_CANDIDATES) {
            let (Some(other), Some(&i)) = (left.get(at), x.get(at)) else {
                continue;
            };
            let kinds = (a.get(i).map(|d| d.kind), b.get(j).map(|d| d.kind));
            let (n, m) = (other.shapes.len(), profile.shapes.len());
            if kinds.0 != kinds.1 || n.min(m) * 2 < n.max(m) {
                continue;
            }
            let similarity = other.similarity(profile);
            if similarity >= LEAST {
                found.push((similarity, i, j));
            }
        }
    }
    found.sort_by(|p, q| q.0.total_cmp(&p.0).then((p.1, p.2).cmp(&(q.1, q.2))));
    found
}
