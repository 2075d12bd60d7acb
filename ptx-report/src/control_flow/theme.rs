//! The colors of drawings.

use std::fmt;
use std::str::FromStr;

/// The colors of a picture.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Theme {
    /// The colors that the viewer prefers.
    #[default]
    Automatic,
    /// Dark text on a light page.
    Light,
    /// Light text on a dark page.
    Dark,
}

/// The error for a text that is not the name of a [`Theme`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnknownTheme;

impl fmt::Display for UnknownTheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected the theme `automatic`, `light` or `dark`")
    }
}

impl std::error::Error for UnknownTheme {}

impl FromStr for Theme {
    type Err = UnknownTheme;

    fn from_str(name: &str) -> Result<Self, UnknownTheme> {
        match name {
            "automatic" => Ok(Self::Automatic),
            "light" => Ok(Self::Light),
            "dark" => Ok(Self::Dark),
            _ => Err(UnknownTheme),
        }
    }
}

/// The style sheet that sets the colors of an element for each theme.
macro_rules! colors {
    ($element:literal, light) => {
        concat!($element, " {\n", include_str!("light.css"), "}\n")
    };
    ($element:literal, dark) => {
        concat!($element, " {\n", include_str!("dark.css"), "}\n")
    };
    ($element:literal, automatic) => {
        concat!(
            colors!($element, light),
            "@media (prefers-color-scheme: dark) {\n",
            colors!($element, dark),
            "}\n"
        )
    };
}
pub(super) use colors;

impl Theme {
    /// The colors of a picture, for its outermost element.
    pub(super) const fn picture_colors(self) -> &'static str {
        match self {
            Self::Automatic => colors!("svg", automatic),
            Self::Light => colors!("svg", light),
            Self::Dark => colors!("svg", dark),
        }
    }
}
