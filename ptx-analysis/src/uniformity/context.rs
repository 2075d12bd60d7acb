//! The inputs of the analysis of a function: from its header, its callers and its callees.

use alloc::vec::Vec;

use ptx_dataflow::internals::Cells;
use ptx_ir::facts::{self, Facts, FunctionFacts};
use ptx_ir::{FuncId, Function, FunctionKind, Param, SymbolId, SymbolKind};
use ptx_isa::{Directive, SpecialReg, StateSpace, Uniformity};

use super::synchronization::{Before, Synchronization};
use super::words;

/// The largest size in each dimension. Only whether warps are rows of dimension x follows from it.
const WHOLE_WARPS: [u64; 3] = [1024, 1024, 64];

/// The header of a function, and the join of all of its calls or launches.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) function: FuncId,
    pub(super) kind: FunctionKind,
    /// The uniformity of each word of the parameters.
    pub(super) arguments: Vec<Uniformity>,
    /// The largest group of which all threads enter the function together, or none.
    pub(super) entry: Uniformity,
    /// The threads of a CTA in each dimension, if the kernel requires them.
    threads: Option<[u64; 3]>,
    /// Generic addresses may point to local memory, which belongs to one thread.
    pub(super) local_pointers: bool,
    /// Generic addresses may point to shared memory, which belongs to one CTA.
    pub(super) shared_pointers: bool,
    /// The synchronization that may happen in a grid before the function begins.
    pub(super) before: Before,
    /// The parts of variables in local memory that only the function accesses.
    pub(super) cells: Cells,
    /// Unknown values count as the same wherever that is possible.
    pub(super) is_optimistic: bool,
}

impl Context {
    /// Creates the context of a function without calls. The arguments of kernels are the same in the grid.
    pub(super) fn new(facts: FunctionFacts<'_>, id: FuncId) -> Self {
        let header = header(facts, id);
        let params = header.interface.params.of(facts.module().params());
        Self {
            function: id,
            kind: header.kind,
            arguments: vec![Uniformity::Grid; words::total(facts.module(), params)],
            entry: Uniformity::Grid,
            threads: threads(facts, header),
            local_pointers: true,
            shared_pointers: true,
            before: Before::default(),
            cells: Cells::NONE,
            is_optimistic: false,
        }
    }

    /// The threads of a CTA in each dimension, if the kernel requires them.
    pub(super) const fn threads(&self) -> Option<[u64; 3]> {
        self.threads
    }

    /// Assumes that dimension x of CTAs is a multiple of 32, if the kernel does not require a size.
    pub(super) const fn assume_whole_warps(&mut self) {
        if self.threads.is_none() {
            self.threads = Some(WHOLE_WARPS);
        }
    }

    /// The uniformity of an unknown value.
    pub(super) const fn unknown(&self) -> Uniformity {
        if self.is_optimistic {
            Uniformity::Grid
        } else {
            Uniformity::Varying
        }
    }

    /// Assumes nothing about the calls of the function.
    pub(super) fn give_up(&mut self) {
        if self.is_optimistic {
            return;
        }
        self.arguments.fill(Uniformity::Varying);
        self.entry = Uniformity::Varying;
        self.shared_pointers = true;
        self.before = Before::ANYTHING;
    }

    pub(super) fn params<'a>(&self, facts: FunctionFacts<'a>) -> &'a [Param] {
        let module = facts.module();
        header(facts, self.function)
            .interface
            .params
            .of(module.params())
    }

    pub(super) fn returns<'a>(&self, facts: FunctionFacts<'a>) -> &'a [Param] {
        let module = facts.module();
        header(facts, self.function)
            .interface
            .returns
            .of(module.params())
    }

    /// The uniformity of a component of a special register, among threads that read it at the same time.
    pub(super) fn special(&self, register: SpecialReg, component: Option<u8>) -> Uniformity {
        if register.is_vector() && component == Some(3) {
            // There is no fourth dimension.
            return Uniformity::Grid;
        }
        let is_thread = register.index_of() == Some(SpecialReg::Ntid);
        let (Some(threads), Some(component), true) = (self.threads, component, is_thread) else {
            return register.uniformity();
        };
        let component = usize::from(component);
        let stride: u64 = threads.iter().take(component).product();
        match threads.get(component) {
            Some(1) => Uniformity::Grid,
            // Whole warps have the same index.
            _ if component > 0 && stride.is_multiple_of(32) => Uniformity::Warp,
            _ => register.uniformity(),
        }
    }
}

/// The results and the synchronization of the functions that a function calls.
#[derive(Copy, Clone)]
pub(super) struct Callees<'a> {
    /// The uniformity of a word of a result, among threads that made the call together; `None` if it is unknown.
    pub(super) results: &'a dyn Fn(ResultWord) -> Option<Uniformity>,
    pub(super) synchronization: &'a dyn Fn(SymbolId) -> Synchronization,
}

/// A word of a result of a callee.
#[derive(Copy, Clone, Debug)]
pub(super) struct ResultWord {
    pub(super) callee: SymbolId,
    /// The index of the result.
    pub(super) result: usize,
    /// The index of the word in the result.
    pub(super) word: usize,
}

impl Callees<'_> {
    /// Unknown callees.
    pub(super) const UNKNOWN: Self = Self {
        results: &|_| None,
        synchronization: &|_| Synchronization::UNKNOWN,
    };

    /// The synchronization of the functions that an instruction may call; `None` if it is not a call.
    pub(super) fn synchronization(&self, inst: &Facts<'_>) -> Option<Synchronization> {
        Some(match inst.callees()? {
            facts::Callees::Function(symbol) => (self.synchronization)(symbol),
            _ => Synchronization::UNKNOWN,
        })
    }
}

fn header<'a>(facts: FunctionFacts<'a>, id: FuncId) -> &'a Function {
    let header = facts.module().functions().get(id);
    header.unwrap_or(const { &Function::EMPTY })
}

/// The threads of a CTA in each dimension, if a kernel requires them.
fn threads(facts: FunctionFacts<'_>, header: &Function) -> Option<[u64; 3]> {
    let module = facts.module();
    let required = header
        .interface
        .directives
        .of(module.interface_directives())
        .iter()
        .find(|d| d.directive == Directive::Reqntid)?;
    let mut threads = [1; 3];
    let arguments = module.pool().slice(required.args);
    for (size, argument) in threads.iter_mut().zip(arguments) {
        *size = u64::try_from(module.pool().integer(*argument)?).ok()?;
    }
    Some(threads)
}

/// Returns whether a module has variables in local memory that all of its functions may use.
pub(super) fn has_local_variables(module: &ptx_ir::Module) -> bool {
    let mut symbols = module.symbols().values();
    symbols.any(
        |s| matches!(s.kind, SymbolKind::Variable(space, _) if space.base() == StateSpace::Local),
    )
}
