//! A table whose columns are texts and whose rows are measurements.

/// Rows of cells under a header.
pub(crate) struct Table {
    columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(header: Vec<String>) -> Self {
        let mut first = vec![String::new()];
        first.extend(header);
        Self {
            columns: first.len(),
            rows: vec![first],
        }
    }

    /// A row; cells that are missing show a dash.
    pub(crate) fn row(&mut self, name: &str, cells: impl IntoIterator<Item = Option<String>>) {
        let mut row = vec![name.to_owned()];
        row.extend(
            cells
                .into_iter()
                .map(|c| c.unwrap_or_else(|| "–".to_owned())),
        );
        row.resize(self.columns, "–".to_owned());
        self.rows.push(row);
    }

    pub(crate) fn print(&self) {
        let width = |c: usize| {
            let cells = self.rows.iter().filter_map(|r| r.get(c));
            cells.map(|t| t.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (i, cell) in row.iter().enumerate() {
                let padding = widths[i].saturating_sub(cell.chars().count());
                let padding = " ".repeat(padding);
                match i {
                    0 => line += &format!("{cell}{padding}"),
                    _ => line += &format!("  {padding}{cell}"),
                }
            }
            println!("{}", line.trim_end());
        }
    }
}
