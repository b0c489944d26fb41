//! The exchange of faces and edges with neighbouring blocks, by one-sided puts.
//!
//! Each rank has an inbox for every neighbour in two halves, each with its flag. For exchange number e a rank puts its border into half
//! e mod 2 of the neighbour's inbox, straight from the field, and after that e into the flag of that half; it waits until its own flag
//! says e and takes its halo from its inbox. One flag for both halves would not do: nothing orders the puts of e and e + 1.
//!
//! **Nothing is overwritten before it is read**, though there is no barrier. A rank sends e + 2 only when it has received e + 1 from
//! all its neighbours. Neighbours are mutual, so the one to whom it sends has sent e + 1, and that rank had received e, which is what
//! lay in the half that e + 2 will fill. With one half only this would not hold: a rank that has sent e and received e may send
//! e + 1 while its neighbour has not read e yet.

use pelago::prelude::*;

use super::field::{Layout, Region, thickness};
use super::grid::{Grid, Step};

/// Words between two flags: a cache line, as each is written by another rank.
const FLAG_WORDS: usize = 8;

/// Cells by which inboxes are aligned: a cache line.
const ALIGN_CELLS: usize = 16;

/// The steps to all neighbours that the stencil reaches: six faces, twelve edges, no corner. A step and its opposite lie equally far
/// from the two ends.
const STEPS: [Step; 18] = steps();

/// The exchange of one rank with its neighbours.
pub(crate) struct Halo<'w> {
    world: &'w World,
    inbox: Symmetric<'w, f32>,
    flags: Symmetric<'w, u64>,
    links: Vec<Link>,
    sent: u64,
    received: u64,
}

/// What goes to a neighbour and comes from it.
struct Link {
    neighbour: Rank,
    /// The cells that it needs, and the first place of its two inboxes for this rank.
    border: Region,
    there: [usize; 2],
    flags_there: [usize; 2],
    /// The cells that it sends, and the first place of the two inboxes for it.
    halo: Region,
    here: [usize; 2],
    flags_here: [usize; 2],
}

impl<'w> Halo<'w> {
    /// Collective.
    pub(crate) fn new(world: &'w World, grid: &Grid, layout: Layout) -> pelago::Result<Self> {
        let (places, cells) = inboxes(grid);
        Ok(Self {
            world,
            inbox: world.alloc(cells)?,
            flags: world.alloc(2 * STEPS.len() * FLAG_WORDS)?,
            links: links(grid, world.rank(), layout, &places),
            sent: 0,
            received: 0,
        })
    }

    /// Sends this rank's border to its neighbours. To be followed by one [`receive`](Self::receive).
    pub(crate) fn send(&mut self, p: &[f32]) -> pelago::Result<()> {
        self.sent += 1;
        for link in &self.links {
            let to = self.inbox.at(link.neighbour, link.there[half(self.sent)]);
            let border = self.world.put_strided(to, link.border.packed, &p[link.border.start..], link.border.shape)?;
            let flag = self.flags.at(link.neighbour, link.flags_there[half(self.sent)]);
            self.world.after(&border).put(flag, &[self.sent])?;
        }
        Ok(())
    }

    /// Waits for the neighbours' borders and writes them to the halo.
    pub(crate) fn receive(&mut self, p: &mut [f32]) -> pelago::Result<()> {
        self.received += 1;
        for link in &self.links {
            self.world.wait_until(self.flags.local(), link.flags_here[half(self.received)], |number| number >= self.received)?;
            let from = self.inbox.at(self.world.rank(), link.here[half(self.received)]);
            self.world.get_strided(from, link.halo.packed, &mut p[link.halo.start..], link.halo.shape)?;
        }
        Ok(())
    }
}

/// Where the flags of the two inboxes for one step lie.
const fn flags(step: usize) -> [usize; 2] {
    [2 * step * FLAG_WORDS, (2 * step + 1) * FLAG_WORDS]
}

fn half(exchange: u64) -> usize {
    (exchange % 2) as usize
}

const fn steps() -> [Step; 18] {
    let mut steps = [[0; 3]; 18];
    let (mut number, mut found) = (0isize, 0);
    while number < 27 {
        let step = [number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1];
        let distance = step[0].abs() + step[1].abs() + step[2].abs();
        if distance == 1 || distance == 2 {
            steps[found] = step;
            found += 1;
        }
        number += 1;
    }
    steps
}

/// Where the two inboxes for the neighbour at each step begin, the same on every rank, and how many cells all have together.
fn inboxes(grid: &Grid) -> ([[usize; 2]; 18], usize) {
    let mut end = 0;
    let mut place = |cells: usize| {
        end += cells;
        end - cells
    };
    let places = STEPS.map(|step| {
        let anybody = (0..3).all(|d| step[d] == 0 || grid.split.0[d] > 1);
        let cells = thickness(grid.block_cells_max(), step).iter().product::<usize>() * usize::from(anybody);
        [place(cells.next_multiple_of(ALIGN_CELLS)), place(cells.next_multiple_of(ALIGN_CELLS))]
    });
    (places, end)
}

fn links(grid: &Grid, rank: Rank, layout: Layout, places: &[[usize; 2]; 18]) -> Vec<Link> {
    let link = |(number, &step): (usize, &Step)| {
        let opposite = STEPS.len() - 1 - number;
        Some(Link {
            neighbour: grid.neighbour(rank, step)?,
            border: layout.border(step),
            there: places[opposite],
            flags_there: flags(opposite),
            halo: layout.halo(step),
            here: places[number],
            flags_here: flags(number),
        })
    };
    STEPS.iter().enumerate().filter_map(link).collect()
}
