//! The instructions of litmus tests and their notation.

use super::{Litmus, LitmusError, error};
use crate::event::{MemoryProxy, MemoryScope, Order};

/// A source of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A constant.
    Constant(i64),
    /// A register of the thread.
    Register(usize),
}

/// The operation of an atomic operation or reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicOperation {
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Exchange.
    Exchange,
    /// Compare and swap.
    CompareAndSwap,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
}

/// An arithmetic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// A copy of the first operand.
    Move,
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Multiplication.
    Mul,
    /// Division; by zero, the result is zero.
    Div,
}

/// The condition of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

impl Condition {
    pub(super) fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Self::Equal => a == b,
            Self::NotEqual => a != b,
            Self::Less => a < b,
            Self::LessOrEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterOrEqual => a >= b,
        }
    }
}

/// An instruction of a litmus test.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Instruction {
    /// A load.
    Load {
        /// The order.
        order: Order,
        /// The scope.
        scope: MemoryScope,
        /// The method of memory access.
        proxy: MemoryProxy,
        /// The register that is written.
        destination: usize,
        /// The variable.
        variable: usize,
    },
    /// A store.
    Store {
        /// The order.
        order: Order,
        /// The scope.
        scope: MemoryScope,
        /// The method of memory access.
        proxy: MemoryProxy,
        /// The variable.
        variable: usize,
        /// The value.
        value: Operand,
    },
    /// An atomic operation or reduction.
    Atomic {
        /// The order.
        order: Order,
        /// The scope.
        scope: MemoryScope,
        /// The operation.
        operation: AtomicOperation,
        /// The register that is written; `None` for a reduction.
        destination: Option<usize>,
        /// The variable.
        variable: usize,
        /// The operands; the second one is for compare and swap.
        operands: [Operand; 2],
    },
    /// A fence.
    Fence(Order, MemoryScope),
    /// A proxy fence; `None` for aliases.
    ProxyFence(Option<MemoryProxy>),
    /// A barrier of the CTA.
    Barrier {
        /// The number of the barrier.
        barrier: Operand,
        /// The number of arrivals that the barrier waits for; `None` if it waits for nothing.
        quorum: Option<Operand>,
        /// Whether the thread waits.
        waits: bool,
    },
    /// Arithmetic.
    Arithmetic(Arithmetic, usize, [Operand; 2]),
    /// A place to branch to.
    Label(String),
    /// A branch to a label.
    Branch(String),
    /// A conditional branch to a label.
    BranchIf(Condition, [Operand; 2], String),
}

/// The words of an instruction.
struct Words<'a> {
    opcode: &'a str,
    modifiers: Vec<&'a str>,
    operands: Vec<&'a str>,
    line: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, line: usize) -> Self {
        let text = text.trim();
        let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let mut parts = mnemonic.split('.');
        Self {
            opcode: parts.next().unwrap_or_default(),
            modifiers: parts.collect(),
            operands: operands
                .split(',')
                .map(|operand| {
                    operand
                        .trim()
                        .trim_start_matches('[')
                        .trim_end_matches(']')
                        .trim()
                })
                .filter(|operand| !operand.is_empty())
                .collect(),
            line,
        }
    }

    /// Refuses modifiers and operands that would not be considered.
    fn check(&self) -> Result<(), LitmusError> {
        const ORDERS: [&str; 8] = [
            "weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio",
        ];
        const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
        const FENCES: [&str; 8] = [
            "gl", "proxy", "alias", "texture", "surface", "constant", "generic", "async",
        ];
        let is_access = access(self.opcode).is_some();
        let is_atomic = matches!(self.opcode, "atom" | "red");
        let is_fence = matches!(self.opcode, "fence" | "membar");
        let is_barrier = matches!(self.opcode, "bar" | "barrier");
        let is_ordered = is_access || is_atomic || is_fence;
        let unknown = self.modifiers.iter().find(|&modifier| {
            let is_modifier = is_ordered
                && (ORDERS.contains(modifier) || SCOPES.contains(modifier))
                || is_atomic && operation_of(modifier).is_some()
                || is_fence && FENCES.contains(modifier)
                || is_barrier && matches!(*modifier, "cta" | "sync" | "arrive");
            !is_modifier
        });
        if let Some(modifier) = unknown {
            let message = format!("`{}` has no modifier `.{modifier}`", self.opcode);
            return Err(error(self.line, message));
        }
        let most = match self.opcode {
            "fence" | "membar" => 0,
            "goto" => 1,
            "red" | "mov" => 2 + usize::from(self.modifiers.contains(&"cas")),
            "atom" => 3 + usize::from(self.modifiers.contains(&"cas")),
            _ if is_access => 2,
            _ => 3,
        };
        match self.operands.get(most) {
            Some(operand) => Err(error(
                self.line,
                format!("`{}` has an operand too many: `{operand}`", self.opcode),
            )),
            None => Ok(()),
        }
    }

    fn order(&self) -> Order {
        let has = |word: &str| self.modifiers.contains(&word);
        if has("sc") {
            Order::SequentiallyConsistent
        } else if has("acq_rel") {
            Order::AcquireRelease
        } else if has("acquire") {
            Order::Acquire
        } else if has("release") {
            Order::Release
        } else if has("relaxed") || has("volatile") || has("mmio") {
            Order::Relaxed
        } else {
            Order::Weak
        }
    }

    fn scope(&self) -> MemoryScope {
        let scopes = [
            MemoryScope::Cta,
            MemoryScope::Cluster,
            MemoryScope::Gpu,
            MemoryScope::Sys,
        ];
        let is_volatile = self.modifiers.contains(&"volatile");
        scopes
            .into_iter()
            .find(|scope| !is_volatile && self.modifiers.contains(&scope.name()))
            .unwrap_or(MemoryScope::Sys)
    }

    fn operand(&self, index: usize) -> Result<&'a str, LitmusError> {
        self.operands
            .get(index)
            .copied()
            .ok_or_else(|| error(self.line, format!("`{}` lacks an operand", self.opcode)))
    }
}

