//! The memory accesses of calls and of other instructions.

use ptx_ir::facts::{MemoryAccess, ModuleFacts, Space};
use ptx_isa::{Access, StateSpace};

/// The accesses of each instruction of the last function of a text.
fn accesses(text: &str) -> Vec<Vec<MemoryAccess>> {
    let module = ptx_parse::parse(text.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let last = module.definitions().last();
    let Some((facts, body)) = last.and_then(|(id, _, body)| Some((facts.function(id)?, body)))
    else {
        return Vec::new();
    };
    body.insts()
        .map(|(inst, _)| facts.inst(inst).memory().collect())
        .collect()
}

/// The parameters of results come first, then those of arguments; registers and numbers are not in memory. Last is any memory.
#[test]
fn a_call_accesses_its_parameters_and_any_memory() {
    let text = ".version 8.0\n.target sm_80\n.func (.param .b32 r) f(.param .b32 a, .param .b32 b) { ret; }\n\
        .entry k() { .param .b32 x; .param .b32 y; .param .b32 z; call (x), f, (y, z); ret; }";
    let [call, ret] = &accesses(text)[..] else {
        panic!("two instructions");
    };
    let expected = [Access::Write, Access::Read, Access::Read];
    assert_eq!(call.len(), 4);
    for (access, expected) in call.iter().zip(expected) {
        assert_eq!(access.space, Space::State(StateSpace::Param));
        assert_eq!((access.access, access.offset), (expected, Some(0)));
        assert!(access.base.is_some() && access.base == access.operand);
    }
    assert_eq!(call[3], MemoryAccess::ANY);
    assert_eq!(ret[..], []);
}

/// An instruction that the table does not have may do anything.
#[test]
fn an_unknown_instruction_accesses_any_memory() {
    let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; unheard a, a; ld.shared.b32 a, [a+4]; }";
    let accesses = accesses(text);
    assert_eq!(accesses[0], [MemoryAccess::ANY]);
    assert_eq!(accesses[1].len(), 1);
    let load = &accesses[1][0];
    assert_eq!((load.bytes, load.offset), (Some(4), Some(4)));
    assert!(load.reads() && !load.writes());
}
