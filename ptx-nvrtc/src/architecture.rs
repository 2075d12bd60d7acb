//! Options of NVRTC that name an architecture.

use std::ffi::{CStr, CString};

/// The names of the option.
const NAMES: [&str; 3] = ["--gpu-architecture", "-arch", "--arch"];

/// The options with the virtual architecture of the real one that they name, or `None` if they name no real one.
pub(crate) fn virtual_options(options: &[&CStr]) -> Option<Vec<CString>> {
    let mut changed = false;
    let mut is_value = false;
    let result = options
        .iter()
        .map(|option| {
            let text = option.to_bytes();
            let replaced = if is_value {
                virtual_name(text)
            } else {
                with_virtual_value(text)
            };
            is_value = !is_value && NAMES.iter().any(|name| name.as_bytes() == text);
            changed |= replaced.is_some();
            replaced.map_or_else(|| CString::from(*option), terminated)
        })
        .collect();
    changed.then_some(result)
}

/// A text with a zero byte at the end. It has no other one, since it is part of a text without any.
fn terminated(text: Vec<u8>) -> CString {
    CString::new(text).unwrap_or_default()
}

/// `-arch=sm_80` as `-arch=compute_80`; `None` for all other options.
fn with_virtual_value(text: &[u8]) -> Option<Vec<u8>> {
    NAMES.iter().find_map(|name| {
        let value = text.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        let virtual_value = virtual_name(value)?;
        Some([name.as_bytes(), b"=", &virtual_value].concat())
    })
}

/// `sm_90a` as `compute_90a`; `None` for other names.
fn virtual_name(name: &[u8]) -> Option<Vec<u8>> {
    let number = name.trim_ascii().strip_prefix(b"sm_")?;
    Some([b"compute_", number].concat())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::virtual_options;

    fn changed(options: &[&CStr]) -> Option<Vec<String>> {
        let texts = virtual_options(options)?;
        let texts = texts.iter();
        Some(
            texts
                .map(|text| text.to_string_lossy().into_owned())
                .collect(),
        )
    }

    #[test]
    fn real_architectures_become_virtual_ones() {
        assert_eq!(
            changed(&[c"-G", c"-arch=sm_80"]).unwrap_or_default(),
            ["-G", "-arch=compute_80"]
        );
        assert_eq!(
            changed(&[c"--gpu-architecture=sm_100a"]).unwrap_or_default(),
            ["--gpu-architecture=compute_100a"]
        );
        assert_eq!(
            changed(&[c"--gpu-architecture", c"sm_90", c"-DN=sm_80"]).unwrap_or_default(),
            ["--gpu-architecture", "compute_90", "-DN=sm_80"]
        );
    }

    #[test]
    fn other_options_are_not_changed() {
        assert_eq!(changed(&[]), None);
        assert_eq!(
            changed(&[c"-arch=compute_80", c"-DARCH=sm_80", c"sm_80"]),
            None
        );
    }
}
