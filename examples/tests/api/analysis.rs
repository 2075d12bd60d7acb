use ptx_analysis::calls::CallGraph;
use ptx_analysis::cfg::BlockId;
use ptx_analysis::dataflow::{JoinSemiLattice, SparseAnalysis, SparseSolver, solve_sparse};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::requests::existing_lanes;
use ptx_analysis::source_lines::{SourceLines, file_number};
use ptx_analysis::ssa::ValueId;
use ptx_analysis::values::LaunchBounds;
use ptx_ir::facts::{Facts, ModuleFacts};
use ptx_ir::{Operand, StmtId};

/// A choice between two blocks, and an unreachable block.
#[test]
fn a_diamond() {
    let text = b".version 8.0 .target sm_80 .entry k() { .reg .pred p; .reg .b32 x; @p bra R; mov.b32 x, 1; bra.uni J; \
        R: mov.b32 x, 2; J: ret; D: ret; }";
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
    let blocks: Vec<BlockId> = function.cfg().blocks().map(|(id, _)| id).collect();
    let [branch, left, right, join, dead] = blocks[..] else {
        panic!("five blocks")
    };
    let order = function.reverse_post_order();
    assert_eq!(order.order().len(), 4);
    assert_eq!(
        [branch, join, dead].map(|block| order.position(block)),
        [Some(0), Some(3), None]
    );
    let dominators = function.dominators();
    assert!(dominators.strictly_dominates(branch, join));
    assert!(!dominators.strictly_dominates(left, join));
    assert!(!dominators.strictly_dominates(branch, branch));
    let post = function.post_dominators();
    assert!(post.dominates(join, right));
    assert_eq!(post.immediate(branch), Some(join));
}

#[test]
fn blocks_and_labels() {
    let text = b".version 8.0 .target sm_80 .entry k() { .reg .pred p; L: @p bra L; ret; M: ret; }";
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let (id, _, body) = module.definitions().next().unwrap();
    let of = facts.function(id).unwrap();
    let analysis = FunctionAnalysis::new(of);
    let cfg = analysis.cfg();
    let blocks: Vec<_> = body
        .labels()
        .ids()
        .map(|l| cfg.of_label(l).unwrap())
        .collect();
    let [looping, dead] = blocks[..] else {
        panic!("two labels")
    };
    // Entered from itself at least.
    assert!(cfg.in_edges(looping).all(|(_, e)| e.to == looping));
    assert_ne!(cfg.in_edges(looping).len(), 0);
    assert!(analysis.is_reachable(looping) && !analysis.is_reachable(dead));
}

#[test]
fn calls_and_taken_addresses() {
    let text =
        b".version 8.0 .target sm_80 .address_size 64 .func leaf() { ret; } .func taken() { ret; }
        .entry k() { .reg .b64 p; call leaf; call leaf; mov.b64 p, taken; ret; }";
    let module = ptx_parse::parse(text).module;
    let calls = CallGraph::new(&ModuleFacts::new(&module));
    let id = |name| module.function(name).unwrap();
    assert_eq!(calls.calls_of(id("k")).count(), 2);
    assert_eq!(calls.calls_of(id("leaf")).count(), 0);
    assert_eq!(calls.address_taken(), [id("taken")]);
    assert!(calls.is_address_taken(id("taken")) && !calls.is_address_taken(id("leaf")));
}

#[test]
fn numbers_of_files() {
    let text =
        b".version 8.0 .target sm_80 .address_size 64 .file 7 \"a.cu\" .pragma \"nounroll\";";
    let module = ptx_parse::parse(text).module;
    let files = module
        .directives()
        .values()
        .map(|d| file_number(&module, d));
    assert_eq!(files.flatten().collect::<Vec<_>>(), [7]);
}

/// The largest constant that may be in a register, on the paths that control can take.
struct Largest;

#[derive(Clone, PartialEq, Debug)]
struct Constant(i32);

impl JoinSemiLattice for Constant {
    fn join(&mut self, other: &Self) -> bool {
        let joined = self.0.max(other.0);
        std::mem::replace(&mut self.0, joined) != joined
    }
}

impl SparseAnalysis for Largest {
    type Domain = Constant;
    const FOLLOWS_EDGES: bool = true;

    fn bottom(&self) -> Constant {
        Constant(0)
    }
    fn top(&self) -> Constant {
        Constant(i32::MAX)
    }
    fn inst(&mut self, facts: Facts<'_>, stmt: StmtId, solver: &mut SparseSolver<'_, Constant>) {
        if let Some(Operand::Small(number)) = facts.source(0).map(|source| source.operand) {
            for definition in solver.ssa().defs(stmt) {
                solver.raise(definition, &Constant(number));
            }
        }
    }
    fn phi(&mut self, phi: ValueId, solver: &mut SparseSolver<'_, Constant>) {
        let joined = solver.join_arguments(phi);
        solver.raise(phi, &joined);
    }
    fn leave(&mut self, block: BlockId, solver: &mut SparseSolver<'_, Constant>) {
        solver.follow_all(block);
    }
}

#[test]
fn sparse_analyses() {
    let text = b".version 8.0 .target sm_80 .entry k(.param .u64 a) { .reg .pred p; .reg .b32 x, y; mov.b32 x, 3; @p bra L; mov.b32 x, 5; \
        L: add.s32 y, x, x; ret; mov.b32 x, 9; }";
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
    let solution = solve_sparse(&function, &mut Largest, 100).unwrap();
    let ssa = function.ssa().unwrap();
    let (sum, _) = function.body().statements().rev().nth(2).unwrap();
    let value = ssa.uses(sum)[0].value;
    assert!(solution.is_complete());
    assert_eq!(solution.value(value), &Constant(5));
    let reached: Vec<bool> = function
        .cfg()
        .blocks()
        .map(|(id, _)| solution.is_executable(id))
        .collect();
    assert_eq!(reached, [true, true, true, false]);
}

#[test]
fn statements_of_inline_assembly() {
    let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n.reg .b32 x;\nmov.b32 x, 1;\n// begin inline asm\nmov.b32 x, 2;\n// end inline asm\nret;\n}\n";
    let module = ptx_parse::parse_str(text).module;
    let lines = SourceLines::new(&module);
    let body = module.body(module.function("k").unwrap()).unwrap();
    let assembly = lines.function(body).inline_assembly();
    let inside: Vec<bool> = body
        .statements()
        .map(|(id, _)| assembly.contains(id))
        .collect();
    assert_eq!(inside, [false, false, true, false]);
}

/// The lanes of a warp that exist in CTAs that are smaller than a warp.
#[test]
fn lanes_of_small_blocks() {
    let text = b".version 8.0 .target sm_80 .entry k() .maxntid 8 { ret; }";
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let bounds = LaunchBounds::of(facts.function(module.function("k").unwrap()).unwrap());
    assert_eq!((bounds.lanes(), existing_lanes(bounds.lanes())), (8, 0xff));
}
