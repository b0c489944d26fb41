//! The activity of all ranks over time: a grid of groups of ranks by intervals of time, which covers jobs of any size and length in bounded memory.

use pelago_base::{Instant, Rank};
use serde::{Deserialize, Serialize};

use crate::limits::{ACTIVITY_COLUMNS_MAX, ACTIVITY_ROWS_MAX};

/// The grid. Row 0 has the first ranks, column 0 begins with the job; cells are listed row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Number of ranks of a row: a power of two. The last row may have fewer.
    pub ranks_per_row: u32,
    /// Duration of a column: a power of two. The last one may be shorter.
    pub column_ps: u64,
    /// Number of columns.
    pub columns: u32,
    /// For each cell, the computing time of its ranks, in parts per million of all their time.
    pub computing_ppm: Vec<u32>,
    /// For each cell, the number of operations that its ranks posted.
    pub operations: Vec<u64>,
}

/// A grid that is being recorded: 512 KiB from the first entry on. An entry costs some tens of nanoseconds, and a few more for each column that it covers.
#[derive(Clone, Debug)]
pub(crate) struct ActivityGrid {
    ranks_per_row: u32,
    column_ps: u64,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    computing_ps: u64,
    operations: u64,
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.computing_ps = self.computing_ps.saturating_add(other.computing_ps);
        self.operations += other.operations;
    }
}

impl ActivityGrid {
    pub(crate) fn new() -> Self {
        Self { ranks_per_row: 1, column_ps: 1, cells: Vec::new() }
    }

    /// Records that a rank has computed from one time to a later one.
    pub(crate) fn add_computing(&mut self, rank: Rank, from: Instant, to: Instant) {
        let (mut from_ps, to_ps) = (from.as_picoseconds(), to.as_picoseconds());
        self.cover(rank, to_ps);
        while from_ps < to_ps {
            let next = (from_ps / self.column_ps + 1).saturating_mul(self.column_ps).min(to_ps);
            self.cell(rank, from_ps).add(Cell { computing_ps: next - from_ps, operations: 0 });
            from_ps = next;
        }
    }

    /// Records that a rank has posted an operation.
    pub(crate) fn add_operation(&mut self, rank: Rank, at: Instant) {
        self.cover(rank, at.as_picoseconds());
        self.cell(rank, at.as_picoseconds()).add(Cell { computing_ps: 0, operations: 1 });
    }

    /// Returns the grid of a completed job of `ranks` ranks.
    pub(crate) fn finish(mut self, ranks: u32, end: Instant) -> Activity {
        let end_ps = end.as_picoseconds();
        let Some(last) = ranks.checked_sub(1) else { return Activity::default() };
        self.cover(Rank::new(last), end_ps);
        let columns = (end_ps / self.column_ps + 1) as usize;
        let rows = (last / self.ranks_per_row + 1) as usize;
        let mut activity = Activity {
            ranks_per_row: self.ranks_per_row,
            column_ps: self.column_ps,
            columns: columns as u32,
            computing_ppm: Vec::with_capacity(rows * columns),
            operations: Vec::with_capacity(rows * columns),
        };
        for row in 0..rows {
            let ranks_of_row = u64::from(ranks).min((row as u64 + 1) * u64::from(self.ranks_per_row))
                - row as u64 * u64::from(self.ranks_per_row);
            for column in 0..columns {
                let Cell { computing_ps, operations } = self.cells[row * ACTIVITY_COLUMNS_MAX + column];
                let lasts_ps = (end_ps - column as u64 * self.column_ps).min(self.column_ps);
                let all_ps = u128::from(lasts_ps) * u128::from(ranks_of_row);
                let ppm = (u128::from(computing_ps) * 1_000_000).checked_div(all_ps).unwrap_or(0);
                activity.computing_ppm.push(ppm.min(1_000_000) as u32);
                activity.operations.push(operations);
            }
        }
        activity
    }

