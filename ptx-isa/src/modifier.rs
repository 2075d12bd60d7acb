//! Facts about modifiers and their classes.

use crate::record::non_empty;
use crate::{Digits, Modifier, ModifierClass, Opcode, ScalarType, StateSpace};

facts! {
    /// Facts about a modifier.
    ModifierFacts of Modifier in modifier {
        /// The property that the modifier selects. A modifier that is part of a name in one instruction and a choice in another
        /// (`.add` in `red.async.add`, `.tile`) has the class of the choice.
        class: ModifierClass,
        /// The type it names.
        scalar_type: Option<ScalarType>,
        /// The state space it names.
        state_space: Option<StateSpace>,
    }
    named {
        /// Whether ptxas ignores it on instructions that have no slot for it.
        #[doc(hidden)]
        is_ignored = ignored: bool,
        /// Whether ptxas accepts it twice.
        #[doc(hidden)]
        may_be_doubled = doubled: bool,
    }
    private {
        vector_len: u8,
        columns: u16,
        usual: bool,
        about: &'static str,
    }
}

impl ModifierFacts {
    pub(crate) const fn new(class: ModifierClass) -> Self {
        Self {
            class,
            scalar_type: None,
            state_space: None,
            vector_len: 0,
            columns: 0,
            ignored: false,
            doubled: false,
            usual: false,
            about: "",
        }
    }
}

setters!(ModifierFacts {
    scalar_type scalar_type: Option<ScalarType>,
    state_space state_space: Option<StateSpace>,
    vector_len vector_len: u8,
    columns columns: u16,
    ignored ignored: bool,
    doubled doubled: bool,
    usual usual: bool,
    about about: &'static str,
});

facts! {
    /// Facts about a class of modifiers.
    ClassFacts of ModifierClass in class {
        /// The property that the class selects, as a phrase for a message: "memory order".
        meaning: &'static str,
    }
    named {
        /// Whether modifiers of the class are assigned to slots in their order: types, state spaces, layouts.
        #[doc(hidden)]
        is_positional = positional: bool,
    }
}

impl Modifier {
    /// One sentence about the effect of the modifier, where its class and its spelling do not explain it; for the modifier of a
    /// type or state space, the summary of that type or state space.
    ///
    /// ```
    /// use ptx_isa::Modifier;
    /// assert!(".rz".parse::<Modifier>()?.summary().is_some_and(|text| text.contains("zero")));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[must_use]
    pub fn summary(self) -> Option<&'static str> {
        non_empty(self.facts().about)
            .or_else(|| self.scalar_type().map(ScalarType::summary))
            .or_else(|| self.state_space().map(StateSpace::summary))
    }

    /// The number of columns of the matrix shape it names: 256 of `.m64n256k16`.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn columns(self) -> Option<u16> {
        match self.facts().columns {
            0 => None,
            columns => Some(columns),
        }
    }

    /// The length of the vector: of `.v2`, `.v4` and `.v8`.
    #[inline]
    #[must_use]
    pub const fn vector_len(self) -> Option<u8> {
        match self.facts().vector_len {
            0 => None,
            n => Some(n),
        }
    }

    /// A number in its text.
    pub(crate) fn number(self, digits: Digits) -> Option<u32> {
        let mut numbers = self
            .text()
            .split(|c: char| !c.is_ascii_digit())
            .filter(|n| !n.is_empty());
        let number = match digits {
            Digits::First => numbers.next(),
            Digits::Last => numbers.next_back(),
        };
        number?.parse().ok()
    }

    /// Whether the modifier is the most likely choice where an instruction of the opcode needs one of several modifiers.
    #[doc(hidden)]
    #[must_use]
    pub fn is_usual(self, opcode: Opcode) -> bool {
        // `.lo` is a half of a product in names, and a comparison elsewhere.
        let is_comparison = self.class() == ModifierClass::Comparison;
        self.facts().usual
            && (!is_comparison
                || opcode
                    .instructions()
                    .iter()
                    .any(|i| i.words().contains(&self)))
    }
}
