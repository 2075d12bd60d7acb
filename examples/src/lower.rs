//! Lowers functions to a text like LLVM's: registers become stack slots, instructions become operations where LLVM has one with the same meaning, and
//! calls of intrinsics otherwise. No decision depends on the text of a mnemonic.

use std::fmt::{Display, Write as _};

use ptxkit::ir::facts::{Callees, Facts, Flow, FunctionFacts, Space, Targets, TypedOperand};
use ptxkit::ir::{FunctionKind, GuardSense, Operand, RegId, Statement};
use ptxkit::isa::{Modifier as M, ModifierClass, Opcode, ScalarType as T, StateSpace, TypeKind};

/// Operations of LLVM for floating-point, signed, and other operands.
const OPERATIONS: [(Opcode, [&str; 3]); 10] = [
    (Opcode::Add, ["fadd", "add", "add"]),
    (Opcode::Sub, ["fsub", "sub", "sub"]),
    (Opcode::Div, ["fdiv", "sdiv", "udiv"]),
    (Opcode::Rem, ["frem", "srem", "urem"]),
    (Opcode::And, ["and", "and", "and"]),
    (Opcode::Or, ["or", "or", "or"]),
    (Opcode::Xor, ["xor", "xor", "xor"]),
    (Opcode::Min, ["minnum", "smin", "umin"]),
    (Opcode::Max, ["maxnum", "smax", "umax"]),
    (Opcode::Selp, ["select", "select", "select"]),
];

fn type_name(ty: T) -> String {
    match (ty, ty.element()) {
        (T::Pred, _) => "i1".into(),
        (T::F16, _) => "half".into(),
        (T::Bf16, _) => "bfloat".into(),
        (T::F32, _) => "float".into(),
        (T::F64, _) => "double".into(),
        (_, Some(element)) => format!("<{} x {}>", ty.elements(), type_name(element)),
        _ => format!("i{}", ty.bits()),
    }
}

fn address_space(space: Space) -> u32 {
    let Space::State(space) = space else { return 0 };
    match space.base() {
        StateSpace::Global => 1,
        StateSpace::Shared => 3,
        StateSpace::Const => 4,
        StateSpace::Local => 5,
        StateSpace::Param => 101,
        _ => 0,
    }
}

/// The name of the operation that computes the results of an instruction with these types.
fn operation(facts: &Facts<'_>, result: Option<T>, source: Option<T>) -> Option<String> {
    let (opcode, signature) = (facts.opcode()?, facts.signature()?);
    let kind = |ty: Option<T>| match ty {
        Some(ty) if ty.is_float() => 0,
        Some(ty) if ty.kind() == TypeKind::Signed => 1,
        _ => 2,
    };
    let is_plain = signature
        .of_class(ModifierClass::Saturation)
        .next()
        .is_none();
    let arithmetic = OPERATIONS
        .iter()
        .find(|(name, _)| *name == opcode && is_plain);
    if let Some((_, names)) = arithmetic {
        let rounding = signature.of_class(ModifierClass::Rounding).map(M::text);
        return Some(names[kind(source)].to_owned() + &rounding.collect::<String>());
    }
    let wider = result.map(T::bits) > source.map(T::bits);
    let access = facts.memory().next();
    Some(match (opcode, access) {
        (Opcode::Mov, _) => "copy".into(),
        (Opcode::Setp, _) if facts.destinations().count() == 1 && facts.sources().count() == 2 => {
            let comparison = signature.of_class(ModifierClass::Comparison).map(M::text);
            let name = ["fcmp", "icmp signed", "icmp unsigned"][kind(source)];
            name.to_owned() + &comparison.collect::<String>()
        }
        (Opcode::Cvt, _) if is_plain => match (kind(source), kind(result)) {
            (0, 0) => {
                if wider {
                    "fpext"
                } else {
                    "fptrunc"
                }
            }
            (0, _) => ["", "fptosi", "fptoui"][kind(result)],
            (_, 0) => ["", "sitofp", "uitofp"][kind(source)],
            (1, _) if wider => "sext",
            _ => {
                if wider {
                    "zext"
                } else {
                    "trunc"
                }
            }
        }
        .into(),
        (Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red, Some(access)) => {
            let name = match (access.reads(), access.writes()) {
                (true, true) => "atomicrmw",
                (true, false) => "load",
                _ => "store",
            };
            let update = signature.of_class(ModifierClass::Operation).next();
            let marks = [update, access.order, access.scope].map(|mark| mark.map_or("", M::text));
            let volatile = if facts.is_volatile() { " volatile" } else { "" };
            format!(
                "{name}{volatile}{} addrspace({})",
                marks.concat(),
                address_space(access.space)
            )
        }
        _ => format!("call @ptx.{}", signature.text()),
    })
}

