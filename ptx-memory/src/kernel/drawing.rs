//! An execution as a drawing: a column for each thread, a row for each operation, and arrows from writes to reads and between operations that
//! synchronize.

use std::fmt::Write;

use super::{Counterexample, Kernel, StoryStep};
use crate::event::Event;
use crate::execution::Execution;
use crate::model::{Relations, Version};

/// Widths and heights in pixels.
const COLUMN: usize = 380;
const ROW: usize = 58;
const BOX_WIDTH: usize = 330;
const BOX_HEIGHT: usize = 40;
const HEADER: usize = 40;
const MARGIN: usize = 16;
/// The largest number of characters of a line of a box.
const MAX_CHARACTERS: usize = 52;

const STYLE: &str = "\
svg{background:#fff}text{font:11px monospace;fill:#222}text.head{font-weight:bold}text.effect{fill:#555}\
rect{fill:#f4f4f4;stroke:#999}rect.failure{stroke:#c00;stroke-width:2}path{fill:none;stroke-width:1.5}\
path.reads{stroke:#06c}path.synchronizes{stroke:#080;stroke-dasharray:5 3}marker path{fill:context-stroke;stroke:none}\
@media (prefers-color-scheme:dark){svg{background:#1b1b1b}text{fill:#ddd}text.effect{fill:#aaa}rect{fill:#2a2a2a;stroke:#777}\
rect.failure{stroke:#f66}path.reads{stroke:#6af}path.synchronizes{stroke:#6c6}}";

/// Where the box of an operation is.
#[derive(Clone, Copy)]
struct Corner {
    left: usize,
    top: usize,
}

/// Text in XML, of a limited length.
fn escaped(text: &str) -> String {
    let mut result = String::new();
    for (number, character) in text.chars().enumerate() {
        if number == MAX_CHARACTERS {
            result.push('…');
            break;
        }
        match character {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            character if character.is_control() => result.push(' '),
            character => result.push(character),
        }
    }
    result
}

fn arrow(from: Corner, to: Corner, class: &str) -> String {
    let middle = BOX_HEIGHT / 2;
    let (start_y, end_y) = (from.top + middle, to.top + middle);
    let (start_x, end_x) = if from.left < to.left {
        (from.left + BOX_WIDTH, to.left)
    } else if from.left > to.left {
        (from.left, to.left + BOX_WIDTH)
    } else {
        (from.left + BOX_WIDTH, to.left + BOX_WIDTH)
    };
    // An arrow within a column leaves and enters on the right side.
    let bend = if from.left > to.left { -30 } else { 30 };
    let end_bend = if from.left == to.left { bend } else { -bend };
    let (first, second) = (start_x as i64 + bend, end_x as i64 + end_bend);
    format!(
        "<path class=\"{class}\" marker-end=\"url(#head)\" d=\"M{start_x} {start_y}C{first} {start_y} {second} {end_y} {end_x} {end_y}\"/>\n"
    )
}

impl Kernel<'_> {
    /// The execution of a counterexample as an SVG image. Blue arrows lead from writes to the reads that return them, green ones between operations of
    /// different threads that synchronize. The operations that take part in the failure are red.
    #[must_use]
    pub fn drawing(&self, example: &Counterexample, version: Version) -> String {
        let execution = &example.execution;
        let steps = self.story(example, version).steps;
        let thread_of = |step: &StoryStep| {
            let event = execution.event(step.event);
            event.map_or(0, |event| event.thread)
        };
        let mut columns: Vec<u32> = steps.iter().map(thread_of).collect();
        columns.sort_unstable();
        columns.dedup();
        let corners: Vec<Corner> = steps
            .iter()
            .enumerate()
            .map(|(row, step)| {
                let column = columns.binary_search(&thread_of(step)).unwrap_or(0);
                Corner {
                    left: MARGIN + column * COLUMN,
                    top: HEADER + row * ROW,
                }
            })
            .collect();
        let corner_of = |event: usize| {
            let number = steps.iter().position(|step| step.event == event)?;
            corners.get(number).copied()
        };
        let (width, height) = (
            2 * MARGIN + columns.len() * COLUMN,
            HEADER + steps.len() * ROW + MARGIN,
        );
        let mut result = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}</style>\n\
             <marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\n"
        );
        self.write_titles(&mut result, execution, &columns);
        for ((number, step), corner) in (1..).zip(&steps).zip(&corners) {
            let is_failure = example.events.contains(&step.event);
            write_step(&mut result, number, step, *corner, is_failure);
        }
        let relations = Relations::new(execution, version);
        let is_between_threads = |first: usize, second: usize| {
            let thread = |event: usize| execution.event(event).map(|event| event.thread);
            thread(first) != thread(second)
        };
        for (class, relation) in [
            ("reads", &relations.reads_from),
            ("synchronizes", &relations.synchronizes),
        ] {
            for (first, second) in relation.pairs() {
                if (class == "reads" || is_between_threads(first, second))
                    && let (Some(from), Some(to)) = (corner_of(first), corner_of(second))
                {
                    result.push_str(&arrow(from, to, class));
                }
            }
        }
        result.push_str("</svg>\n");
        result
    }

    /// Writes the titles of the columns: the places of the threads.
    fn write_titles(&self, text: &mut String, execution: &Execution, columns: &[u32]) {
        for (column, &thread) in columns.iter().enumerate() {
            let event = Event {
                thread,
                ..Event::INITIAL
            };
            let initiator = execution.initiator(&event);
            let (cta, number) = self.place_of_thread(initiator as usize);
            let suffix = if initiator == thread {
                ""
            } else {
                ", asynchronous"
            };
            let left = MARGIN + column * COLUMN;
            let _ = writeln!(
                text,
                "<text class=\"head\" x=\"{left}\" y=\"24\">CTA {cta} thread {number}{suffix}</text>"
            );
        }
    }
}

/// Writes the box of a step.
fn write_step(
    text: &mut String,
    number: usize,
    step: &StoryStep,
    corner: Corner,
    is_failure: bool,
) {
    let Corner { left, top } = corner;
    let class = if is_failure { " class=\"failure\"" } else { "" };
    let instruction = escaped(&format!(
        "{number}  line {}: {}",
        step.line, step.instruction
    ));
    let (x, y, second) = (left + 6, top + 16, top + 32);
    let _ = writeln!(
        text,
        "<rect{class} x=\"{left}\" y=\"{top}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"4\"/>\
         <text x=\"{x}\" y=\"{y}\">{instruction}</text><text class=\"effect\" x=\"{x}\" y=\"{second}\">{}</text>",
        escaped(&step.effect)
    );
}
