//! Diagnostics: codes, spans, messages and help.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::{Patch, Span};

/// The severity of a diagnostic.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Severity {
    /// ptxas accepts the text.
    Warning,
    /// ptxas refuses the text.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The certainty of the [fix](Diagnostic::fix) of a diagnostic, with the names that rustc uses.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Applicability {
    /// The text after the fix is the only one that can be meant. The fix replaces no operand by another register or value,
    /// adds and removes none, and keeps types, shapes, scopes, memory ordering, labels and definitions.
    MachineApplicable,
    /// A suggestion: the fix may be meant, but so may something else. The help states what it assumes.
    #[default]
    MaybeIncorrect,
    /// The fix writes something instead of a value that only the author knows, such as a missing operand.
    HasPlaceholders,
}

impl Applicability {
    /// All values.
    pub const ALL: [Self; 3] = [
        Self::MachineApplicable,
        Self::MaybeIncorrect,
        Self::HasPlaceholders,
    ];

    /// The name, such as `MachineApplicable`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MachineApplicable => "MachineApplicable",
            Self::MaybeIncorrect => "MaybeIncorrect",
            Self::HasPlaceholders => "HasPlaceholders",
        }
    }
}

macro_rules! codes {
    ($($name:ident = $number:literal, $title:literal;)*) => {
        /// The kind of a diagnostic. Codes are stable: a number is never given to another kind.
        ///
        /// | numbers | about |
        /// |---|---|
        /// | 00xx | characters and literals |
        /// | 01xx | syntax |
        /// | 02xx | names |
        /// | 03xx | the header |
        /// | 04xx | constant expressions |
        /// | 05xx | instructions |
        /// | 06xx | declarations, functions, calls |
        /// | 07xx | what is legal and of no use |
        /// | 09xx | limits |
        /// | 10xx | modules put together or taken apart |
        /// | 11xx | binary files that contain PTX |
        /// | 12xx | rules of a project, which `ptxkit gate` checks |
        /// | 13xx | errors while a kernel is executed |
        /// | 14xx | what the checkers of `ptxkit run --check` find |
        /// | 15xx | what `ptxkit lint` finds |
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Code {
            $(#[doc = $title] $name = $number,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The name in one word, such as `UnknownOpcode`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// A short description, without details of the case.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }
        }
    };
}

codes! {
    StrayByte = 1, "an unexpected character";
    UnterminatedComment = 2, "an unterminated block comment";
    UnterminatedString = 3, "an unterminated string";
    MalformedNumber = 4, "a malformed number";
    NumberOverflow = 5, "a number larger than 64 bits";
    PreprocessorLine = 6, "a preprocessor directive";
    ByteOrderMark = 7, "a byte order mark";

    UnexpectedToken = 101, "an unexpected token";
    MissingSemicolon = 102, "a missing `;`";
    UnknownDirective = 103, "an unknown directive";
    UnknownOpcode = 104, "an unknown opcode";
    UnknownModifier = 105, "an unknown modifier";
    UnclosedBrace = 106, "an unclosed `{`";
    StrayBrace = 107, "an unmatched `}`";
    EmptyStatement = 108, "an empty statement";
    NegativeOffset = 109, "a subtraction in an address";
    MisplacedDirective = 110, "a misplaced directive";
    UnknownType = 111, "an unknown type";
    StraySemicolon = 112, "an unexpected `;`";
    UnknownSelector = 113, "an unknown vector component";
    SplitName = 114, "whitespace in the name of an instruction";
    DottedName = 115, "a name that contains a dot";

    UndefinedName = 201, "an undeclared name";
    DuplicateName = 202, "a duplicate declaration";
    LateDeclaration = 203, "a name used before its declaration";
    LabelOutOfScope = 204, "a label of another scope";
    ReservedName = 205, "a reserved name";
    OutsideRange = 206, "a register outside its declared range";

    MissingVersion = 301, "a module without `.version` at its start";
    MissingTarget = 302, "a module without `.target` after `.version`";
    MisplacedHeader = 303, "a misplaced header directive";
    UnknownVersion = 304, "a PTX version that does not exist";
    NewerVersion = 305, "a PTX version newer than the one checked";
    UnknownTarget = 306, "a target that does not exist";
    BadAddressSize = 307, "an address size other than 32 and 64";

    DivisionByZero = 401, "a division by zero";
    ConstantTypes = 402, "an operator applied to constants of the wrong type";
    BadCount = 403, "an invalid count of a range";

    UnknownInstruction = 501, "an unknown instruction of a known opcode";
    WrongModifier = 502, "a modifier that the instruction does not take";
    MissingModifier = 503, "a missing modifier";
    OperandCount = 504, "a wrong number of operands";
    OperandKind = 505, "an operand of the wrong kind";
    OperandType = 506, "a register of the wrong type";
    ConstantRange = 507, "a constant that the operand does not take";
    WrongSpace = 508, "an address in the wrong state space";
    VectorLength = 509, "a vector of the wrong length";
    MissingOperand = 510, "a missing operand that the modifiers require";
    UnexpectedOperand = 511, "an operand that the modifiers do not allow";
    Combination = 512, "modifiers or operands that cannot be combined";
    Unavailable = 513, "an instruction that requires a newer version or another target";
    Withdrawn = 514, "an instruction that was removed in this version or on this target";
    GuardType = 515, "a guard that is not a predicate";
    IgnoredModifier = 516, "a modifier without effect";

    TargetVersion = 601, "a target that this version does not have";
    TargetOption = 602, "target options that conflict with each other or with the target";
    DirectiveFloor = 603, "a directive that this version or target does not have";
    VariablePlace = 604, "a variable in a state space where it cannot be declared";
    VariableType = 605, "a type that the variable cannot have";
    VectorType = 606, "an invalid vector type";
    IncompleteArray = 607, "an array without a size";
    Alignment = 608, "an invalid alignment";
    Attribute = 609, "an attribute that the declaration cannot have";
    Linkage = 610, "a linkage that the declaration cannot have";
    InitialValue = 611, "an initial value of the wrong type";
    InitialCount = 612, "a wrong number of initial values";
    InitialPlace = 613, "an initial value where none is allowed";
    Parameter = 614, "an invalid parameter or result";
    ParameterSpace = 615, "parameters that exceed the maximum size";
    DirectiveValue = 616, "an invalid value of a directive";
    DirectiveConflict = 617, "conflicting directives";
    Redeclaration = 618, "a declaration that differs from the first one";
    Prototype = 619, "a prototype that differs from the first one";
    Alias = 620, "an invalid alias";
    CallTarget = 621, "a call target that is not a function";
    CallCount = 622, "a call with a wrong number of arguments or results";
    CallArgument = 623, "an argument that the parameter does not take";
    ParameterAccess = 624, "a parameter accessed in the wrong direction";
    DebugInfo = 625, "invalid debug information";
    PragmaPlace = 626, "a pragma in the wrong place";
    UnknownPragma = 627, "an unknown pragma";

    UnusedRegister = 701, "an unused register";
    UnusedLabel = 702, "an unused label";
    UnusedFunction = 703, "an unused function";
    Deprecated = 704, "a deprecated instruction or modifier";
    UnwrittenRegister = 705, "a register that is read but never written";
    MisalignedAccess = 706, "a misaligned access to a variable";

    MixedModifiers = 801, "inconsistent modifiers in a function";
    UndefinedFunction = 802, "an undefined function";
    UnresolvedExtern = 803, "an unresolved external name";
    ConstantMemory = 804, "too much constant memory";
    SharedMemory = 805, "too much shared memory";
    SmallParameter = 806, "a value that the calling convention cannot pass";
    SmallAddresses = 807, "32-bit addresses on a 64-bit target";
    SmallAddress = 808, "a 32-bit address in a module with 64-bit addresses";
    CodeLabelDifference = 809, "the difference of labels that no section defines";

    SourceTooLarge = 901, "a source larger than the limit";
    NestingTooDeep = 902, "nesting deeper than the limit";
    TooManyDiagnostics = 903, "more diagnostics than the limit";

    DuplicateDefinition = 1001, "a name defined by two modules";
    DifferentDeclaration = 1002, "a name declared differently by two modules";
    DifferentTargets = 1003, "incompatible targets";
    DifferentAddressSizes = 1004, "inconsistent address sizes";
    DifferentOptions = 1005, "inconsistent target options";
    LostDebugInfo = 1006, "removed debug information";
    RenamedKernel = 1007, "a renamed kernel";
    SpreadingPragma = 1008, "a pragma applied to other modules";

    NoPtx = 1101, "a file without PTX";
    TruncatedContainer = 1102, "a truncated fatbin or archive";
    MalformedContainer = 1103, "a malformed fatbin or archive";
    UnsupportedContainer = 1104, "a fatbin in a format that is not supported";
    CorruptContent = 1105, "compressed content that is damaged";
    ContentTooLarge = 1106, "decompressed content larger than the limit";

    AboveLimit = 1201, "a value above its limit";
    BelowLimit = 1202, "a value below its limit";
    DeniedInstruction = 1203, "a denied instruction";

    AddressOutOfBounds = 1301, "an access to an invalid address";
    MisalignedAddress = 1302, "a misaligned access";
    Trap = 1303, "an executed `trap`";
    Deadlock = 1304, "a deadlock";
    StepLimit = 1305, "more executed instructions than the limit";
    StackLimit = 1306, "more nested calls or local memory than the limit";
    BadJump = 1307, "a jump or a call to a target that does not exist";
    Unsupported = 1308, "an instruction that `ptxkit run` does not support";
    CallWithoutBody = 1309, "a call of a function without a body";
    FailedAssertion = 1310, "a failed assertion";
    UndefinedBehavior = 1311, "an operation without a defined result";
    MemoryLimit = 1320, "more memory of the host than the limit";
    TimeLimit = 1321, "more time than the limit";

    OutsideAllocation = 1401, "an access outside of allocated memory";
    UseAfterFree = 1402, "an access to freed memory";
    InvalidFree = 1403, "an invalid call of `free`";
    KeptTensorMemory = 1405, "tensor memory that is not freed";
    UnwrittenMemory = 1411, "a read of unwritten memory";
    UnsetRegister = 1412, "a read of an unwritten register";
    MissingThreads = 1421, "a barrier that not all threads reach";
    DivergentBarrier = 1422, "an aligned barrier in divergent code";
    BarrierCount = 1423, "different thread counts at a barrier";
    LaneMask = 1424, "a member mask that does not match the executing lanes";
    MissingMbarrier = 1425, "an operation on memory without an mbarrier object";
    RepeatedMbarrier = 1426, "a second initialization of an mbarrier object";
    MbarrierCount = 1427, "an mbarrier count out of range";
    MbarrierAccess = 1428, "an ordinary access to an mbarrier object";
    PendingCopy = 1429, "an access before an asynchronous copy is complete";
    RepeatedArrival = 1430, "a second arrival at the barrier of the cluster";
    UniformBranch = 1431, "a divergent branch with `.uni`";
    DataRace = 1441, "a data race";
    UnfencedProxy = 1442, "memory that is read through another proxy without a fence";

    BarrierDivergence = 1501, "a barrier in divergent code";
    WarpMask = 1502, "a member mask that does not match the executing lanes";
    AsyncCopyWait = 1503, "an access to memory of a pending asynchronous copy";
    WgmmaProtocol = 1504, "a `wgmma` operation without a fence or a wait";
    Tcgen05Protocol = 1505, "tensor memory that is accessed, allocated or freed at the wrong time";
    MbarrierInit = 1506, "an mbarrier object that is used before it is initialized";
    ProxyFence = 1507, "a missing proxy fence";
    FenceStrength = 1508, "a fence that is missing, redundant or wider than needed";
    UninitializedRegister = 1509, "a register that is read before it is written";
    SharedRace = 1510, "accesses to shared memory without a barrier between them";
    MisalignedVector = 1511, "an access to an address that may not be aligned";
    DeadCode = 1512, "code without effect";
    Uncoalesced = 1513, "an access to global memory that is not coalesced";
    BankConflict = 1514, "an access to shared memory with bank conflicts";
    MissedVector = 1515, "adjacent accesses that could be one vector access";
    GenericSpace = 1516, "a generic access to a known state space, or an address of the wrong kind";
    DeprecatedFeature = 1517, "a deprecated feature";
    RegisterBudget = 1518, "a register reallocation that has no effect or waits for ever";
    DependentLaunch = 1519, "an access to global memory before the earlier grid has ended";
    OutOfBounds = 1520, "an access beyond the end of a variable";
    DivergentBranch = 1521, "a branch with `.uni` that threads of a warp take differently";
    ReadOnlyLoad = 1522, "a non-coherent load of memory that the kernel writes";
    LocalMemory = 1523, "a variable that stays in local memory";
    ClusterMemory = 1524, "shared memory of another CTA that may not have started or may have exited";
    BarrierProtocol = 1525, "arrivals and waits at barriers that do not match";
}

impl Code {
    /// The number after `PTX`.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }
}

/// No diagnostic has this code.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct UnknownCode;

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a diagnostic code such as `PTX0104`")
    }
}