/// The proxy of an opcode, and whether it loads.
fn access(opcode: &str) -> Option<(MemoryProxy, bool)> {
    Some(match opcode {
        "ld" => (MemoryProxy::Generic, true),
        "st" => (MemoryProxy::Generic, false),
        "tld" => (MemoryProxy::Texture, true),
        "suld" => (MemoryProxy::Surface, true),
        "sust" => (MemoryProxy::Surface, false),
        "cold" => (MemoryProxy::Constant, true),
        _ => return None,
    })
}

fn operation_of(modifier: &str) -> Option<AtomicOperation> {
    Some(match modifier {
        "add" => AtomicOperation::Add,
        "sub" => AtomicOperation::Sub,
        "exch" => AtomicOperation::Exchange,
        "cas" => AtomicOperation::CompareAndSwap,
        "and" => AtomicOperation::And,
        "or" => AtomicOperation::Or,
        "xor" => AtomicOperation::Xor,
        "min" => AtomicOperation::Min,
        "max" => AtomicOperation::Max,
        _ => return None,
    })
}

fn atomic_operation(words: &Words<'_>) -> Option<AtomicOperation> {
    words.modifiers.iter().copied().find_map(operation_of)
}

impl Litmus {
    fn operand(&mut self, thread: usize, text: &str) -> Operand {
        match text.parse() {
            Ok(value) => Operand::Constant(value),
            Err(_) => Operand::Register(self.register(thread, text)),
        }
    }

    fn register(&mut self, thread: usize, name: &str) -> usize {
        self.threads
            .get_mut(thread)
            .map_or(0, |thread| thread.add_register(name))
    }

