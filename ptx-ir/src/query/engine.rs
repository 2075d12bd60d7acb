//! Asks the instruction table about instructions of a module, once for each mnemonic and shape.

use alloc::vec::Vec;
use hashbrown::HashMap;
use ptx_isa::Directive;
use ptx_isa::internals::InstQuery;

use super::encode::{Encoder, Immediates};
use super::{Mnemonic, NameTypes, ShapeKey, tag};
use crate::{Body, FuncId, Module, Operand, SigId};

/// The properties of a mnemonic of the module that do not depend on operands.
#[derive(Copy, Clone, Debug)]
struct Entry<A> {
    /// Whether opcode and modifiers are known.
    known: bool,
    immediates: Immediates,
    /// The shape of the last operands, with the answer. The next ones mostly have the same shape.
    last: Option<(u128, A)>,
}

impl<A> Entry<A> {
    fn new(module: &Module, sig: SigId) -> Self {
        let signature = module.signature(sig);
        let forms = signature.instruction().map_or(&[][..], |i| i.forms());
        Self {
            known: signature.opcode().is_some() && signature.is_known(),
            immediates: if forms.iter().any(|f| f.depends_on_immediates()) {
                Immediates::Values
            } else {
                Immediates::Kinds
            },
            last: None,
        }
    }
}

/// Asks the instruction table about instructions of a module and remembers one answer of type `A` for each mnemonic and
/// shape of operands.
///
/// Instructions of a module are asked about with [`answer`](Self::answer), body after body ([`enter`](Self::enter)).
/// Instructions that the module does not have yet, with a new mnemonic or other operands, are asked about with
/// [`ask`](Self::ask), which remembers nothing. Operands belong to the pool of the body that was entered.
#[derive(Clone, Debug)]
pub struct Queries<A> {
    names: NameTypes,
    mnemonics: Vec<Entry<A>>,
    answers: ShapeCache<A>,
    key: ShapeKey,
}

