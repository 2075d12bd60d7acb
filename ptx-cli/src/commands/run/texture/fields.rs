//! The properties of textures and samplers in text: `filter=linear:address=wrap`.

use ptx_report::clean;
use ptx_vm::{Sampler, TextureDescription};

/// Names of properties with their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses properties that are separated by colons.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fields = text.split(':').filter(|field| !field.is_empty());
        let fields = fields.map(|field| match field.split_once('=') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.to_owned())),
            None => Err(format!("expected `NAME=VALUE`, found `{}`", clean(field))),
        });
        fields.collect::<Result<_, _>>().map(Self)
    }

    /// A sampler with other properties, of which the fields replace some.
    pub(crate) fn sampler(&self, declared: Sampler) -> Result<Sampler, String> {
        let mut sampler = declared;
        for (name, value) in &self.0 {
            let set = sampler.set(name, value);
            set.map_err(|why| clean(&why.to_string()).into_owned())?;
        }
        Ok(sampler)
    }

    /// A texture with the properties of a sampler, of which the fields replace some.
    pub(crate) fn texture(&self, declared: Sampler) -> Result<TextureDescription, String> {
        let mut texture = TextureDescription::new(declared);
        for (name, value) in &self.0 {
            let set = texture.set(name, value);
            set.map_err(|why| clean(&why.to_string()).into_owned())?;
        }
        Ok(texture)
    }

    pub(super) fn check_sampler(&self) -> Result<(), String> {
        self.sampler(Sampler::default()).map(|_| ())
    }

    pub(super) fn check_texture(&self) -> Result<(), String> {
        self.texture(Sampler::default()).map(|_| ())
    }
}
