//! The variables of a module: their addresses and initial values.

use core::ops::Range;
use std::collections::HashMap;

use ptx_analysis::values::VariableRef;
use ptx_ir::ConstKind;
use ptx_ir::{
    Binding, DeclId, Declarations, Declarator, FuncId, Item, Module, NameId, Operand, OperandPool,
    SymbolId, SymbolKind, VarDecl, VarId,
};
use ptx_isa::StateSpace;

use super::layout::{Layout, Members, declaration_order};
use super::shared::{self, Name, SharedSizes};
use super::users::UsersOf;

/// The generic address of the first byte of shared memory.
pub(crate) const SHARED: u64 = 0x7000_0000_0000;
/// The generic address of the first byte of the stack of a thread.
pub(crate) const LOCAL: u64 = 0x7100_0000_0000;
/// The generic address of the first byte of the parameters of the kernel.
pub(crate) const PARAMETERS: u64 = 0x7200_0000_0000;
/// The address of the first function of the first module.
pub(crate) const CODE: u64 = 0x7300_0000_0000;
/// Bytes between the shared memory of one CTA of a cluster and that of the next one.
pub(crate) const SHARED_STRIDE: u64 = 1 << 24;

/// Bytes between the addresses of functions.
pub(crate) const CODE_BYTES: u64 = 16;

/// Bytes between variables in `.global` and `.const`.
const GAP: u64 = 16;

/// The bytes of a variable for a texture, a sampler or a surface.
pub(crate) const HANDLE: u64 = 8;

/// A value that is written into a variable before the first launch.
#[derive(Clone, Debug)]
pub(crate) struct Initial {
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The variables in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// The address of each variable, in the window of its space.
    symbols: HashMap<SymbolId, u64>,
    /// The address of each variable that is declared inside a function.
    locals: HashMap<(FuncId, VarId), u64>,
    /// The bytes of variables in `.global`, `.const` and `.shared` whose size is known.
    sizes: HashMap<Name, u64>,
    /// The bytes of the elements of arrays.
    elements: HashMap<Name, u64>,
    /// The bytes that are written before the first launch.
    pub(crate) initial: Vec<Initial>,
    /// Ranges of addresses in `.global` and `.const`, by name.
    pub(crate) ranges: Vec<(Box<str>, u64, u64)>,
    /// The bytes of the variables in `.const`.
    pub(crate) constant_bytes: u64,
    /// The sizes of shared memory.
    pub(crate) shared: SharedSizes,
    /// The addresses in `.global` and `.const`; `None` if there is not enough memory.
    pub(crate) range: Option<Range<u64>>,
    /// The address of the first function.
    code: u64,
}

/// The places of a module in the address space.
pub(crate) struct Placement<'a> {
    /// The address of the first function.
    pub(crate) code: u64,
    /// Allocates bytes at a multiple of a number for the variables in `.global` and `.const`.
    pub(crate) allocate: &'a mut dyn FnMut(u64, u64) -> Option<u64>,
}

/// The bytes of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Object {
    pub(crate) name: Box<str>,
    /// Whether it is in shared memory.
    pub(crate) is_shared: bool,
    /// The address of the first byte, in shared memory its offset.
    pub(crate) start: u64,
    /// One past the last byte.
    pub(crate) end: u64,
}

/// The declarations of variables of the module, or of a function.
struct Scope<'m> {
    module: &'m Module,
    declarations: &'m Declarations,
    /// The declarations that are not removed, in the order of the text.
    order: Vec<DeclId>,
    pool: &'m OperandPool,
    function: Option<FuncId>,
}

/// The places where variables are put.
struct Layouts<'u> {
    global: Layout,
    shared: shared::Declarations,
    users: &'u UsersOf,
    ranges: Vec<NumberedVariables>,
}

/// The variables of a declarator with a count, such as `t<4>`.
struct NumberedVariables {
    first: Name,
    /// Bytes from a variable to the next one.
    stride: u64,
}

/// A variable in `.global` or `.const`, with its address; at first its offset among the variables of the module.
struct PlacedVariable {
    name: Name,
    declarator: Declarator,
    decl: VarDecl,
    address: u64,
}

impl Layouts<'_> {
    fn add_range(&mut self, count: Option<i64>, first: Name, stride: u64) {
        if count.is_some() {
            self.ranges.push(NumberedVariables { first, stride });
        }
    }
}

