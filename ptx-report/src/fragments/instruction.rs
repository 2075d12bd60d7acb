//! The fragments of instructions.

use ptx_analysis::internals::fragments::layout::{Layout, Role};
use ptx_analysis::internals::fragments::{
    MatrixRows, ProductFragments, StoredFragment, TensorShape, block_scales, metadata_place,
    result_types, scale_lane,
};
use ptx_isa::{Action, Form, Modifier, ScalarType, find_instruction};

use super::shared::of_warpgroup;
use super::{FragmentMatrix, FragmentPlace, Fragments};
use crate::explain::words;

pub(super) fn find(text: &str) -> Result<Fragments, String> {
    let (opcode, modifiers) = words(text)?;
    let none = || format!("`{text}` has no fragments of matrices");
    let instruction = find_instruction(opcode, &modifiers)
        .or_else(|| opcode.instructions().first())
        .ok_or_else(none)?;
    let slots = modifiers
        .get(instruction.words().len()..)
        .unwrap_or_default();
    let forms: &[&Form] = instruction.forms();
    let has_fragments = forms
        .iter()
        .any(|form| form.action().is_some_and(is_of_matrices));
    if !has_fragments {
        return Err(none());
    }
    let is_complete = |form: &&&Form| {
        form.match_modifiers(slots).is_some_and(|assignment| {
            let mut tables = form.tables().iter();
            tables.all(|table| table.row(&assignment).is_some())
        })
    };
    let form = forms.iter().find(is_complete).ok_or_else(|| {
        format!(
            "`{text}` is not a complete instruction; --fragments expects an opcode with all its modifiers: `ptxkit explain {}` shows them",
            instruction.name()
        )
    })?;
    let mut fragments = Fragments::new(text);
    let added = form
        .action()
        .and_then(|action| add(&mut fragments, action, &modifiers));
    added.ok_or_else(none)?;
    if form.section().starts_with(OPAQUE_SECTION) {
        fragments.notes.push(OPAQUE);
    }
    Ok(fragments)
}

const fn is_of_matrices(action: Action) -> bool {
    matches!(
        action,
        Action::MatrixLoad
            | Action::MatrixStore
            | Action::MatrixTranspose
            | Action::MatrixMultiply
            | Action::FragmentLoad
            | Action::FragmentStore
            | Action::WarpgroupMultiply
            | Action::TensorLoad
            | Action::TensorStore
    )
}

/// Adds the matrices of an instruction. `None` if the modifiers do not state them.
fn add(fragments: &mut Fragments, action: Action, modifiers: &[Modifier]) -> Option<()> {
    match action {
        Action::MatrixLoad | Action::MatrixStore => add_rows(fragments, modifiers),
        Action::MatrixTranspose => add_transposed(fragments),
        Action::FragmentLoad | Action::FragmentStore => add_stored(fragments, modifiers),
        Action::MatrixMultiply | Action::WarpgroupMultiply => add_product(fragments, modifiers),
        Action::TensorLoad | Action::TensorStore => add_tensor(fragments, modifiers),
        _ => None,
    }
}

/// The name of a type without its dot, and the bits of an element.
fn element(ty: ScalarType, bits: usize) -> (String, usize) {
    (ty.text().trim_start_matches('.').to_owned(), bits)
}

/// `.b16`
fn untyped(bits: usize) -> (String, usize) {
    (format!("b{bits}"), bits)
}

