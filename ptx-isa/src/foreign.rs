//! Words of other languages and their replacements: names of CUDA C++, and functions of C that libdevice has.

use alloc::format;
use alloc::string::String;

use crate::generated::foreign::{LIBRARY, WORDS};

/// A word of another language that is written by mistake.
#[derive(Debug)]
pub struct ForeignWord {
    pub(crate) word: &'static str,
    pub(crate) instead: Option<&'static str>,
    pub(crate) help: Option<&'static str>,
}

impl ForeignWord {
    /// The word with this spelling, the dot of a modifier or type included.
    ///
    /// ```
    /// use ptx_isa::internals::ForeignWord;
    /// let word = ForeignWord::from_text("threadIdx").unwrap();
    /// assert_eq!(word.instead(), Some("%tid"));
    /// assert!(ForeignWord::from_text("ld").is_none());
    /// ```
    #[must_use]
    pub fn from_text(text: &str) -> Option<&'static Self> {
        let index = WORDS.binary_search_by_key(&text, |w| w.word).ok()?;
        WORDS.get(index)
    }

    getters! {
        const;
        /// The word of PTX that replaces it.
        instead: Option<&'static str> = instead;
        /// A sentence that says what to write.
        help: Option<&'static str> = help;
    }
}

/// The libdevice function for the name of a C function, or for the mangled name of a C++ function with numeric parameters.
///
/// ```
/// use ptx_isa::internals::library_function;
/// assert_eq!(library_function("sinf").as_deref(), Some("__nv_sinf"));
/// assert_eq!(library_function("_Z3powfi").as_deref(), Some("__nv_powif"));
/// assert_eq!(library_function("_Z3powdd").as_deref(), Some("__nv_pow"));
/// assert_eq!(library_function("reduce"), None);
/// ```
#[must_use]
pub fn library_function(name: &str) -> Option<String> {
    let is_in_library = |name: &str| LIBRARY.binary_search(&name).is_ok();
    if let Some((base, parameter_types)) = demangle(name) {
        let base = parameter_types
            .ends_with('i')
            .then(|| format!("{base}i"))
            .filter(|name| is_in_library(name))
            .unwrap_or_else(|| String::from(base));
        let suffix = if parameter_types.contains('f') {
            "f"
        } else {
            ""
        };
        return is_in_library(&base).then(|| format!("__nv_{base}{suffix}"));
    }
    let is_single_precision = name.strip_suffix('f').is_some_and(is_in_library);
    (is_in_library(name) || is_single_precision).then(|| format!("__nv_{name}"))
}

/// Splits the mangled name of a C++ function outside of namespaces into its name and the letters of its parameter types.
/// `None` unless all parameters are numbers.
fn demangle(name: &str) -> Option<(&str, &str)> {
    let encoding = name.strip_prefix("_Z")?;
    let digits = encoding.find(|c: char| !c.is_ascii_digit())?;
    let (length, encoding) = encoding.split_at_checked(digits)?;
    let (base, types) = encoding.split_at_checked(length.parse().ok()?)?;
    let numbers = types.chars().all(|c| matches!(c, 'f' | 'd' | 'i'));
    (numbers && !types.is_empty()).then_some((base, types))
}
