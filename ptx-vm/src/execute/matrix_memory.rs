//! Loads and stores of matrices whose rows or columns are at equal distances.

use ptx_analysis::internals::fragments::StoredFragment;

use super::execution::{Execution, Failed};
use super::matrix::{Fragment, gather};
use crate::lanes::{Double, LANES};
use crate::program::Act;

impl Execution<'_> {
    /// Loads a factor or an addend.
    pub(super) fn load_fragment(&mut self, act: &Act) -> Result<(), Failed> {
        let stored = StoredFragment::of(&act.modifiers).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let destinations = act.all_places(0);
        let strides = self.strides(act, &stored);
        let mut result = vec![[0; LANES]; stored.registers()];
        for row in 0..stored.size[0] {
            for column in 0..stored.size[1] {
                let position = stored.layout.position(stored.size, row, column);
                let first_element = self.location(&address, position.lane);
                let location =
                    first_element.plus(stored.offset(row, column, strides[position.lane]));
                let bits = self.read(location, (stored.bits / 8) as u8, position.lane)? as u64;
                result[position.register][position.lane] |= bits << (position.index * stored.bits);
            }
        }
        // Fragments with more registers than elements have copies of them.
        let copies = (0..destinations.len())
            .map(|index| result[index % result.len()])
            .collect::<Fragment>();
        self.set_fragment(destinations, &copies);
        Ok(())
    }

    /// Stores a result.
    pub(super) fn store_fragment(&mut self, act: &Act) -> Result<(), Failed> {
        let stored = StoredFragment::of(&act.modifiers).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let strides = self.strides(act, &stored);
        let source = self.fragment(act.all_places(1));
        let matrix = gather(&source, stored.layout, stored.size, stored.bits);
        for row in 0..stored.size[0] {
            for column in 0..stored.size[1] {
                let lane = stored.layout.position(stored.size, row, column).lane;
                let location =
                    self.location(&address, lane)
                        .plus(stored.offset(row, column, strides[lane]));
                let bits = matrix.at(row, column).into();
                self.write(location, (stored.bits / 8) as u8, bits, lane)?;
            }
        }
        Ok(())
    }

    /// The distance of rows or columns, in elements, in each lane.
    fn strides(&mut self, act: &Act, stored: &StoredFragment) -> Double {
        let values = self.fragment(act.all_places(2));
        let default = [(stored.contiguous_elements() * stored.word) as u64; LANES];
        values.first().copied().unwrap_or(default)
    }
}
