//! Handles of what a builder declared.

macro_rules! handles {
    ($($(#[doc = $doc:literal])* $name:ident)*) => {
        $($(#[doc = $doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name {
            /// The function or module that it belongs to.
            pub(crate) owner: u32,
            pub(crate) index: u32,
        })*
    };
}

handles! {
    /// A register of the function that made it.
    Reg
    /// A variable or parameter of the module or function that made it.
    Variable
    /// A label of the function that made it: a place, or a table of functions, labels or parameters.
    CodeLabel
    /// A function or kernel of the module that made it.
    Func
    /// A declared range of registers, `%r<100>`, or a plain name, of the function that made it.
    RegRange
}

/// Something declared that a statement mentions.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Dependency {
    Reg(u32),
    Local(u32),
    Global(u32),
    Func(u32),
    Label(u32),
}