/// A function that is being lowered.
#[derive(Debug)]
pub struct Lowering<'a> {
    function: FunctionFacts<'a>,
    /// The lowered text.
    pub text: String,
    temporaries: u32,
    /// The number of instructions that were lowered.
    pub lowered: usize,
    /// The instructions that were not lowered, with the reason.
    pub refused: Vec<String>,
}

type Result<T> = std::result::Result<T, &'static str>;

impl<'a> Lowering<'a> {
    /// A function without text; [`lower`](Self::lower) adds it.
    #[must_use]
    pub fn new(function: FunctionFacts<'a>) -> Self {
        Self {
            function,
            text: String::new(),
            temporaries: 0,
            lowered: 0,
            refused: Vec::new(),
        }
    }

    fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.text, "{line}");
    }

    /// Adds an operation and returns the name of its result.
    fn emit(&mut self, operation: impl Display) -> String {
        self.temporaries += 1;
        let result = format!("%t{}", self.temporaries);
        self.line(format_args!("  {result} = {operation}"));
        result
    }

    fn register(&self, register: RegId) -> (String, T) {
        let (body, module) = (self.function.body(), self.function.module());
        let declared = body
            .reg_decl_of(register)
            .and_then(|declaration| declaration.ty.known());
        (
            format!("%{}", body.register_name(module, register)),
            declared.unwrap_or(T::B32),
        )
    }

    /// Converts the bits of a value; those that are missing are zeros, or copies of the sign of a signed type.
    fn convert(&mut self, value: String, from: T, to: T) -> String {
        if type_name(from) == type_name(to) {
            return value;
        }
        let operation = match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Equal => "bitcast",
            std::cmp::Ordering::Greater => "trunc bits",
            _ if from.kind() == TypeKind::Signed => "sext bits",
            _ => "zext bits",
        };
        self.emit(format_args!(
            "{operation} {} {value} to {}",
            type_name(from),
            type_name(to)
        ))
    }

    fn read(&mut self, operand: Operand, ty: T) -> Result<String> {
        let (body, module) = (self.function.body(), self.function.module());
        let pool = body.pool();
        Ok(match operand {
            Operand::Reg(register) => {
                let (slot, declared) = self.register(register);
                let value = self.emit(format_args!("load {}, ptr {slot}", type_name(declared)));
                self.convert(value, declared, ty)
            }
            Operand::Small(value) => value.to_string(),
            Operand::Imm(id) => {
                let value = pool.immediate(id).ok_or("an unknown constant")?.value;
                format!("0x{:X}", value.bits())
            }
            Operand::Special(special) => {
                let value = self.emit(format_args!("call @sreg{}()", special.text()));
                self.convert(value, special.scalar_type(), ty)
            }
            Operand::Component(selector, vector) => {
                let vector = self.read(pool.get(vector), ty)?;
                self.emit(format_args!("extractelement {vector}, {selector}"))
            }
            Operand::Not(inner) => {
                let value = self.read(pool.get(inner), T::Pred)?;
                self.emit(format_args!("xor i1 {value}, true"))
            }
            Operand::Symbol(symbol) => format!("@{}", module.name(module.symbols()[symbol].name)),
            Operand::Var(variable) => format!("%{}", module.name(body.vars()[variable].name)),
            Operand::Address(id) => {
                let address = *pool.address(id).ok_or("an unknown address")?;
                let base = self.read(address.base, T::B64)?;
                match pool.integer(address.offset) {
                    Some(offset) => {
                        self.emit(format_args!("getelementptr i8, ptr {base}, {offset}"))
                    }
                    None => base,
                }
            }
            Operand::Vector(list) => {
                let parts = self.read_all(pool.list(list), |_| ty)?;
                self.emit(format_args!(
                    "concat {} {}",
                    type_name(ty),
                    parts.join(", ")
                ))
            }
            _ => return Err("an operand without a value"),
        })
    }

    fn read_all(&mut self, operands: &[Operand], ty: impl Fn(usize) -> T) -> Result<Vec<String>> {
        operands
            .iter()
            .enumerate()
            .map(|(index, operand)| self.read(*operand, ty(index)))
            .collect()
    }

    fn write(&mut self, operand: Operand, ty: T, value: String) -> Result<()> {
        match operand {
            Operand::Sink => {}
            Operand::Reg(register) => {
                let (slot, declared) = self.register(register);
                let value = self.convert(value, ty, declared);
                self.line(format_args!(
                    "  store {} {value}, ptr {slot}",
                    type_name(declared)
                ));
            }
            Operand::Vector(list) => {
                for (index, part) in self.function.body().pool().list(list).iter().enumerate() {
                    let part_value = self.emit(format_args!("extractvalue {value}, {index}"));
                    self.write(*part, ty, part_value)?;
                }
            }
            _ => return Err("a result that is not a register"),
        }
        Ok(())
    }

    fn instruction(&mut self, facts: Facts<'_>) -> Result<()> {
        if !facts.is_known() {
            return Err("an unknown instruction");
        }
        let guard = match facts.guard_register() {
            Some((register, sense)) => {
                let predicate = self.read(Operand::Reg(register.register), T::Pred)?;
                Some((predicate, sense == GuardSense::Negated))
            }
            None => None,
        };
        let end = self.temporaries;
        if let Some((predicate, is_negated)) = &guard {
            let [then, otherwise] = if *is_negated {
                ["end", "then"]
            } else {
                ["then", "end"]
            };
            self.line(format_args!(
                "  br i1 {predicate}, label %{then}{end}, label %{otherwise}{end}"
            ));
            self.line(format_args!("then{end}:"));
        }
        match facts.flow() {
            Flow::Next | Flow::Call => self.computation(facts)?,
            Flow::Return => self.line("  ret void"),
            Flow::Jump | Flow::Table => self.jump(facts)?,
            flow => self.line(format_args!("  call @ptx.{flow:?}()\n  unreachable")),
        }
        if guard.is_some() {
            if matches!(facts.flow(), Flow::Next | Flow::Call) {
                self.line(format_args!("  br label %end{end}"));
            }
            self.line(format_args!("end{end}:"));
        }
        Ok(())
    }

    fn jump(&mut self, facts: Facts<'_>) -> Result<()> {
        let (body, module) = (self.function.body(), self.function.module());
        match facts.targets() {
            Targets::Label(label) => {
                self.line(format_args!(
                    "  br label %{}",
                    body.label_name(module, label)
                ));
            }
            Targets::List(list) => {
                let labels: Vec<String> = list
                    .operands
                    .iter()
                    .filter_map(|operand| match operand {
                        Operand::Label(label) => {
                            Some(format!("label %{}", body.label_name(module, *label)))
                        }
                        _ => None,
                    })
                    .collect();
                let source = facts.source(0).ok_or("a table without an index")?;
                let index = self.read(source.operand, T::U32)?;
                let labels = labels.join(", ");
                self.line(format_args!("  switch i32 {index} [{labels}]"));
            }
            _ => return Err("an unknown target"),
        }
        Ok(())
    }

    /// An instruction that computes, accesses memory or calls: its operands are the arguments of one operation.
    fn computation(&mut self, facts: Facts<'_>) -> Result<()> {
        let pool = self.function.body().pool();
        let results: Vec<TypedOperand> = facts.destinations().collect();
        let mut arguments = Vec::new();
        for operand in facts.operands().filter(|operand| !operand.is_destination()) {
            let ty = operand.ty.unwrap_or(T::B64);
            let components = match &operand.operand {
                Operand::Vector(list) if facts.opcode() != Some(Opcode::Mov) => pool.list(*list),
                Operand::Bracket(list) | Operand::List(list) => pool.list(*list),
                single => std::slice::from_ref(single),
            };
            for component in components {
                arguments.push(format!("{} {}", type_name(ty), self.read(*component, ty)?));
            }
        }
        let arguments = arguments.join(", ");
        let ty = results.first().and_then(|result| result.ty);
        let source = facts.source(0).and_then(|source| source.ty);
        let operation = match facts.callees() {
            Some(Callees::Function(symbol)) => {
                let module = self.function.module();
                format!("call @{}", module.name(module.symbols()[symbol].name))
            }
            Some(_) => "call indirect".into(),
            None => operation(&facts, ty, source).ok_or("an unknown opcode")?,
        };
        let value = match ty {
            Some(ty) => self.emit(format_args!("{operation} {} <- {arguments}", type_name(ty))),
            None => {
                self.line(format_args!("  {operation} {arguments}"));
                return Ok(());
            }
        };
        for (index, result) in results.iter().enumerate() {
            let ty = result.ty.unwrap_or(T::Pred);
            let value = match index {
                0 => value.clone(),
                _ => self.emit(format_args!("extractvalue {value}, result {index}")),
            };
            self.write(result.operand, ty, value)?;
        }
        Ok(())
    }

    /// Adds the text of the whole function.
    pub fn lower(&mut self) {
        let (body, module) = (self.function.body(), self.function.module());
        let function = &module.functions()[self.function.id()];
        let parameters = function
            .interface
            .params
            .of(module.params())
            .iter()
            .map(|parameter| {
                let size = parameter
                    .layout(module.pool())
                    .and_then(|layout| layout.size);
                format!(
                    "[{} x i8] %{}",
                    size.unwrap_or(0),
                    parameter.name.map_or("_", |name| module.name(name))
                )
            });
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let convention = if function.kind == FunctionKind::Entry {
            "ptx_kernel "
        } else {
            ""
        };
        self.line(format_args!(
            "define {convention}void @{}({parameters}) {{",
            module.name(function.name)
        ));
        for (id, _) in body.registers().iter() {
            let (slot, ty) = self.register(id);
            self.line(format_args!("  {slot} = alloca {}", type_name(ty)));
        }
        for (_, statement) in body.statements() {
            match statement {
                Statement::Label(label) => {
                    self.line(format_args!("{}:", body.label_name(module, label)))
                }
                Statement::Decl(declaration)
                    if body.declarations().decls[declaration].space != StateSpace::Reg =>
                {
                    let declarations = body.declarations();
                    for declarator in declarations.declarators(declaration) {
                        let layout =
                            declarations.decls[declaration].layout(declarator, body.pool());
                        let size = layout.and_then(|layout| layout.size).unwrap_or(0);
                        let name = module.name(declarator.name);
                        self.line(format_args!("  %{name} = alloca [{size} x i8]"));
                    }
                }
                Statement::Inst(id) => {
                    let length = self.text.len();
                    match self.instruction(self.function.inst(id)) {
                        Ok(()) => self.lowered += 1,
                        Err(reason) => {
                            self.text.truncate(length);
                            let mnemonic =
                                self.function.inst(id).signature().map_or("?", |s| s.text());
                            self.refused.push(format!("{mnemonic}: {reason}"));
                        }
                    }
                }
                _ => {}
            }
        }
        self.line("}");
    }
}