fn add_product(fragments: &mut Fragments, modifiers: &[Modifier]) -> Option<()> {
    let product = ProductFragments::of(modifiers)?;
    let [d, c] = result_types(modifiers)?;
    let is_warpgroup = product.product.warps > 1;
    let [a, b] = product.product.factors;
    let bits = product.factor_bits();
    let parts = if product.quads() { 4 } else { 1 };
    let of_part = |operand: &str, part: usize| match parts {
        1 => operand.to_owned(),
        _ => format!("{operand} of matrix {part}"),
    };
    let mut add =
        |operand: &str, meaning: &str, ty, bits, role, layout: &dyn Fn(usize) -> Layout| {
            let size = product.size(role);
            for part in 0..parts {
                let layout = layout(part);
                let place = |row, column| layout.position(size, row, column).into();
                let operand = of_part(operand, part);
                let matrix = FragmentMatrix::new(operand, meaning, element(ty, bits), size, place);
                fragments.matrices.push(matrix);
            }
        };
    let factor = |role| move |part| product.layout(role, part);
    add("a", "the first factor", a, bits, Role::A, &factor(Role::A));
    if !is_warpgroup {
        add("b", "the second factor", b, bits, Role::B, &factor(Role::B));
        let addend = |part| product.addend_layout(c, part);
        add("c", "the addend", c, c.bits().into(), Role::C, &addend);
    }
    let result = |part| product.addend_layout(d, part);
    add("d", "the result", d, d.bits().into(), Role::C, &result);
    if product.product.sparse {
        fragments.matrices.push(metadata(&product));
        fragments.notes.push("Columns of `a` are stored elements: half of the columns of the first factor; the metadata select them.");
        fragments
            .notes
            .push("The metadata are shown for the sparsity selector 0.");
    }
    if let Some(count) = block_scales(modifiers) {
        add_scales(fragments, &product, count);
    }
    add_product_notes(fragments, &product);
    Some(())
}

fn add_product_notes(fragments: &mut Fragments, product: &ProductFragments) {
    if product.word() > 1 {
        fragments.notes.push("Each element of `a` and `b` in the tables is a word of 32 bits, which are 32 elements of one bit.");
    }
    if product.product.warps > 1 {
        fragments.shared = of_warpgroup();
        fragments.notes.push("The tables show warp 0 of the warpgroup: warp w has rows 16·w to 16·w + 15 of `a` and `d`.");
        fragments.notes.push("`a` may be in shared memory, `b` always is; where shared memory has their units of 16 bytes follows from the matrix descriptor.");
    }
}

/// The section of the PTX ISA manual with the instructions whose fragments have no documented layout.
const OPAQUE_SECTION: &str = "9.7.14.4.";

const OPAQUE: &str = "The PTX ISA manual does not document this fragment: it may differ on other targets. Only use it with instructions of the same kind.";

/// The two bits of metadata of each stored unit.
fn metadata(product: &ProductFragments) -> FragmentMatrix {
    let units = product.metadata_units();
    let [rows, ..] = product.shape();
    let place = |row, unit| {
        let [lane, bit] = metadata_place(units, 0, row, unit);
        FragmentPlace {
            lane,
            register: 0,
            index: bit / 2,
        }
    };
    FragmentMatrix::new(
        "e",
        "the metadata, two bits for each stored unit",
        untyped(2),
        [rows, units],
        place,
    )
}

/// The bytes with the block scales, for byte and thread selectors of 0.
fn add_scales(fragments: &mut Fragments, product: &ProductFragments, count: usize) {
    let [rows, width, _] = product.shape();
    for (operand, meaning, role, lines) in [
        (
            "scale-a",
            "the scales of the rows of the first factor",
            Role::A,
            rows,
        ),
        (
            "scale-b",
            "the scales of the columns of the second factor",
            Role::B,
            width,
        ),
    ] {
        let place = |line, block| FragmentPlace {
            lane: scale_lane(role, line, 0),
            register: 0,
            index: block,
        };
        let matrix = FragmentMatrix::new(operand, meaning, untyped(8), [lines, count], place);
        fragments.matrices.push(matrix);
    }
    fragments.notes.push("Rows of the scale tables are rows of the first factor or columns of the second one. They are shown for the selectors {0, 0}.");
}

fn add_rows(fragments: &mut Fragments, modifiers: &[Modifier]) -> Option<()> {
    let rows = MatrixRows::of(modifiers)?;
    let count = modifiers.iter().find_map(|m| match m {
        Modifier::X1 => Some(1),
        Modifier::X2 => Some(2),
        Modifier::X4 => Some(4),
        _ => None,
    })?;
    for number in 0..count {
        let place = |row, column| {
            let place = rows.layout.position(rows.size, row, column);
            FragmentPlace {
                register: place.register + number * rows.registers,
                ..place.into()
            }
        };
        let meaning = match rows.transposed {
            true => "rows of the table are columns in memory",
            false => "rows of the table are rows in memory",
        };
        let operand = format!("matrix {number}");
        let mut matrix =
            FragmentMatrix::new(operand, meaning, untyped(rows.bits), rows.size, place);
        matrix.address_lanes = (0..rows.memory_rows)
            .map(|row| rows.address_lane(number, row))
            .collect();
        fragments.matrices.push(matrix);
    }
    fragments.notes.push("A lane with the address of a row gives the address of its 16 bytes; addresses of other lanes are ignored.");
    Some(())
}

