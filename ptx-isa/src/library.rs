//! Functions of C that libdevice has, under other names.

use alloc::format;
use alloc::string::String;

use crate::generated::foreign::LIBRARY;

/// The function of libdevice that a name means: that of a function of C, or of C++ with the types of its parameters.
///
/// ```
/// use ptx_isa::library_function;
/// assert_eq!(library_function("sinf").as_deref(), Some("__nv_sinf"));
/// assert_eq!(library_function("_Z3powfi").as_deref(), Some("__nv_powif"));
/// assert_eq!(library_function("_Z3powdd").as_deref(), Some("__nv_pow"));
/// assert_eq!(library_function("reduce"), None);
/// ```
#[must_use]
pub fn library_function(name: &str) -> Option<String> {
    let is_known = |name: &str| LIBRARY.binary_search(&name).is_ok();
    if let Some((base, types)) = mangled(name) {
        let integer = types.ends_with('i').then(|| format!("{base}i"));
        let integer = integer.filter(|name| is_known(name));
        let base = integer.unwrap_or_else(|| String::from(base));
        let float = if types.contains('f') { "f" } else { "" };
        return is_known(&base).then(|| format!("__nv_{base}{float}"));
    }
    let of_floats = name.strip_suffix('f').is_some_and(is_known);
    (is_known(name) || of_floats).then(|| format!("__nv_{name}"))
}

/// The name of a function of C++ outside of namespaces, and its parameters, if they are numbers.
fn mangled(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (length, rest) = rest.split_at_checked(digits)?;
    let (base, types) = rest.split_at_checked(length.parse().ok()?)?;
    let numbers = types.chars().all(|c| matches!(c, 'f' | 'd' | 'i'));
    (numbers && !types.is_empty()).then_some((base, types))
}