impl Variables {
    pub(super) fn new(module: &Module, users: &UsersOf, placement: Placement<'_>) -> Self {
        let mut variables = Self {
            code: placement.code,
            ..Self::default()
        };
        let mut layouts = Layouts {
            global: Layout::default(),
            shared: shared::Declarations::default(),
            users,
            ranges: Vec::new(),
        };
        let scope = Scope {
            module,
            declarations: module.declarations(),
            order: module
                .items()
                .filter_map(|(_, item)| match item {
                    Item::Decl(id) => Some(id),
                    _ => None,
                })
                .collect(),
            pool: module.pool(),
            function: None,
        };
        let mut placed_in_module = variables.place(&scope, &mut layouts);
        let mut placed_in_functions = Vec::new();
        for (id, _) in module.functions().iter() {
            if let Some(body) = module.body(id) {
                let scope = Scope {
                    module,
                    declarations: body.declarations(),
                    order: declaration_order(body),
                    pool: body.pool(),
                    function: Some(id),
                };
                let placed = variables.place(&scope, &mut layouts);
                placed_in_functions.push((scope, placed));
            }
        }
        let (addresses, sizes) = layouts.shared.place();
        variables.shared = sizes;
        for (name, address) in addresses {
            match name {
                Name::Symbol(symbol) => variables.symbols.insert(symbol, address),
                Name::Local(function, var) => variables.locals.insert((function, var), address),
            };
        }
        let placed = placed_in_functions
            .iter_mut()
            .flat_map(|(_, placed)| placed);
        variables.move_to_memory(
            placed_in_module.iter_mut().chain(placed),
            &layouts.global,
            placement.allocate,
        );
        variables.add_members(module, &layouts.ranges);
        variables.initialize_all(&scope, &placed_in_module);
        for (scope, placed) in placed_in_functions {
            variables.initialize_all(&scope, &placed);
        }
        variables
    }