impl core::error::Error for UnknownCode {}

impl TryFrom<u16> for Code {
    type Error = UnknownCode;

    fn try_from(number: u16) -> Result<Self, UnknownCode> {
        let all = Self::ALL;
        match all.binary_search_by_key(&number, |c| c.number()) {
            Ok(i) => all.get(i).copied().ok_or(UnknownCode),
            Err(_) => Err(UnknownCode),
        }
    }
}

/// From a spelling such as `PTX0104`.
impl core::str::FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let number = text
            .strip_prefix("PTX")
            .filter(|digits| digits.len() == 4)
            .and_then(|digits| digits.parse::<u16>().ok());
        Self::try_from(number.ok_or(UnknownCode)?)
    }
}

/// Serialized as the spelling, such as `PTX0104`.
#[cfg(feature = "serde")]
impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <alloc::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX{:04}", self.number())
    }
}

/// A labeled place of a diagnostic.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Note {
    /// The place, from the start of the source.
    pub span: Span,
    /// The explanation of the place.
    pub message: String,
}

/// An error or a warning about a source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kind of the diagnostic.
    pub code: Code,
    /// Whether it is an error or a warning.
    pub severity: Severity,
    /// The text that is wrong, from the start of the source.
    pub span: Span,
    /// A sentence about what was expected and what was found.
    pub message: String,
    /// Other places involved, such as the first declaration.
    pub labels: Vec<Note>,
    /// Other places with the same error and the same cause, such as further uses of an undeclared name.
    #[cfg_attr(feature = "serde", serde(default))]
    pub repeats: Box<[Span]>,
    /// The message of each of the [repeats](Self::repeats), in their order. A repeat without an entry has the
    /// message of the diagnostic.
    #[cfg_attr(feature = "serde", serde(default))]
    pub repeat_messages: Box<[String]>,
    /// A sentence about what to write instead.
    pub help: Option<String>,
    /// Edits that repair it together; [`apply_fix`](crate::apply_fix) makes them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub fix: Box<[Patch<String>]>,
    /// The certainty of the fix; without meaning if there is none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub applicability: Applicability,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        let (severity, message) = (Severity::Error, message.into());
        Self {
            code,
            severity,
            span,
            message,
            labels: Vec::new(),
            repeats: Box::default(),
            repeat_messages: Box::default(),
            help: None,
            fix: Box::default(),
            applicability: Applicability::default(),
        }
    }

    /// A warning.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Adds a help text: what to write instead.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds an edit to the [fix](Self::fix), which may then be incorrect. An empty span inserts.
    #[must_use]
    pub fn with_fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.add_fix([(span, text.into())]);
        self
    }

    /// Marks the complete fix as the only one that can be meant.
    #[must_use]
    pub fn machine_applicable(self) -> Self {
        self.with_applicability(Applicability::MachineApplicable)
    }

    /// Sets the certainty of the complete fix.
    #[must_use]
    pub fn with_applicability(mut self, applicability: Applicability) -> Self {
        self.applicability = applicability;
        self
    }

    /// Whether it has a fix that is the only one that can be meant.
    #[doc(hidden)]
    #[must_use]
    pub fn is_machine_applicable(&self) -> bool {
        !self.fix.is_empty() && self.applicability == Applicability::MachineApplicable
    }

    /// Adds edits to the [fix](Self::fix), which may then be incorrect.
    pub fn add_fix(&mut self, edits: impl IntoIterator<Item = (Span, String)>) {
        if self.applicability == Applicability::MachineApplicable {
            self.applicability = Applicability::MaybeIncorrect;
        }
        let edits = edits.into_iter().map(|(span, text)| Patch { span, text });
        let old = core::mem::take(&mut self.fix).into_vec();
        self.fix = old.into_iter().chain(edits).collect();
    }

    /// Moves it to another text. `place` gives the place of a span there, `None` outside of it: labels and repeats without a
    /// place are removed, and a fix with such an edit.
    #[doc(hidden)]
    pub fn relocate(&mut self, place: impl Fn(Span) -> Option<Span>) {
        self.span = place(self.span).unwrap_or(self.span);
        let repeats = self
            .take_repeats()
            .into_iter()
            .filter_map(|(span, message)| Some((place(span)?, message)));
        self.set_repeats(repeats);
        self.labels.retain_mut(|label| match place(label.span) {
            Some(span) => {
                label.span = span;
                true
            }
            None => false,
        });
        let edits: Option<Vec<Span>> = self.fix.iter().map(|edit| place(edit.span)).collect();
        let Some(edits) = edits else {
            self.fix = Box::default();
            return;
        };
        for (edit, span) in self.fix.iter_mut().zip(edits) {
            edit.span = span;
        }
    }

    /// The other places with the same cause, each with its message.
    pub fn repeats_with_messages(&self) -> impl Iterator<Item = (Span, &str)> {
        let messages = self
            .repeat_messages
            .iter()
            .map(String::as_str)
            .chain(core::iter::repeat(self.message.as_str()));
        self.repeats.iter().copied().zip(messages)
    }

    /// Removes the repeats, each with its own message, if it has one.
    #[doc(hidden)]
    pub fn take_repeats(&mut self) -> Vec<(Span, Option<String>)> {
        let spans = core::mem::take(&mut self.repeats).into_vec();
        let messages = core::mem::take(&mut self.repeat_messages)
            .into_vec()
            .into_iter()
            .map(Some)
            .chain(core::iter::repeat(None));
        spans.into_iter().zip(messages).collect()
    }

    /// Replaces the repeats. One without its own message gets that of the diagnostic if others have one.
    #[doc(hidden)]
    pub fn set_repeats(&mut self, repeats: impl IntoIterator<Item = (Span, Option<String>)>) {
        let (spans, messages): (Vec<Span>, Vec<Option<String>>) = repeats.into_iter().unzip();
        self.repeats = spans.into();
        self.repeat_messages = if messages.iter().any(Option::is_some) {
            messages
                .into_iter()
                .map(|message| message.unwrap_or_else(|| self.message.clone()))
                .collect()
        } else {
            Box::default()
        };
    }

    /// Adds a label at another place.
    #[must_use]
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Note {
            span,
            message: message.into(),
        });
        self
    }
}

/// Sorts diagnostics by the start of their spans. Those with the same start keep their order.
pub fn sort_by_position(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|d| d.span.start);
}

/// `error[PTX0201]: undeclared name `%r1``, without the place; the `render` feature shows the source.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}[{}]: {}",
            self.severity.name(),
            self.code,
            self.message
        )
    }
}

impl core::error::Error for Diagnostic {}
