//! The locations of the operand values of instructions.

use ptx_ir::ConstKind;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{AddressForm, EntityId as _, FuncId, Operand, RegId, SymbolKind};
use ptx_isa::{ScalarType, SpecialReg, StateSpace, TypeKind};

use super::frame::{Frame, Position};
use super::step::{Address, Base, Window};
use super::variables::Variables;
use crate::lanes::{Integer, Kind, Logic, Place};
use crate::lower::Code;

/// The reason why a kind of operand is not supported.
pub(super) const OPERANDS: &str = "unsupported operands";

/// The state of the decoding of a function.
pub(super) struct Context<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) id: FuncId,
    pub(super) is_entry: bool,
    pub(super) variables: &'a Variables,
    pub(super) frame: Frame,
    pub(super) code: Code,
    /// The place of each variable, as [`ptx_analysis::reg_lanes`] numbers them.
    pub(super) registers: Vec<Place>,
    pub(super) numbers: ptx_analysis::reg_lanes::Variables,
    pub(super) special: Vec<(SpecialReg, u8, Place)>,
    /// The offsets in shared memory whose addresses are values, and the places of the addresses, which depend on the CTA.
    pub(super) shared_addresses: Vec<(u64, Place)>,
    /// The special register with a changing value that the instruction reads, and where its value is put.
    pub(super) changing: Option<(SpecialReg, Place)>,
}