fn add_transposed(fragments: &mut Fragments) -> Option<()> {
    let layout = Layout::Warp {
        role: Role::C,
        elements: 2,
    };
    let size = [8, 8];
    let source = |row, column| layout.position(size, row, column).into();
    let result = |row, column| layout.position(size, column, row).into();
    let matrices = [
        FragmentMatrix::new("a", "the matrix", untyped(16), size, source),
        FragmentMatrix::new(
            "d",
            "the same elements after the transposition",
            untyped(16),
            size,
            result,
        ),
    ];
    fragments.matrices.extend(matrices);
    Some(())
}

fn add_stored(fragments: &mut Fragments, modifiers: &[Modifier]) -> Option<()> {
    let stored = StoredFragment::of(modifiers)?;
    let ty = modifiers.iter().find_map(|m| m.scalar_type())?;
    let place = |row, column| stored.layout.position(stored.size, row, column).into();
    let element = element(ty, stored.bits);
    let matrix = FragmentMatrix::new("r", "the matrix", element, stored.size, place);
    fragments.matrices.push(matrix);
    if stored.word > 1 {
        fragments.notes.push(
            "Each element in the table is a word of 32 bits with several elements of the type.",
        );
    }
    Some(())
}

fn add_tensor(fragments: &mut Fragments, modifiers: &[Modifier]) -> Option<()> {
    let shape = TensorShape::of(modifiers)?;
    let repeats = modifiers.iter().find_map(|m| {
        let digits = m.text().strip_prefix(".x")?;
        digits.parse::<usize>().ok()
    })?;
    let registers = repeats * shape.least_registers();
    let (rows, columns) = (shape.rows(), shape.columns(registers));
    let parts = if shape == TensorShape::Lanes16x32Twice {
        2
    } else {
        1
    };
    for part in 0..parts {
        let mut places = vec![vec![None; columns]; rows];
        for lane in 0..32 {
            for register in 0..registers {
                let cell = shape.cell(lane, register);
                if usize::from(cell.is_second) != part {
                    continue;
                }
                let place = FragmentPlace {
                    lane,
                    register,
                    index: 0,
                };
                if let Some(slot) = places
                    .get_mut(cell.row)
                    .and_then(|row: &mut Vec<_>| row.get_mut(cell.column))
                {
                    *slot = Some(place);
                }
            }
        }
        let absent = FragmentPlace {
            lane: 0,
            register: 0,
            index: 0,
        };
        let place = |row: usize, column: usize| {
            let place = places.get(row).and_then(|row| *row.get(column)?);
            place.unwrap_or(absent)
        };
        let meaning = match (parts, part) {
            (1, _) => "tensor memory from the address on: rows are lanes, columns have 32 bits",
            (_, 0) => {
                "tensor memory from the address on, of threads 0 to 15: rows are lanes, columns have 32 bits"
            }
            _ => "tensor memory from the address plus the offset on, of threads 16 to 31",
        };
        let mut matrix = FragmentMatrix::new("r", meaning, untyped(32), [rows, columns], place);
        matrix.row_name = "lane";
        fragments.matrices.push(matrix);
    }
    let is_packed = |m: &Modifier| matches!(m.text(), ".pack::16b" | ".unpack::16b");
    if modifiers.iter().any(is_packed) {
        fragments.notes.push("A register has 16 bits of each of two neighboring columns: column c of the table means columns 2·c and 2·c + 1.");
    }
    fragments
        .notes
        .push("Warp w of a warpgroup can only access lanes 32·w to 32·w + 31 of tensor memory.");
    Some(())
}