impl<A: Copy> Queries<A> {
    /// No answers yet. Linear in the declarations and mnemonics of the module.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut queries = Self {
            names: NameTypes::new(module),
            mnemonics: Vec::new(),
            answers: ShapeCache::new(),
            key: ShapeKey::new(),
        };
        queries.update_mnemonics(module);
        queries
    }

    /// Adds the mnemonics that were added to the module since the last call.
    pub fn update_mnemonics(&mut self, module: &Module) {
        let new = module.signatures.ids().skip(self.mnemonics.len());
        self.mnemonics.extend(new.map(|id| Entry::new(module, id)));
    }

    /// Reads the changed declarations of the module.
    pub fn update_symbols(&mut self, module: &Module) {
        self.names.update_symbols(module);
    }

    /// Enters a body: its registers, variables and labels are those of the next instructions. Linear in these.
    pub fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.names.enter(module, function, body);
    }

    /// Adds the registers, variables and labels that were added to the entered body since the last call.
    pub fn update_body(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.names.update_body(module, function, body);
    }

    /// The meanings of the names of the module and of the entered body, to extend while the body grows.
    #[inline]
    pub const fn names_mut(&mut self) -> &mut NameTypes {
        &mut self.names
    }

    /// The meanings of the names of the module and of the entered body.
    #[inline]
    #[must_use]
    pub const fn names(&self) -> &NameTypes {
        &self.names
    }

    /// The answer for an instruction with a mnemonic of the module: a remembered one, or that of `ask`. `None` if a part of
    /// the mnemonic is unknown, or an operand is undeclared or of an unknown type; the parser reports these.
    #[inline]
    pub fn answer(
        &mut self,
        module: &Module,
        body: &Body,
        sig: SigId,
        operands: &[Operand],
        ask: impl FnOnce(&InstQuery<'_>) -> A,
    ) -> Option<A> {
        let entry = self.mnemonics.get(sig.as_u32() as usize)?;
        if !entry.known {
            return None;
        }
        let encoder = Encoder {
            body,
            names: &self.names,
            immediates: entry.immediates,
        };
        let (word, _, encoded) = encoder.simple_operands(operands);
        match entry.last {
            Some((last, answer)) if last == word.into() && encoded == operands.len() => {
                Some(answer)
            }
            _ => self.answer_other_shape(module, body, sig, operands, ask),
        }
    }

    /// The answer for an instruction whose operands are not simple, or of another shape than the last ones.
    fn answer_other_shape(
        &mut self,
        module: &Module,
        body: &Body,
        sig: SigId,
        operands: &[Operand],
        ask: impl FnOnce(&InstQuery<'_>) -> A,
    ) -> Option<A> {
        let entry = self.mnemonics.get_mut(sig.as_u32() as usize)?;
        let encoder = Encoder {
            body,
            names: &self.names,
            immediates: entry.immediates,
        };
        encoder.encode(operands, &mut self.key).ok()?;
        let short = self.key.short();
        if let (Some(short), Some((last, answer))) = (short, entry.last)
            && short == last
        {
            return Some(answer);
        }
        let answer = match self.answers.get(sig, &self.key) {
            Some(answer) => answer,
            None => {
                let answer = ask_table(&Mnemonic::of(module, sig)?, &self.key, ask);
                self.answers.insert(sig, &self.key, answer);
                answer
            }
        };
        entry.last = short.map(|short| (short, answer));
        Some(answer)
    }

    /// The shape of operands of the entered body, of an instruction with this mnemonic. `None` where an operand is undeclared or of an
    /// unknown type.
    pub fn shape(&mut self, body: &Body, sig: SigId, operands: &[Operand]) -> Option<ShapeKey> {
        let encoder = Encoder {
            body,
            names: &self.names,
            immediates: self.mnemonics.get(sig.as_u32() as usize)?.immediates,
        };
        encoder.encode(operands, &mut self.key).ok()?;
        Some(self.key.clone())
    }

    /// Asks about an instruction that had an [`answer`](Self::answer) once more, for details that the answer does not contain.
    #[cold]
    pub fn ask_again<R>(
        &mut self,
        module: &Module,
        body: &Body,
        sig: SigId,
        operands: &[Operand],
        ask: impl FnOnce(&InstQuery<'_>) -> R,
    ) -> Option<R> {
        let shape = self.shape(body, sig, operands)?;
        Some(ask_table(&Mnemonic::of(module, sig)?, &shape, ask))
    }

    /// Asks about any mnemonic with any operands of the entered body, without remembering the answer. `None` where an
    /// operand is undeclared or of an unknown type.
    pub fn ask<R>(
        &mut self,
        body: &Body,
        mnemonic: &Mnemonic,
        operands: &[Operand],
        ask: impl FnOnce(&InstQuery<'_>) -> R,
    ) -> Option<R> {
        let encoder = Encoder {
            body,
            names: &self.names,
            immediates: Immediates::Values,
        };
        encoder.encode(operands, &mut self.key).ok()?;
        Some(ask_table(mnemonic, &self.key, ask))
    }
}

/// Remembers an answer for every mnemonic and shape of a module. Does not allocate before the first answer.
#[derive(Clone, Debug)]
struct ShapeCache<A> {
    /// The answers for keys that fit in one word.
    short: HashMap<(u128, SigId), A>,
    long: HashMap<(ShapeKey, SigId), A>,
}

impl<A: Copy> ShapeCache<A> {
    fn new() -> Self {
        Self {
            short: HashMap::new(),
            long: HashMap::new(),
        }
    }

    #[inline]
    fn get(&self, sig: SigId, key: &ShapeKey) -> Option<A> {
        match key.short() {
            Some(short) => self.short.get(&(short, sig)).copied(),
            None => self.get_long(sig, key),
        }
    }

    #[cold]
    fn get_long(&self, sig: SigId, key: &ShapeKey) -> Option<A> {
        self.long.get(&(key.clone(), sig)).copied()
    }

    fn insert(&mut self, sig: SigId, key: &ShapeKey, answer: A) {
        match key.short() {
            Some(short) => self.short.insert((short, sig), answer),
            None => self.long.insert((key.clone(), sig), answer),
        };
    }
}

#[cold]
fn ask_table<R>(mnemonic: &Mnemonic, key: &ShapeKey, ask: impl FnOnce(&InstQuery<'_>) -> R) -> R {
    key.decode(|operands, function_tag| {
        let mut query = InstQuery::new(mnemonic.opcode(), mnemonic.modifiers(), operands);
        if function_tag & tag::INDEPENDENT_TEXTURES != 0 {
            query = query.with_independent_textures();
        }
        ask(&match function_tag & !tag::INDEPENDENT_TEXTURES {
            tag::IN_FUNC => query.in_func(),
            tag::IN_ENTRY => query,
            _ => query.without(Directive::Minperctamemory),
        })
    })
}