impl Context<'_> {
    /// The places of a register: one, or of a vector register one per element.
    pub(super) fn register(&self, register: RegId, component: Option<u8>) -> Vec<Place> {
        let place = ptx_ir::facts::RegisterComponent {
            register,
            component,
        };
        self.numbers
            .of(place)
            .filter_map(|variable| self.registers.get(variable.index()).copied())
            .collect()
    }

    /// The places of the value of an operand of a type; of a vector, of its elements. Operations may be added that compute it.
    pub(super) fn source(
        &mut self,
        operand: Operand,
        ty: Option<ScalarType>,
    ) -> Option<Vec<Place>> {
        let pool = self.facts.body().pool();
        Some(match operand {
            Operand::Reg(register) => self.register(register, None),
            Operand::Component(selector, vector) => match pool.get(vector) {
                Operand::Reg(register) => self.register(register, Some(selector.element()?)),
                Operand::Special(register) => {
                    vec![self.special(register, selector.element()?)]
                }
                _ => return None,
            },
            Operand::Special(register) => {
                let components = if register.is_vector() { 4 } else { 1 };
                (0..components)
                    .map(|component| self.special(register, component))
                    .collect()
            }
            Operand::Small(value) => vec![self.integer(i128::from(value) as u128, ty)],
            Operand::Imm(id) => vec![self.immediate(pool.immediate(id)?.value, ty)?],
            Operand::Not(inner) => {
                let inner = self.source(pool.get(inner), ty)?;
                let [Place::Predicate(predicate)] = inner[..] else {
                    return None;
                };
                let kind = Kind::Predicate(Logic::Not);
                vec![Place::Predicate(self.code.predicate(kind, [predicate; 3]))]
            }
            Operand::Vector(list) => {
                let mut places = Vec::new();
                for &part in pool.list(list) {
                    places.extend(self.source(part, ty)?);
                }
                places
            }
            Operand::Address(id) => {
                let address = *pool.address(id)?;
                match address.base {
                    Operand::Reg(register) => vec![self.sum(register, address.offset)?],
                    _ => vec![self.address_value(operand, ty)?],
                }
            }
            Operand::Symbol(_) | Operand::Var(_) => vec![self.address_value(operand, ty)?],
            _ => return None,
        })
    }

    /// The places of the elements of an operand that is written; `None` where one is dropped.
    pub(super) fn destinations(&mut self, operand: Operand) -> Option<Vec<Option<Place>>> {
        let Operand::Vector(list) = operand else {
            let places = self.source(operand, None)?;
            return Some(places.into_iter().map(Some).collect());
        };
        let mut places = Vec::new();
        for part in self.facts.body().pool().list(list).to_vec() {
            match part {
                Operand::Sink => places.push(None),
                part => places.extend(self.source(part, None)?.into_iter().map(Some)),
            }
        }
        Some(places)
    }

    /// An integer register plus a constant, modulo the power of two of its width. ptxas generates no code for other registers.
    fn sum(&mut self, register: RegId, offset: Operand) -> Option<Place> {
        let body = self.facts.body();
        let ty = body.reg_decl_of(register)?.ty.known()?;
        if ty.is_float() {
            return None;
        }
        let offset = match offset {
            Operand::Absent => 0,
            other => body.pool().integer(other)?,
        };
        let [place] = self.register(register, None)[..] else {
            return None;
        };
        let code = &mut self.code;
        Some(match place {
            Place::Word(word) => {
                let addend = code.constant_word(offset as u32);
                let sum = code.word(Kind::Word(Integer::Add), [word, addend, addend]);
                match code.width(place) {
                    32 => Place::Word(sum),
                    width => code.extend(Place::Word(sum), width, false),
                }
            }
            Place::Double(double) => {
                let addend = code.constant_double(offset as u64);
                Place::Double(code.double(Kind::Double(Integer::Add), [double, addend, addend]))
            }
            Place::Predicate(_) | Place::Quad(_) => return None,
        })
    }

    /// The place of a special register.
    fn special(&mut self, register: SpecialReg, component: u8) -> Place {
        let mut registers = self.special.iter();
        if let Some((.., place)) = registers.find(|r| (r.0, r.1) == (register, component)) {
            return *place;
        }
        if register.is_volatile() {
            let place = self.code.new_register(register.scalar_type().bits());
            self.changing = Some((register, place));
            return place;
        }
        let place = self.code.new_register(register.scalar_type().bits());
        self.special.push((register, component, place));
        place
    }

    /// The place of the address of an offset in the shared memory of the CTA.
    fn shared_address(&mut self, offset: u64, bits: u16) -> Place {
        let place = self.shared_addresses.iter().find(|(known_offset, place)| {
            *known_offset == offset && self.code.width(*place) == bits
        });
        if let Some((_, place)) = place {
            return *place;
        }
        let place = self.code.new_register(bits);
        self.shared_addresses.push((offset, place));
        place
    }

    fn integer(&mut self, bits: u128, ty: Option<ScalarType>) -> Place {
        match ty {
            Some(ty) if ty.kind() == TypeKind::Predicate => {
                Place::Predicate(self.code.constant_predicate(bits != 0))
            }
            Some(ty) => self.code.constant(ty.bits(), bits),
            None => self.code.constant(32, bits),
        }
    }

    /// A constant, converted to a type. The bits of `0f…` are also those of operands of 64 bits, as in ptxas.
    fn immediate(&mut self, value: ptx_ir::ConstValue, ty: Option<ScalarType>) -> Option<Place> {
        let bits = match (value.kind(), ty) {
            (ConstKind::Invalid, _) => return None,
            (ConstKind::Signed, _) => i128::from(value.bits() as i64) as u128,
            (ConstKind::Unsigned, _) => value.bits().into(),
            (ConstKind::Double, Some(ty)) if ty.bits() == 32 => {
                ((f64::from_bits(value.bits()) as f32).to_bits()).into()
            }
            _ => value.bits().into(),
        };
        Some(self.integer(bits, ty))
    }

    /// The address of a variable or a function as a value, in its state space.
    fn address_value(&mut self, operand: Operand, ty: Option<ScalarType>) -> Option<Place> {
        let bits = ty.map_or(64, ScalarType::bits);
        let address = self.address(operand, Window::Generic)?;
        let is_shared = address.window == Window::State(StateSpace::Shared);
        match (address.base, address.window) {
            (Base::Zero, _) if is_shared => Some(self.shared_address(address.offset, bits)),
            (Base::Zero, _) => Some(self.code.constant(bits, address.offset.into())),
            (Base::Frame, _) => {
                let (place, kind) = match bits {
                    ..=32 => {
                        let a = self.code.word(Kind::Narrow, [Code::FRAME, 0, 0]);
                        let a = Place::Word(a);
                        (a, Kind::Word(Integer::Add))
                    }
                    _ => (Place::Double(Code::FRAME), Kind::Double(Integer::Add)),
                };
                let offset = self
                    .code
                    .constant(bits.max(32), address.offset.into())
                    .index();
                let sources = [place.index(), offset, offset];
                Some(match place {
                    Place::Word(_) => Place::Word(self.code.word(kind, sources)),
                    _ => Place::Double(self.code.double(kind, sources)),
                })
            }
            (Base::Register(place), _) => {
                let width = if matches!(place, Place::Word(_)) {
                    32
                } else {
                    64
                };
                let addend = if is_shared {
                    self.shared_address(address.offset, width)
                } else {
                    self.code.constant(width, address.offset.into())
                };
                let addend = addend.index();
                let code = &mut self.code;
                let sum = match place {
                    Place::Word(word) => {
                        Place::Word(code.word(Kind::Word(Integer::Add), [word, addend, addend]))
                    }
                    Place::Double(double) => Place::Double(
                        code.double(Kind::Double(Integer::Add), [double, addend, addend]),
                    ),
                    Place::Predicate(_) | Place::Quad(_) => return None,
                };
                Some(match (sum, bits) {
                    (Place::Word(word), 33..) => {
                        Place::Double(code.double(Kind::Widen, [word, 0, 0]))
                    }
                    (Place::Double(double), ..=32) => {
                        Place::Word(code.word(Kind::Narrow, [double, 0, 0]))
                    }
                    (sum, _) => sum,
                })
            }
        }
    }

    /// The address that an operand is, in a window.
    pub(super) fn address(&mut self, operand: Operand, window: Window) -> Option<Address> {
        let body = self.facts.body();
        let pool = body.pool();
        match operand {
            Operand::Address(id) => {
                let address = *pool.address(id)?;
                // An index counts elements.
                let scale = match address.form {
                    AddressForm::Indexed => self.element_bytes(address.base)?,
                    _ => 1,
                };
                let (index, offset) = match address.offset {
                    Operand::Absent => (None, 0),
                    Operand::Reg(_) | Operand::Component(..) => (Some(address.offset), 0),
                    Operand::Address(inner) => {
                        let inner = *pool.address(inner)?;
                        let offset = pool.integer(inner.offset);
                        (Some(inner.base), offset.unwrap_or(0))
                    }
                    other => (None, pool.integer(other)?),
                };
                let mut resolved = self.address(address.base, window)?;
                let offset = (offset as u64).wrapping_mul(scale);
                if let Some(index) = index {
                    return self.indexed(resolved, index, scale, offset);
                }
                resolved.offset = resolved.offset.wrapping_add(offset);
                Some(resolved)
            }
            Operand::Reg(register) => match self.register(register, None)[..] {
                [place] => Some(Address::new(window, Base::Register(place), 0)),
                _ => None,
            },
            Operand::Component(selector, vector) => match pool.get(vector) {
                Operand::Reg(register) => match self.register(register, selector.element())[..] {
                    [place] => Some(Address::new(window, Base::Register(place), 0)),
                    _ => None,
                },
                _ => None,
            },
            // Its value is an address where ptxas accepts it.
            Operand::Special(register) if !register.is_vector() && !register.is_volatile() => {
                let place = self.special(register, 0);
                Some(Address::new(window, Base::Register(place), 0))
            }
            Operand::Small(value) => {
                let address = i64::from(value) as u64;
                Some(Address::new(window, Base::Zero, address))
            }
            Operand::Imm(id) => {
                let address = pool.immediate(id)?.value.bits();
                Some(Address::new(window, Base::Zero, address))
            }
            Operand::Symbol(symbol) => {
                let module = self.facts.module();
                let address = self.variables.symbol(module, symbol)?;
                let space = match module.symbols().get(symbol)?.kind {
                    SymbolKind::Variable(space, _) => space.base(),
                    _ => StateSpace::Global,
                };
                Some(self.variable(space, address, window))
            }
            Operand::Var(var) => {
                if let Some(address) = self.variables.local(self.id, var) {
                    let space = body.vars().get(var)?.space.base();
                    return Some(self.variable(space, address, window));
                }
                Some(match self.frame.places.get(&var)? {
                    Position::Frame(offset) => Address {
                        window: Window::Local,
                        base: Base::Frame,
                        offset: *offset,
                    },
                    Position::Kernel(offset) => Address {
                        window: Window::KernelParameters,
                        base: Base::Zero,
                        offset: *offset,
                    },
                })
            }
            _ => None,
        }
    }

    /// The bytes of an element of an array.
    fn element_bytes(&self, array: Operand) -> Option<u64> {
        match array {
            Operand::Symbol(symbol) => self.variables.element_bytes(symbol),
            Operand::Var(var) => self
                .variables
                .local_element_bytes(self.id, var)
                .or_else(|| self.frame.elements.get(&var).copied()),
            _ => None,
        }
    }

    /// The address of an element of an array, by the index in a register, plus an offset in bytes. As in the code of ptxas, bytes from the first element have the
    /// width of the register, and are not negative where addresses have 64 bits.
    fn indexed(
        &mut self,
        array: Address,
        index: Operand,
        scale: u64,
        offset: u64,
    ) -> Option<Address> {
        let [index] = self.source(index, None)?[..] else {
            return None;
        };
        let code = &mut self.code;
        let bytes = match index {
            Place::Word(word) => {
                let (scale, offset) = (
                    code.constant_word(scale as u32),
                    code.constant_word(offset as u32),
                );
                let bytes = code.word(Kind::Word(Integer::Mul), [word, scale, scale]);
                let bytes = code.word(Kind::Word(Integer::Add), [bytes, offset, offset]);
                match array.window {
                    Window::Generic | Window::State(StateSpace::Global) => {
                        Place::Double(code.double(Kind::Widen, [bytes, 0, 0]))
                    }
                    _ => Place::Word(bytes),
                }
            }
            Place::Double(double) => {
                let (scale, offset) = (code.constant_double(scale), code.constant_double(offset));
                let bytes = code.double(Kind::Double(Integer::Mul), [double, scale, scale]);
                let kind = Kind::Double(Integer::Add);
                Place::Double(code.double(kind, [bytes, offset, offset]))
            }
            Place::Predicate(_) | Place::Quad(_) => return None,
        };
        let base = match (array.base, bytes) {
            (Base::Zero, bytes) => bytes,
            (Base::Frame, Place::Word(bytes)) => {
                let frame = code.word(Kind::Narrow, [Code::FRAME, 0, 0]);
                Place::Word(code.word(Kind::Word(Integer::Add), [bytes, frame, frame]))
            }
            (Base::Frame, bytes) => {
                let sources = [bytes.index(), Code::FRAME, Code::FRAME];
                Place::Double(code.double(Kind::Double(Integer::Add), sources))
            }
            (Base::Register(_), _) => return None,
        };
        Some(Address {
            base: Base::Register(base),
            ..array
        })
    }

    /// A variable of the module: its own space decides where it is. A shared variable is that of the CTA.
    fn variable(&self, space: StateSpace, address: u64, window: Window) -> Address {
        Address {
            window: match (space, window) {
                (
                    StateSpace::Shared,
                    Window::Generic | Window::State(StateSpace::SharedCluster),
                ) => Window::State(StateSpace::Shared),
                (_, Window::Generic) => Window::State(StateSpace::Global),
                (_, window) => window,
            },
            base: Base::Zero,
            offset: address,
        }
    }
}
