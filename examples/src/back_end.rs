//! A back end for a small language in SSA form: functions of basic blocks with block parameters, loops and calls. Blocks are
//! built in any order; the copies that pass block arguments come last, when all blocks have their instructions.

use ptx_build::{
    BuildError, CodeLabel, Declaration, Func, FunctionBuilder, ModuleBuilder, OperandExpr, Reg,
    Variable, at,
};
use ptx_ir::{Linkage, Module};
use ptx_isa::{PtxVersion, ScalarType as T, StateSpace, Target};

/// A value of a function, by its number.
pub type Value = usize;

/// An operation that computes a value.
#[derive(Clone, Debug)]
pub enum Op {
    /// A constant.
    Const(i32),
    /// A sum.
    Add(Value, Value),
    /// A difference.
    Sub(Value, Value),
    /// A product.
    Mul(Value, Value),
    /// A call of a function, by its number, with its arguments.
    Call(usize, Vec<Value>),
}

/// A jump to a block, by its number, with the values of its parameters.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The block.
    pub block: usize,
    /// The arguments.
    pub arguments: Vec<Value>,
}

/// The last statement of a block.
#[derive(Clone, Debug)]
pub enum End {
    /// A jump.
    Jump(Edge),
    /// A jump to the first block if the value is positive, else to the second.
    IfPositive(Value, Edge, Edge),
    /// The result of the function.
    Return(Value),
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The block parameters: values that the predecessors pass.
    pub params: Vec<Value>,
    /// The values that the block computes, with their operations.
    pub instructions: Vec<(Value, Op)>,
    /// The last statement.
    pub end: End,
}

/// A function of 32-bit integers. The parameters of its first block are those of the function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name.
    pub name: &'static str,
    /// The blocks; the first one is the entry.
    pub blocks: Vec<Block>,
}

/// Compiles functions. `order` permutes the numbers of the blocks of a function: the blocks are built in this order.
///
/// # Errors
///
/// A function mentions a block, value or function that does not exist, or PTX cannot have the name.
pub fn compile(functions: &[Function], order: fn(&mut Vec<usize>)) -> Result<Module, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    let param = |name: String| Declaration::new(StateSpace::Param, T::B32, &name);
    // All functions are declared first, so that they can call each other.
    let mut declared = Vec::new();
    for function in functions {
        let count = function.blocks.first().map_or(0, |b| b.params.len());
        let params: Vec<Declaration> = (0..count).map(|i| param(format!("a{i}"))).collect();
        let linkage = Some(Linkage::Visible);
        declared.push(m.declare_func(function.name, linkage, &[param("r".into())], &params)?);
    }
    for (function, func) in functions.iter().zip(&declared) {
        let mut builder = m.define(*func)?;
        let blocks = function
            .blocks
            .iter()
            .map(|_| builder.create_block())
            .collect();
        let mut compiler = Compiler {
            builder,
            blocks,
            registers: Vec::new(),
            functions: &declared,
        };
        compiler.function(function, order)?;
        compiler.builder.finish()?;
    }
    m.finish()
}

struct Compiler<'m, 'f> {
    builder: FunctionBuilder<'m>,
    blocks: Vec<CodeLabel>,
    /// The register of each value.
    registers: Vec<Reg>,
    functions: &'f [Func],
}

impl Compiler<'_, '_> {
    fn function(
        &mut self,
        function: &Function,
        order: fn(&mut Vec<usize>),
    ) -> Result<(), BuildError> {
        let params = function.blocks.first().map_or(&[][..], |b| &b.params);
        for (i, param) in params.iter().enumerate() {
            let register = self.register(*param);
            if let Some(variable) = self.builder.param_variable(i) {
                self.builder.ld().param().b32((register, at(variable)))?;
            }
        }
        let mut numbers: Vec<usize> = (0..function.blocks.len()).collect();
        order(&mut numbers);
        for &i in &numbers {
            self.builder.switch_to(self.blocks[i])?;
            for (value, op) in &function.blocks[i].instructions {
                self.instruction(*value, op)?;
            }
        }
        let result = self.builder.result_variable(0);
        for &i in &numbers {
            self.builder.switch_to(self.blocks[i])?;
            self.end(function, &function.blocks[i].end, result)?;
        }
        Ok(())
    }

    fn register(&mut self, value: Value) -> Reg {
        while self.registers.len() <= value {
            self.registers.push(self.builder.reg(T::B32));
        }
        self.registers[value]
    }

