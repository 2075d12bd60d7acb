//! The formulas for nearest and linear sampling of the section "Texture Fetching" of the CUDA programming guide, as slow code.

use ptx_vm::AddressMode;

/// A texture of one channel with up to three dimensions.
pub(crate) struct Reference {
    /// The texels in x, y and z.
    pub(crate) size: Vec<usize>,
    pub(crate) texels: Vec<f32>,
    pub(crate) modes: [AddressMode; 3],
    pub(crate) is_normalized: bool,
    pub(crate) border: f32,
}

impl Reference {
    /// The texel of numbers that may be outside of the texture.
    fn texel(&self, numbers: &[i64]) -> f64 {
        let mut index = 0;
        for dimension in (0..self.size.len()).rev() {
            let size = self.size[dimension] as i64;
            let mut number = numbers[dimension];
            match self.mode(dimension) {
                AddressMode::Wrap => {
                    while number < 0 {
                        number += size;
                    }
                    while number >= size {
                        number -= size;
                    }
                }
                AddressMode::ClampToEdge | AddressMode::Mirror => {
                    number = number.max(0).min(size - 1);
                }
                _ if number < 0 || number >= size => return self.border.into(),
                _ => {}
            }
            index = index * self.size[dimension] + number as usize;
        }
        self.texels[index].into()
    }

    fn mode(&self, dimension: usize) -> AddressMode {
        match self.modes[dimension] {
            AddressMode::Wrap | AddressMode::Mirror if !self.is_normalized => {
                AddressMode::ClampToEdge
            }
            mode => mode,
        }
    }

    /// The coordinate in texels after the address mode of a dimension.
    fn coordinate(&self, x: f32, dimension: usize) -> f64 {
        let size = self.size[dimension] as f64;
        let x = f64::from(x);
        let fraction = x - x.floor();
        match self.mode(dimension) {
            AddressMode::Wrap => fraction * size,
            AddressMode::Mirror if x.floor() % 2.0 == 0.0 => fraction * size,
            AddressMode::Mirror => (1.0 - fraction) * size,
            AddressMode::ClampOgl if self.is_normalized => x.clamp(0.0, 1.0) * size,
            AddressMode::ClampOgl => x.clamp(0.0, size),
            _ if self.is_normalized => x * size,
            _ => x,
        }
    }

    /// The value of the nearest texel.
    pub(crate) fn nearest(&self, coordinates: &[f32]) -> f64 {
        let numbers: Vec<i64> = (0..self.size.len())
            .map(|dimension| {
                let u = self.coordinate(coordinates[dimension], dimension);
                let number = u.floor() as i64;
                let last = self.size[dimension] as i64 - 1;
                match self.mode(dimension) {
                    AddressMode::ClampToBorder => number,
                    // The upper edge.
                    _ => number.max(0).min(last),
                }
            })
            .collect();
        self.texel(&numbers)
    }

    /// The mean of the neighbors, with weights of 8 fractional bits.
    pub(crate) fn linear(&self, coordinates: &[f32]) -> f64 {
        let dimensions = self.size.len();
        let mut sum = 0.0;
        for corner in 0..1 << dimensions {
            let mut weight = 1.0;
            let mut numbers = Vec::new();
            for (dimension, coordinate) in coordinates[..dimensions].iter().enumerate() {
                let t = self.coordinate(*coordinate, dimension) - 0.5;
                let fraction = ((t - t.floor()) * 256.0).round() / 256.0;
                let is_upper = corner >> dimension & 1 == 1;
                weight *= if is_upper { fraction } else { 1.0 - fraction };
                numbers.push(t.floor() as i64 + i64::from(is_upper));
            }
            if weight > 0.0 {
                sum += weight * self.texel(&numbers);
            }
        }
        sum
    }
}