    fn cell(&mut self, rank: Rank, at_ps: u64) -> &mut Cell {
        let (row, column) = (rank.number() / self.ranks_per_row, at_ps / self.column_ps);
        &mut self.cells[row as usize * ACTIVITY_COLUMNS_MAX + column as usize]
    }

    /// Merges rows and columns until there are a row for this rank and a column for this time.
    fn cover(&mut self, rank: Rank, at_ps: u64) {
        if self.cells.is_empty() {
            self.cells = vec![Cell::default(); ACTIVITY_ROWS_MAX * ACTIVITY_COLUMNS_MAX];
        }
        let halvings = |place: u64, most: usize| (0..u64::BITS).find(|by| place >> by < most as u64).unwrap_or(0);
        let rows = halvings(u64::from(rank.number() / self.ranks_per_row), ACTIVITY_ROWS_MAX);
        let columns = halvings(at_ps / self.column_ps, ACTIVITY_COLUMNS_MAX);
        if rows > 0 || columns > 0 {
            self.ranks_per_row <<= rows;
            self.column_ps <<= columns;
            self.join(|row, column| (row >> rows, column >> columns));
        }
    }

    fn join(&mut self, to: impl Fn(usize, usize) -> (usize, usize)) {
        for index in 0..self.cells.len() {
            let cell = std::mem::take(&mut self.cells[index]);
            let (row, column) = to(index / ACTIVITY_COLUMNS_MAX, index % ACTIVITY_COLUMNS_MAX);
            self.cells[row * ACTIVITY_COLUMNS_MAX + column].add(cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Instant {
        Instant::from_picoseconds(ps)
    }

    #[test]
    fn few_ranks_and_a_short_time_have_a_cell_each() {
        let mut grid = ActivityGrid::new();
        grid.add_computing(Rank::new(1), at(1), at(3));
        grid.add_operation(Rank::new(0), at(3));
        let activity = grid.finish(2, at(4));
        assert_eq!((activity.ranks_per_row, activity.column_ps, activity.columns), (1, 1, 5));
        assert_eq!(activity.computing_ppm, [0, 0, 0, 0, 0, 0, 1_000_000, 1_000_000, 0, 0]);
        assert_eq!(activity.operations, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    /// Merging rows and columns loses nothing, in any order of entries: computing time is exact to a part per million of a cell.
    #[test]
    fn large_jobs_are_covered_as_a_whole() {
        let (ranks, end) = (100_000_u32, 1_000_000_007_u64);
        let mut grid = ActivityGrid::new();
        for rank in 0..ranks {
            let from = u64::from(rank) * 9_000;
            grid.add_operation(Rank::new(rank), at(from));
            grid.add_computing(Rank::new(rank), at(from), at(from + 20_000_000));
        }
        let activity = grid.finish(ranks, at(end));
        let (columns, rows) = (activity.columns as usize, activity.operations.len() / activity.columns as usize);
        assert!((ACTIVITY_COLUMNS_MAX / 2..=ACTIVITY_COLUMNS_MAX).contains(&columns), "{columns}");
        assert!((ACTIVITY_ROWS_MAX / 2..=ACTIVITY_ROWS_MAX).contains(&rows), "{rows}");
        assert_eq!(activity.operations.iter().sum::<u64>(), u64::from(ranks));
        let time = |index: usize| {
            let (row, column) = ((index / columns) as u64, (index % columns) as u64);
            let of_row = (u64::from(ranks) - row * u64::from(activity.ranks_per_row)).min(activity.ranks_per_row.into());
            (end - column * activity.column_ps).min(activity.column_ps) as f64 * of_row as f64
        };
        let computed: f64 =
            activity.computing_ppm.iter().enumerate().map(|(index, &ppm)| f64::from(ppm) / 1e6 * time(index)).sum();
        let expected = f64::from(ranks) * 20e6;
        assert!((computed / expected - 1.0).abs() < 1e-3, "{computed} of {expected}");
    }

    #[test]
    fn a_job_without_ranks_has_no_grid() {
        assert_eq!(ActivityGrid::new().finish(0, at(7)), Activity::default());
    }
}
