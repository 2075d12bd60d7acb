//! Patterns of `*` and `?`.

/// Whether all of `text` looks like `pattern`. Takes at most pattern times text steps.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Behind the last star, and what it has eaten so far.
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == b'?' || text.get(t) == Some(&c) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((behind, eaten)) => {
                    star = Some((behind, eaten + 1));
                    (p, t) = (behind, eaten + 1);
                }
                None => return false,
            },
        }
    }
    pattern
        .get(p..)
        .unwrap_or_default()
        .iter()
        .all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for pattern in [
            "ld.global.f32",
            "*",
            "ld*",
            "*f32",
            "ld*f32",
            "*glo*",
            "ld.global.f??",
            "**",
        ] {
            assert!(matches(pattern, "ld.global.f32"), "{pattern}");
        }
        for pattern in ["", "ld", "*f64", "?", "ld*b*f", "ld.global.f32?"] {
            assert!(!matches(pattern, "ld.global.f32"), "{pattern}");
        }
    }
}
