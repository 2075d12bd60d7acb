//! Which instance of a statement a thread executes: its calls, and the iterations of the loops around it.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::graph::{Dominators, LoopId, Loops};
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{InstId, Statement, StmtId};

use super::hashing::{FastMap, Mixer};

/// The blocks and loops of a function.
#[derive(Debug)]
pub(crate) struct Shape {
    cfg: Cfg,
    loops: Loops<BlockId>,
    /// The block and the statement of each instruction, and whether it begins the block.
    places: FastMap<InstId, (BlockId, StmtId, bool)>,
    /// Of each loop, the block with instructions that threads enter if and only if they came by its header.
    headers: HashMap<LoopId, BlockId>,
    /// Whether each loop has one: a header without instructions is not seen.
    pub(crate) sees_headers: bool,
}

impl Shape {
    pub(crate) fn new(facts: FunctionFacts<'_>) -> Self {
        let cfg = Cfg::new(facts);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let mut places = FastMap::default();
        let mut empty = HashSet::new();
        for (id, block) in cfg.blocks() {
            let mut begins = true;
            for (stmt, statement) in facts.body().range(block.first, block.end) {
                if let Statement::Inst(inst) = statement {
                    places.insert(inst, (id, stmt, begins));
                    begins = false;
                }
            }
            if begins && !block.is_dispatch {
                empty.insert(id);
            }
        }
        let headers = loops.iter().filter_map(|(id, of)| {
            let header = seen_after(&cfg, &empty, of.header())?;
            Some((id, header))
        });
        let headers: HashMap<LoopId, BlockId> = headers.collect();
        Self {
            sees_headers: headers.len() == loops.len(),
            headers,
            cfg,
            loops,
            places,
        }
    }

    /// Whether the block of an instruction goes on to several places.
    pub(crate) fn branches(&self, inst: InstId) -> bool {
        let block = self.place(inst).map(|(block, ..)| block);
        let next = block.map_or(&[][..], |block| self.cfg.successors(block));
        next.iter().any(|to| Some(to) != next.first())
    }

    pub(crate) fn place(&self, inst: InstId) -> Option<(BlockId, StmtId, bool)> {
        self.places.get(&inst).copied()
    }
}

/// A block, or the one with instructions that follows it, if that is entered in no other way.
fn seen_after(cfg: &Cfg, empty: &HashSet<BlockId>, mut block: BlockId) -> Option<BlockId> {
    for _ in 0..=empty.len() {
        if !empty.contains(&block) {
            return Some(block);
        }
        match *cfg.successors(block) {
            [next] if cfg.predecessors(next).len() == 1 => block = next,
            _ => return None,
        }
    }
    None
}

/// A call that a thread is in.
#[derive(Clone, Debug)]
struct Frame {
    /// Of the instances of calls that it came by.
    path: u64,
    block: BlockId,
    inst: Option<InstId>,
    /// The loops around the block, the outermost first, with their iterations.
    iterations: Vec<(LoopId, u32)>,
    /// Whether it tries the same instruction again.
    waits: bool,
}

impl Frame {
    fn key(&self) -> u64 {
        let mut hash = Mixer::default();
        self.path.hash(&mut hash);
        self.inst.hash(&mut hash);
        for (_, iterations) in &self.iterations {
            iterations.hash(&mut hash);
        }
        hash.finish()
    }

    /// Enters a block.
    fn enter(&mut self, block: BlockId, shape: &Shape, is_first: bool) {
        let mut around = Vec::new();
        let mut next = shape.loops.innermost(block);
        while let Some(id) = next {
            around.push(id);
            next = shape.loops.get(id).and_then(|l| l.parent());
        }
        let count = |id: LoopId| {
            let mut known = self.iterations.iter();
            let before = known.find(|(of, _)| *of == id).map(|(_, n)| *n);
            let header = shape.headers.get(&id);
            match before {
                Some(n) if !is_first => (id, n + u32::from(header == Some(&block))),
                _ => (id, 0),
            }
        };
        self.iterations = around.into_iter().rev().map(count).collect();
        self.block = block;
    }
}

/// An instruction that a thread executes.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Executed {
    /// The instance of the instruction, and of the calls that the thread came by.
    pub(crate) instance: u64,
    pub(crate) path: u64,
    /// Whether it begins a block, and whether it begins a function.
    pub(crate) enters: bool,
    pub(crate) calls: bool,
}

/// What a thread executes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    frames: Vec<Frame>,
}

impl Thread {
    /// The thread executes an instruction at a depth of calls.
    pub(crate) fn execute(&mut self, shape: &Shape, inst: InstId, depth: usize) -> Executed {
        let Some((block, _, begins)) = shape.place(inst) else {
            return Executed::default();
        };
        let caller = depth.checked_sub(1).and_then(|d| self.frames.get(d));
        let path = caller.map_or(0, Frame::key);
        self.frames.truncate(depth + 1);
        let calls = self.frames.len() <= depth;
        if calls {
            let frame = Frame {
                path,
                block,
                inst: None,
                iterations: Vec::new(),
                waits: false,
            };
            self.frames.resize(depth + 1, frame);
        }
        let frame = &mut self.frames[depth];
        let again = core::mem::take(&mut frame.waits) && frame.inst == Some(inst);
        let enters = begins && !again;
        if enters || calls || frame.block != block {
            frame.enter(block, shape, calls);
        }
        frame.inst = Some(inst);
        Executed {
            instance: frame.key(),
            path: frame.path,
            enters,
            calls,
        }
    }

    /// The instance of the last instruction at a depth of calls.
    pub(crate) fn last(&self, depth: usize) -> u64 {
        self.frames.get(depth).map_or(0, Frame::key)
    }

    /// The last instruction will be tried again.
    pub(crate) fn wait(&mut self, depth: usize) {
        if let Some(frame) = self.frames.get_mut(depth) {
            frame.waits = true;
        }
    }
}