    /// Reads an instruction and appends it to a thread.
    pub(super) fn add_instruction(
        &mut self,
        thread: usize,
        text: &str,
        line: usize,
    ) -> Result<(), LitmusError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        let instruction = match text.strip_suffix(':') {
            Some(label) => Instruction::Label(label.trim().to_owned()),
            None => self.instruction(thread, text, line)?,
        };
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.instructions.push(instruction);
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        thread: usize,
        text: &str,
        line: usize,
    ) -> Result<Instruction, LitmusError> {
        let words = Words::new(text, line);
        words.check()?;
        if let Some((proxy, is_load)) = access(words.opcode) {
            let (order, scope) = (words.order(), words.scope());
            let (first, second) = (words.operand(0)?, words.operand(1)?);
            // A load of a constant is a move.
            if let (true, Ok(constant)) = (is_load, second.parse()) {
                let operands = [Operand::Constant(constant), Operand::Constant(0)];
                let destination = self.register(thread, first);
                return Ok(Instruction::Arithmetic(
                    Arithmetic::Move,
                    destination,
                    operands,
                ));
            }
            return Ok(if is_load {
                Instruction::Load {
                    order,
                    scope,
                    proxy,
                    destination: self.register(thread, first),
                    variable: self.add_variable(second),
                }
            } else {
                Instruction::Store {
                    order,
                    scope,
                    proxy,
                    variable: self.add_variable(first),
                    value: self.operand(thread, second),
                }
            });
        }
        match words.opcode {
            "atom" | "red" => self.atomic(thread, &words),
            "fence" | "membar" => fence(&words),
            "bar" | "barrier" => self.barrier(thread, &words),
            "goto" => Ok(Instruction::Branch(words.operand(0)?.to_owned())),
            _ => self.arithmetic_or_branch(thread, &words),
        }
    }

    fn atomic(&mut self, thread: usize, words: &Words<'_>) -> Result<Instruction, LitmusError> {
        let Some(operation) = atomic_operation(words) else {
            return Err(error(words.line, "unknown atomic operation"));
        };
        let is_atom = words.opcode == "atom";
        let mut next = 0;
        let mut operand = || {
            next += 1;
            words.operand(next - 1)
        };
        let destination = if is_atom { Some(operand()?) } else { None };
        let variable = operand()?;
        let first = operand()?;
        let second = if operation == AtomicOperation::CompareAndSwap {
            operand()?
        } else {
            first
        };
        Ok(Instruction::Atomic {
            order: match words.order() {
                Order::Weak => Order::Relaxed,
                order => order,
            },
            scope: words.scope(),
            operation,
            destination: destination.map(|name| self.register(thread, name)),
            variable: self.add_variable(variable),
            operands: [self.operand(thread, first), self.operand(thread, second)],
        })
    }

    fn barrier(&mut self, thread: usize, words: &Words<'_>) -> Result<Instruction, LitmusError> {
        let number = words.operands.get(1).or(words.operands.first());
        let Some(number) = number else {
            return Err(error(words.line, "a barrier lacks a number"));
        };
        Ok(Instruction::Barrier {
            barrier: self.operand(thread, number),
            quorum: words
                .operands
                .get(2)
                .map(|quorum| self.operand(thread, quorum)),
            waits: !words.modifiers.contains(&"arrive"),
        })
    }

    fn arithmetic_or_branch(
        &mut self,
        thread: usize,
        words: &Words<'_>,
    ) -> Result<Instruction, LitmusError> {
        let condition = match words.opcode {
            "beq" => Some(Condition::Equal),
            "bne" => Some(Condition::NotEqual),
            "blt" => Some(Condition::Less),
            "ble" => Some(Condition::LessOrEqual),
            "bgt" => Some(Condition::Greater),
            "bge" => Some(Condition::GreaterOrEqual),
            _ => None,
        };
        if let Some(condition) = condition {
            let operands = [
                self.operand(thread, words.operand(0)?),
                self.operand(thread, words.operand(1)?),
            ];
            let label = words.operand(2)?.to_owned();
            return Ok(Instruction::BranchIf(condition, operands, label));
        }
        let operation = match words.opcode {
            "mov" => Arithmetic::Move,
            "add" => Arithmetic::Add,
            "sub" => Arithmetic::Sub,
            "mul" => Arithmetic::Mul,
            "div" => Arithmetic::Div,
            opcode => return Err(error(words.line, format!("unknown instruction `{opcode}`"))),
        };
        let first = words.operand(1)?;
        let second = words.operands.get(2).copied().unwrap_or("0");
        Ok(Instruction::Arithmetic(
            operation,
            self.register(thread, words.operand(0)?),
            [self.operand(thread, first), self.operand(thread, second)],
        ))
    }
}

fn fence(words: &Words<'_>) -> Result<Instruction, LitmusError> {
    if words.modifiers.first() == Some(&"proxy") {
        return Ok(Instruction::ProxyFence(match words.modifiers.get(1) {
            Some(&"alias") => None,
            Some(&"texture") => Some(MemoryProxy::Texture),
            Some(&"surface") => Some(MemoryProxy::Surface),
            Some(&"constant") => Some(MemoryProxy::Constant),
            Some(&"generic") => Some(MemoryProxy::Generic),
            Some(&"async") => Some(MemoryProxy::Asynchronous),
            _ => return Err(error(words.line, "unknown proxy")),
        }));
    }
    // `membar` is `fence.sc`; a fence without an order is `fence.acq_rel`.
    let order = match (words.opcode, words.order()) {
        ("membar", _) => Order::SequentiallyConsistent,
        (_, Order::Weak) => Order::AcquireRelease,
        (_, order) => order,
    };
    let scope = if words.modifiers.contains(&"gl") {
        MemoryScope::Gpu
    } else {
        words.scope()
    };
    Ok(Instruction::Fence(order, scope))
}