    /// Allocates memory for the variables in `.global` and `.const`, whose addresses were offsets so far.
    fn move_to_memory<'p>(
        &mut self,
        placed: impl Iterator<Item = &'p mut PlacedVariable>,
        layout: &Layout,
        allocate: &mut dyn FnMut(u64, u64) -> Option<u64>,
    ) {
        if layout.bytes() == 0 {
            self.range = Some(0..0);
            return;
        }
        let Some(start) = allocate(layout.bytes(), layout.align) else {
            return;
        };
        self.range = Some(start..start + layout.bytes());
        for variable in placed {
            variable.address += start;
            match variable.name {
                Name::Symbol(symbol) => self.symbols.insert(symbol, variable.address),
                Name::Local(function, var) => self.locals.insert((function, var), variable.address),
            };
        }
        for (_, range_start, range_end) in &mut self.ranges {
            *range_start += start;
            *range_end += start;
        }
    }

    /// Gives the variables of a scope their addresses, and returns those that may have initial values.
    fn place(&mut self, scope: &Scope<'_>, layouts: &mut Layouts<'_>) -> Vec<PlacedVariable> {
        let mut placed = Vec::new();
        for &id in &scope.order {
            let decl = &scope.declarations.decls[id];
            let space = decl.space.base();
            if !matches!(
                space,
                StateSpace::Global | StateSpace::Const | StateSpace::Shared | StateSpace::Tex
            ) {
                continue;
            }
            for declarator in scope.declarations.declarators(id) {
                let layout = decl.layout(declarator, scope.pool);
                let (size, align) = match layout {
                    Some(layout) => (layout.size, layout.align),
                    None => (Some(opaque_bytes(declarator, scope.pool)), HANDLE),
                };
                let count = scope.pool.integer(declarator.count);
                let stride = size
                    .unwrap_or(0)
                    .checked_next_multiple_of(align.max(1))
                    .unwrap_or(u64::MAX);
                let total_size = match count {
                    Some(count) => Some(stride.saturating_mul(count.max(1) as u64)),
                    None => size,
                };
                if space == StateSpace::Shared {
                    // The address of a shared variable depends on the other ones.
                    if let Some(name) = self.record_address(scope, declarator, u64::MAX) {
                        self.add_element_size(name, decl);
                        let users = match name {
                            Name::Symbol(symbol) => layouts.users.of_symbol(symbol),
                            Name::Local(function, _) => layouts.users.of_function(function),
                        };
                        layouts.shared.add(name, total_size, align, users);
                        layouts.add_range(count, name, stride);
                        self.sizes.extend(size.map(|size| (name, size)));
                    }
                    continue;
                }
                if space == StateSpace::Const {
                    self.constant_bytes += total_size.unwrap_or(0);
                }
                let address = layouts.global.add(total_size.unwrap_or(0), align);
                // Variables are apart, so that a checker finds accesses past their ends.
                layouts.global.add(GAP, 1);
                if let Some(first) = self.record_address(scope, declarator, address) {
                    self.add_element_size(first, decl);
                    layouts.add_range(count, first, stride);
                    self.sizes.extend(size.map(|size| (first, size)));
                    let name = scope.module.name(declarator.name);
                    let end = address.saturating_add(total_size.unwrap_or(0));
                    self.ranges.push((name.into(), address, end));
                    placed.push(PlacedVariable {
                        name: first,
                        declarator: *declarator,
                        decl: *decl,
                        address,
                    });
                }
            }
        }
        placed
    }

    fn add_element_size(&mut self, name: Name, decl: &VarDecl) {
        let bytes = decl.ty.known().map(|ty| u64::from(ty.bits() / 8));
        self.elements.extend(bytes.map(|bytes| (name, bytes)));
    }

    /// Gives a member of a range the sizes of the first one.
    fn copy_sizes(&mut self, first: Name, member: Name) {
        for sizes in [&mut self.sizes, &mut self.elements] {
            let size = sizes.get(&first).copied();
            sizes.extend(size.map(|size| (member, size)));
        }
    }

    /// The bytes of an element of a variable of the module.
    pub(super) fn element_bytes(&self, symbol: SymbolId) -> Option<u64> {
        self.elements.get(&Name::Symbol(symbol)).copied()
    }

    /// The bytes of an element of a variable that is declared inside a function, unless it is on the stack.
    pub(super) fn local_element_bytes(&self, function: FuncId, var: VarId) -> Option<u64> {
        self.elements.get(&Name::Local(function, var)).copied()
    }

    /// Records the address of a variable; `None` if it already has one, from an earlier declaration.
    fn record_address(
        &mut self,
        scope: &Scope<'_>,
        declarator: &Declarator,
        address: u64,
    ) -> Option<Name> {
        match (declarator.binding, scope.function) {
            (Binding::Symbol(symbol), _) => match self.symbols.entry(symbol) {
                std::collections::hash_map::Entry::Occupied(_) => None,
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(address);
                    Some(Name::Symbol(symbol))
                }
            },
            (Binding::Var(var), Some(function)) => {
                self.locals.insert((function, var), address);
                Some(Name::Local(function, var))
            }
            _ => None,
        }
    }

    /// Gives the other members of ranges their addresses.
    fn add_members(&mut self, module: &Module, ranges: &[NumberedVariables]) {
        if ranges.is_empty() {
            return;
        }
        let mut symbols: HashMap<NameId, Vec<(SymbolId, u64)>> = HashMap::new();
        for (id, symbol) in module.symbols().iter() {
            if let Some(number) = symbol.number {
                let members = symbols.entry(symbol.name).or_default();
                members.push((id, number.into()));
            }
        }
        let mut members: HashMap<FuncId, Members> = HashMap::new();
        for range in ranges {
            match range.first {
                Name::Symbol(first) => {
                    let name = module.symbols().get(first).map(|s| s.name);
                    let members = name.and_then(|name| symbols.get(&name));
                    let Some(start) = self.symbols.get(&first).copied() else {
                        continue;
                    };
                    for &(id, number) in members.into_iter().flatten() {
                        let address = start.wrapping_add(range.stride.wrapping_mul(number));
                        self.symbols.insert(id, address);
                        self.copy_sizes(range.first, Name::Symbol(id));
                    }
                }
                Name::Local(function, first) => {
                    let Some(body) = module.body(function) else {
                        continue;
                    };
                    let members = members
                        .entry(function)
                        .or_insert_with(|| Members::new(body));
                    let Some(start) = self.locals.get(&(function, first)).copied() else {
                        continue;
                    };
                    for &(var, number) in members.of(body, first) {
                        let address = start.wrapping_add(range.stride.wrapping_mul(number.into()));
                        self.locals.insert((function, var), address);
                        self.copy_sizes(range.first, Name::Local(function, var));
                    }
                }
            }
        }
    }

    /// The bytes of a variable that a function mentions, if its size is known and it is not on the stack.
    pub(crate) fn object(
        &self,
        module: &Module,
        function: FuncId,
        variable: VariableRef,
    ) -> Option<Object> {
        let (key, start, name, number, space) = match variable {
            VariableRef::Module(id) => {
                let symbol = module.symbols().get(id)?;
                let SymbolKind::Variable(space, _) = symbol.kind else {
                    return None;
                };
                let start = *self.symbols.get(&id)?;
                (Name::Symbol(id), start, symbol.name, symbol.number, space)
            }
            VariableRef::Local(id) => {
                let var = module.body(function)?.vars().get(id)?;
                let start = self.local(function, id)?;
                let key = Name::Local(function, id);
                (key, start, var.name, var.number, var.space)
            }
        };
        let size = self.sizes.get(&key).copied().filter(|&size| size > 0)?;
        let number = number.map_or_else(String::new, |n| n.to_string());
        Some(Object {
            name: format!("{}{number}", module.name(name)).into(),
            is_shared: space.base() == StateSpace::Shared,
            start,
            end: start.checked_add(size)?,
        })
    }

    /// The name of the variable at an address that a kernel may use, and the offset there. Linear in the number of variables.
    pub(crate) fn at(
        &self,
        module: &Module,
        kernel: FuncId,
        address: u64,
        is_shared: bool,
    ) -> Option<(Box<str>, u64)> {
        let vars = module.body(kernel).map(|body| body.vars().iter());
        let vars = vars.into_iter().flatten();
        let local_objects =
            vars.filter_map(|(id, _)| self.object(module, kernel, VariableRef::Local(id)));
        let symbols = module.symbols().iter();
        let objects =
            symbols.filter_map(|(id, _)| self.object(module, kernel, VariableRef::Module(id)));
        let object = local_objects.chain(objects).find(|object| {
            object.is_shared == is_shared && (object.start..object.end).contains(&address)
        })?;
        Some((object.name, address - object.start))
    }

    /// The address of a variable or a function of the module.
    pub(crate) fn symbol(&self, module: &Module, symbol: SymbolId) -> Option<u64> {
        match module.symbols().get(symbol)?.kind {
            SymbolKind::Function(id) => Some(self.function_address(id)),
            SymbolKind::Variable(..) => self.symbols.get(&symbol).copied(),
            _ => None,
        }
    }

    /// The address of a function.
    fn function_address(&self, id: FuncId) -> u64 {
        self.code + CODE_BYTES * u64::from(id.as_u32())
    }

    /// The function at an address, which the module may not have.
    pub(crate) fn function_at(&self, address: u64) -> Option<FuncId> {
        let offset = address.checked_sub(self.code)?;
        (offset % CODE_BYTES == 0)
            .then(|| FuncId::new(u32::try_from(offset / CODE_BYTES).unwrap_or(u32::MAX)))
    }

    /// The address of a variable that is declared inside a function, unless it is on the stack.
    pub(super) fn local(&self, function: FuncId, var: VarId) -> Option<u64> {
        self.locals.get(&(function, var)).copied()
    }

    /// Records the initial values of the variables of a scope.
    fn initialize_all(&mut self, scope: &Scope<'_>, placed: &[PlacedVariable]) {
        for variable in placed {
            let Some(ty) = variable.decl.ty.known() else {
                continue;
            };
            let element_bytes = u64::from(ty.bits() / 8);
            let mut values = Vec::new();
            self.flatten(scope, variable.declarator.init, &mut values);
            for (index, value) in (0u64..).zip(values) {
                let address = variable.address.saturating_add(index * element_bytes);
                let bytes = value.bytes(ty, element_bytes);
                self.initial.push(Initial { address, bytes });
            }
        }
    }

    /// Adds the values of an initializer, without its braces.
    fn flatten(&self, scope: &Scope<'_>, operand: Operand, values: &mut Vec<Value>) {
        match operand {
            Operand::Absent => {}
            Operand::Vector(list) => {
                for &part in scope.pool.list(list) {
                    self.flatten(scope, part, values);
                }
            }
            Operand::Masked(pair) => {
                let mask = scope.pool.integer(scope.pool.get(pair)).unwrap_or(0) as u64;
                let (_, masked) = scope.pool.pair(pair);
                let value = self.value(scope, masked).integer();
                let byte = value >> mask.trailing_zeros().min(63) & 0xff;
                values.push(Value::Byte(byte as u8));
            }
            other => values.push(self.value(scope, other)),
        }
    }

    /// The value of an operand of an initializer.
    fn value(&self, scope: &Scope<'_>, operand: Operand) -> Value {
        let pool = scope.pool;
        match operand {
            Operand::Small(value) => Value::Integer(i64::from(value) as u64),
            Operand::Imm(id) => {
                match pool.immediate(id).map(|i| i.value).map(|v| (v.kind(), v)) {
                    Some((ConstKind::Double, v)) => Value::Number(f64::from_bits(v.bits())),
                    // The bits of `0f…` are also those of variables of 64 bits, as in ptxas.
                    Some((_, v)) => Value::Integer(v.bits()),
                    None => Value::Integer(0),
                }
            }
            Operand::Generic(inner) => {
                let inner = pool.get(inner);
                let base = match self.space(scope, inner) {
                    Some(StateSpace::Shared) => SHARED,
                    _ => 0,
                };
                Value::Integer(self.value(scope, inner).integer().wrapping_add(base))
            }
            Operand::Address(id) => match pool.address(id) {
                Some(address) => {
                    let base = self.value(scope, address.base).integer();
                    let offset = match address.offset {
                        Operand::Absent => 0,
                        other => self.value(scope, other).integer(),
                    };
                    Value::Integer(base.wrapping_add(offset))
                }
                None => Value::Integer(0),
            },
            Operand::Symbol(symbol) => {
                Value::Integer(self.symbol(scope.module, symbol).unwrap_or(0))
            }
            Operand::Var(var) => {
                let address = scope.function.and_then(|f| self.local(f, var));
                Value::Integer(address.unwrap_or(0))
            }
            _ => Value::Integer(0),
        }
    }

    /// The state space of the variable whose address an operand is.
    fn space(&self, scope: &Scope<'_>, operand: Operand) -> Option<StateSpace> {
        match operand {
            Operand::Symbol(symbol) => match scope.module.symbols().get(symbol)?.kind {
                SymbolKind::Variable(space, _) => Some(space.base()),
                _ => None,
            },
            Operand::Address(id) => self.space(scope, scope.pool.address(id)?.base),
            _ => None,
        }
    }
}

