//! Versions and targets, such as "PTX 8.6 on sm_100a or sm_110a; or PTX 8.8 on the sm_100f family".

use core::fmt::Display;

use super::Phrases;
use crate::Since;

/// One version and its targets.
#[must_use]
pub fn floor(floor: &Since) -> impl Display {
    super::from_fn(move |f| {
        write!(f, "PTX {}", floor.version)?;
        if floor.text().is_empty() {
            return Ok(());
        }
        f.write_str(" on ")?;
        let mut targets = Phrases::new(f, " or ");
        for name in floor.text().split(' ') {
            match name.strip_suffix('+') {
                Some(family) => targets.add(format_args!("the {family} family"))?,
                None if name.contains("..") => {
                    let (first, end) = name.split_once("..").unwrap_or((name, ""));
                    targets.add(format_args!("{first} and newer, below {end}"))?;
                }
                None if name.ends_with(|c: char| c.is_ascii_digit()) => {
                    targets.add(format_args!("{name} and newer"))?;
                }
                None => targets.add(format_args!("{name}"))?,
            }
        }
        Ok(())
    })
}

/// Alternative versions with their targets.
#[must_use]
pub fn floors(floors: &[Since]) -> impl Display {
    super::from_fn(move |f| {
        let mut all = Phrases::new(f, "; or ");
        for each in floors {
            all.add(format_args!("{}", floor(each)))?;
        }
        Ok(())
    })
}
