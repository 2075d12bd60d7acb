//! Typed ids and the dense maps they index.
//!
//! An id is a 32-bit number of a separate type, so that a register of one body cannot be
//! mistaken for a label. Ids are given in order and never reused. An id does not record the module or body that it belongs to:
//! in another one it denotes another record, or none.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use crate::cow_vec::CowVec;

/// A typed 32-bit index into a [`PrimaryMap`]. All ids of this crate implement it.
pub trait EntityId: Copy + Eq {
    /// The id of position `index`.
    fn from_index(index: usize) -> Self;
    /// The position of this id.
    fn index(self) -> usize;
}

macro_rules! entity_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(u32);

        impl $name {
            /// The id of position `index`.
            #[doc(hidden)]
            #[inline]
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// The position of this id.
            #[doc(hidden)]
            #[inline]
            pub const fn as_u32(self) -> u32 {
                self.0
            }
        }

        #[doc(hidden)]
        impl EntityId for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        #[automatically_derived]
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

entity_ids! {
    /// A statement at module level: see [`Item`](crate::Item).
    ItemId = "item";
    /// A function or kernel of a module.
    FuncId = "func";
    /// A name visible in the whole module: a variable or a function.
    SymbolId = "sym";
    /// An interned spelling.
    NameId = "name";
    /// An interned mnemonic: see [`Signature`](crate::Signature).
    SigId = "sig";
    /// A statement of a body.
    StmtId = "stmt";
    /// An instruction of a body.
    InstId = "inst";
    /// A register of a body, numbered at its first mention.
    RegId = "reg";
    /// A declared register name, plain or a range such as `%r<100>`.
    RegDeclId = "regdecl";
    /// A parameter or a variable declared inside a function.
    VarId = "var";
    /// A label of a body.
    LabelId = "label";
    /// A `{ }` scope of a body; scope 0 is the function itself.
    ScopeId = "scope";
    /// A variable declaration statement.
    DeclId = "decl";
    /// A directive other than a declaration.
    DirectiveId = "dir";
    /// A call prototype of a body.
    PrototypeId = "proto";
    /// A debug section of a module.
    SectionId = "section";
    /// An operand list: a vector, an argument list or a bracket of several parts.
    ListId = "list";
    /// An address expression.
    AddrId = "addr";
    /// An immediate that is not a plain decimal integer.
    ImmId = "imm";
    /// A position in an operand pool.
    OperandRef = "op";
    /// A statement that could not be parsed.
    OpaqueId = "opaque";
}

/// A dense map from ids, given in order, to values.
///
/// The tables of a [`Module`](crate::Module) and a [`Body`](crate::Body) are such maps. Ids that come from elsewhere, such as from
/// a file or from another module, are looked up with [`get`](Self::get); indexing with `map[id]` is for ids of the same map.
///
/// ```
/// use ptx_ir::{EntityId as _, FuncId};
/// let module = ptx_parse::parse(b".func f();").module;
/// let function = module.function("f").unwrap();
/// assert_eq!(module.name(module.functions()[function].name), "f");
/// assert!(module.functions().get(FuncId::from_index(7)).is_none());
/// ```
pub struct PrimaryMap<K, V> {
    pub(crate) rows: CowVec<V>,
    key: PhantomData<fn() -> K>,
}

impl<K: EntityId, V> PrimaryMap<K, V> {
    /// An empty map; does not allocate.
    #[doc(hidden)]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            rows: CowVec::new(),
            key: PhantomData,
        }
    }

    /// The value of `id`; `None` if the map has no such id.
    #[inline]
    pub fn get(&self, id: K) -> Option<&V> {
        self.rows.at(id.index())
    }

    /// The number of values.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the map is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The id that the next [`push`](Self::push) will return.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn next_id(&self) -> K {
        K::from_index(self.rows.len())
    }

    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.rows.len()).map(K::from_index)
    }

    /// All values in the order of their ids.
    pub fn values(&self) -> core::slice::Iter<'_, V> {
        self.rows.iter()
    }

    /// All ids with their values.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.rows
            .iter()
            .enumerate()
            .map(|(i, v)| (K::from_index(i), v))
    }

    /// The values as a slice, indexed by position.
    #[must_use]
    pub fn as_slice(&self) -> &[V] {
        &self.rows
    }

    /// Forgets every value.
    #[doc(hidden)]
    pub fn clear(&mut self) {
        self.rows.clear();
    }
}

impl<K: EntityId, V: Clone> PrimaryMap<K, V> {
    /// Adds a value and returns its id.
    #[doc(hidden)]
    #[inline]
    pub fn push(&mut self, value: V) -> K {
        K::from_index(self.rows.push(value))
    }

    /// The value of `id`, to change.
    #[doc(hidden)]
    #[inline]
    pub fn get_mut(&mut self, id: K) -> Option<&mut V> {
        self.rows.get_mut(id.index())
    }

    /// All values, to change.
    #[doc(hidden)]
    pub fn values_mut(&mut self) -> core::slice::IterMut<'_, V> {
        self.rows.iter_mut()
    }
}

/// # Panics
///
/// Indexing panics if the map has no such id: the id belongs to another module or body. [`get`](PrimaryMap::get) does not panic.
impl<K: EntityId, V> Index<K> for PrimaryMap<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, id: K) -> &V {
        match self.rows.at(id.index()) {
            Some(value) => value,
            None => &self.rows[id.index()],
        }
    }
}

#[doc(hidden)]
impl<K: EntityId, V: Clone> IndexMut<K> for PrimaryMap<K, V> {
    #[inline]
    fn index_mut(&mut self, id: K) -> &mut V {
        &mut self.rows[id.index()]
    }
}

impl<K: EntityId, V> Default for PrimaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V: Clone> Clone for PrimaryMap<K, V> {
    fn clone(&self) -> Self {
        Self {
            rows: self.rows.clone(),
            key: PhantomData,
        }
    }
}

impl<K, V: fmt::Debug> fmt::Debug for PrimaryMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}

impl<K, V: PartialEq> PartialEq for PrimaryMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows
    }
}