/// A constant.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Value {
    Integer(u64),
    Number(f64),
    /// A byte that a mask selects.
    Byte(u8),
}

impl Value {
    const fn integer(self) -> u64 {
        match self {
            Self::Integer(value) => value,
            Self::Number(value) => value.to_bits(),
            Self::Byte(value) => value as u64,
        }
    }

    /// The bytes of the value in an element of a type.
    fn bytes(self, ty: ptx_isa::ScalarType, element_bytes: u64) -> Vec<u8> {
        let bits = match self {
            Self::Integer(bits) => bits,
            Self::Number(float) if ty.bits() == 32 => (float as f32).to_bits().into(),
            Self::Number(float) => float.to_bits(),
            Self::Byte(byte) => return vec![byte],
        };
        let mut bytes = bits.to_le_bytes().to_vec();
        bytes.resize(element_bytes as usize, 0);
        bytes
    }
}

/// The bytes of variables for textures, samplers or surfaces, whose size the PTX ISA manual leaves open: an array has the declared number of elements.
fn opaque_bytes(declarator: &Declarator, pool: &OperandPool) -> u64 {
    let sizes = pool.slice(declarator.dims).iter();
    let elements = sizes.map(|size| match (pool.integer(*size), declarator.init) {
        (Some(size), _) => u64::try_from(size).unwrap_or(1),
        (None, Operand::Vector(list)) => pool.list(list).len() as u64,
        (None, _) => 1,
    });
    elements.fold(HANDLE, u64::saturating_mul)
}

/// The base of a space among the generic addresses.
pub(crate) const fn window(space: StateSpace) -> u64 {
    match space.base() {
        StateSpace::Shared => SHARED,
        StateSpace::Local => LOCAL,
        StateSpace::Param => PARAMETERS,
        _ => 0,
    }
}