    fn instruction(&mut self, value: Value, op: &Op) -> Result<(), BuildError> {
        let result = self.register(value);
        let mut register = |value: &Value| self.register(*value);
        match op {
            Op::Const(n) => self.builder.mov().b32((result, *n)),
            Op::Add(a, b) => {
                let (a, b) = (register(a), register(b));
                self.builder.add().s32((result, a, b))
            }
            Op::Sub(a, b) => {
                let (a, b) = (register(a), register(b));
                self.builder.sub().s32((result, a, b))
            }
            Op::Mul(a, b) => {
                let (a, b) = (register(a), register(b));
                self.builder.mul().lo().s32((result, a, b))
            }
            Op::Call(callee, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(|a| register(a).into()).collect();
                self.builder
                    .call_function(self.functions[*callee], &[result.into()], &arguments)
            }
        }
    }

    fn end(
        &mut self,
        function: &Function,
        end: &End,
        result: Option<Variable>,
    ) -> Result<(), BuildError> {
        match end {
            End::Jump(edge) => self.jump(function, edge),
            End::IfPositive(value, then, otherwise) => {
                let (condition, value) = (self.builder.reg(T::Pred), self.register(*value));
                self.builder.setp().gt().s32((condition, value, 0))?;
                // Each edge gets a block for its copies.
                let edge_blocks = [self.builder.create_block(), self.builder.create_block()];
                self.builder.guard(condition).bra().emit(edge_blocks[0])?;
                self.builder.bra().emit(edge_blocks[1])?;
                for (block, edge) in edge_blocks.into_iter().zip([then, otherwise]) {
                    self.builder.switch_to(block)?;
                    self.jump(function, edge)?;
                }
                Ok(())
            }
            End::Return(value) => {
                let value = self.register(*value);
                if let Some(result) = result {
                    self.builder.st().param().b32((at(result), value))?;
                }
                self.builder.ret().emit(())
            }
        }
    }

    /// Copies the arguments to the block parameters, as if at the same time, and jumps.
    fn jump(&mut self, function: &Function, edge: &Edge) -> Result<(), BuildError> {
        let params = &function.blocks[edge.block].params;
        let mut copies: Vec<(Reg, OperandExpr)> = Vec::new();
        for (param, argument) in params.iter().zip(&edge.arguments) {
            copies.push((self.register(*param), self.register(*argument).into()));
        }
        self.builder.parallel_copy(&copies)?;
        self.builder.bra().emit(self.blocks[edge.block])
    }
}

/// `fibonacci(n)` in a loop that exchanges two values, and `sum(n)`, the sum of the first numbers, with a call in its loop.
#[must_use]
pub fn program() -> Vec<Function> {
    let edge = |block, arguments: &[Value]| Edge {
        block,
        arguments: arguments.to_vec(),
    };
    let fibonacci = vec![
        Block {
            params: vec![0],
            instructions: vec![(1, Op::Const(0)), (2, Op::Const(1))],
            end: End::Jump(edge(1, &[0, 1, 2])),
        },
        // while n > 0 { (n, a, b) = (n - 1, b, a + b) }
        Block {
            params: vec![3, 4, 5],
            instructions: vec![],
            end: End::IfPositive(3, edge(2, &[]), edge(3, &[])),
        },
        Block {
            params: vec![],
            instructions: vec![(6, Op::Add(4, 5)), (7, Op::Const(1)), (8, Op::Sub(3, 7))],
            end: End::Jump(edge(1, &[8, 5, 6])),
        },
        Block {
            params: vec![],
            instructions: vec![],
            end: End::Return(4),
        },
    ];
    let sum = vec![
        Block {
            params: vec![0],
            instructions: vec![(1, Op::Const(0))],
            end: End::Jump(edge(1, &[0, 1])),
        },
        Block {
            params: vec![2, 3],
            instructions: vec![],
            end: End::IfPositive(2, edge(2, &[]), edge(3, &[])),
        },
        Block {
            params: vec![],
            instructions: vec![
                (4, Op::Call(0, vec![2])),
                (5, Op::Add(3, 4)),
                (6, Op::Const(1)),
                (7, Op::Sub(2, 6)),
            ],
            end: End::Jump(edge(1, &[7, 5])),
        },
        Block {
            params: vec![],
            instructions: vec![],
            end: End::Return(3),
        },
    ];
    vec![
        Function {
            name: "fibonacci",
            blocks: fibonacci,
        },
        Function {
            name: "sum",
            blocks: sum,
        },
    ]
}
