//! The links of a block by one route, and how far an exchange over them is.

use pelago_rma::{Pod, Result, World};

use crate::array::Array;
use crate::field::Field;
use crate::layout::Layout;
use crate::link::{Boxes, Cut, FLAG_WORDS, Link, Places, Way, pieces};
use crate::nodes::Nodes;
use crate::settings::{Halo, Route};
use crate::step::{self, BORDERS, Step, Steps, count, distance, in_order, leading, number, of_number, opposite};

/// Boxes begin at multiples of a cache line.
const ALIGN_BYTES: usize = 64;

/// The links of one route.
pub(crate) struct Exchange<'w, T: Pod, const D: usize> {
    pub(crate) links: Vec<Link<'w, D>>,
    pub(crate) boxes: Boxes<'w, T>,
    rounds: usize,
    /// The round of the exchange that is under way.
    round: usize,
}

impl<'w, T: Pod, const D: usize> Exchange<'w, T, D> {
    /// The links of this rank. Collective.
    pub(crate) fn new(world: &'w World, arrays: &[Array<D>], halo: Halo, route: Route) -> Result<Self> {
        let nodes = *arrays[0].template().nodes();
        let steps = Router { nodes, halo, route };
        let (places, cells) = steps.boxes::<T>(arrays);
        let boxes = Boxes { world, cells: world.alloc(cells)?, flags: world.alloc(count::<D>() * FLAG_WORDS)? };
        let place = nodes.place(world.rank());
        let links: Vec<_> = in_order(place, steps.distance_max())
            .into_iter()
            .filter_map(|step| {
                let there = nodes.neighbour(place, step)?;
                let cut = |step: Step<D>| move |layout: &Layout<D>| steps.cut(layout, place, step);
                let back = move |layout: &Layout<D>| steps.cut(layout, there, opposite(step));
                let pieces = pieces(arrays, [place, there], cut(step), back);
                let neighbour = nodes.rank(there);
                let way = Way { step, marks: steps.marks(step), round: steps.round(step) };
                let link = Link::new(world, neighbour, way, pieces, places[number(step)]);
                (!link.pieces.is_empty()).then_some(link)
            })
            .collect();
        let rounds = links.iter().map(|link| link.way.round + 1).max().unwrap_or(0);
        Ok(Self { links, boxes, rounds, round: rounds })
    }

    /// Begins an exchange over those links that `takes_part` names, and sends what may be sent.
    pub(crate) fn start(&mut self, fields: &mut [Field<'w, T, D>], takes_part: impl Fn(&Link<'w, D>) -> bool) -> Result<()> {
        self.round = 0;
        for link in &mut self.links {
            link.is_active = takes_part(link);
            if link.is_active {
                // Before anybody is given leave to write there.
                fields.iter_mut().for_each(|field| field.mark(link.way.marks | BORDERS));
            }
        }
        for link in self.links.iter_mut().filter(|link| link.is_active) {
            link.begin(&self.boxes)?;
        }
        for link in self.links.iter_mut().filter(|link| link.is_active && link.way.round == 0) {
            if link.may_send(&self.boxes) {
                link.send(&self.boxes, fields)?;
            }
        }
        Ok(())
    }

    /// Waits until `is_enough`, or until the exchange is over.
    pub(crate) fn wait(&mut self, fields: &mut [Field<'w, T, D>], is_enough: impl Fn(&Self) -> bool) -> Result<()> {
        loop {
            let moved = self.advance(fields)?;
            if self.round == self.rounds || is_enough(self) {
                return Ok(());
            }
            if !moved {
                let may_move = |link: &Link<'w, D>| link.may_send(&self.boxes) || link.may_receive(&self.boxes);
                let ready = |_: u64| self.current().any(may_move) || self.current().all(|link| link.is_over(&self.boxes));
                self.boxes.world.wait_until(self.boxes.flags.local(), 0, ready)?;
            }
        }
    }

    /// Waits until no transport reads a field any more. After that nothing of the exchange is left.
    pub(crate) fn end(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        for link in self.links.iter_mut().filter(|link| link.is_active) {
            link.end()?;
        }
        for link in self.links.iter_mut().filter(|link| link.is_active) {
            link.is_active = false;
            fields.iter_mut().for_each(|field| field.unmark(link.way.marks | BORDERS));
        }
        Ok(())
    }

    /// A whole exchange over those links.
    pub(crate) fn exchange(&mut self, fields: &mut [Field<'w, T, D>], takes_part: impl Fn(&Link<'w, D>) -> bool) -> Result<()> {
        self.start(fields, takes_part)?;
        self.wait(fields, |_| false)?;
        self.end(fields)
    }

    /// Whether the halo at a step has come, or none comes from there.
    pub(crate) fn has_come(&self, step: Step<D>) -> bool {
        self.links.iter().all(|link| link.way.step != step || !link.is_active || link.is_received)
    }

    /// Does what can be done, round by round; returns whether that was anything.
    fn advance(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<bool> {
        let mut moved = false;
        while self.round < self.rounds {
            let mut is_over = true;
            for link in self.links.iter_mut().filter(|link| link.is_active && link.way.round == self.round) {
                if link.may_send(&self.boxes) {
                    link.send(&self.boxes, fields)?;
                    moved = true;
                }
                if link.may_receive(&self.boxes) {
                    link.receive(&self.boxes, fields)?;
                    moved = true;
                }
                is_over &= link.is_over(&self.boxes);
            }
            if !is_over {
                break;
            }
            self.round += 1;
        }
        Ok(moved)
    }

    /// The links that are at work.
    fn current(&self) -> impl Iterator<Item = &Link<'w, D>> {
        self.links.iter().filter(|link| link.is_active && link.way.round == self.round)
    }
}

/// Which links there are by a route, and what goes over them.
#[derive(Clone, Copy)]
struct Router<const D: usize> {
    nodes: Nodes<D>,
    halo: Halo,
    route: Route,
}

impl<const D: usize> Router<D> {
    fn distance_max(&self) -> usize {
        if self.route == Route::Forwarded { 1 } else { self.halo.distance_max() }
    }

    /// Faces of one dimension after those of the one before where they carry its halo on.
    fn round(&self, step: Step<D>) -> usize {
        if self.route == Route::Forwarded { leading(step) } else { 0 }
    }

    /// The steps of the halo cells that the link at `step` writes: its own, and where edges and corners are carried on, those too.
    fn marks(&self, step: Step<D>) -> Steps {
        let carried = |d: usize| self.route == Route::Forwarded && d < self.round(step);
        let written = |other: &Step<D>| (0..D).all(|d| step[d] == other[d] || carried(d));
        let all = (0..count::<D>()).map(of_number::<D>);
        all.filter(written).fold(0, |steps, step| steps | 1 << number(step))
    }

    /// The cells that the block at `place` sends and receives at `step`.
    fn cut(&self, layout: &Layout<D>, place: [usize; D], step: Step<D>) -> Cut<D> {
        let (mut border, mut halo) = (layout.border(step), layout.halo(step));
        if self.route == Route::Forwarded {
            for d in 0..self.round(step) {
                // What came from a neighbour is carried on; what lies outside the grid is the program's.
                let beyond = |side| self.nodes.neighbour(place, step::across(d, side)).is_some();
                let owned = layout.owned()[d].clone();
                let from = if beyond(step::Side::Low) { 0 } else { owned.start };
                let to = if beyond(step::Side::High) { layout.halo(step::across(d, step::Side::High))[d].end } else { owned.end };
                (border[d], halo[d]) = (from..to, from..to);
            }
        }
        Cut { border, halo }
    }

    /// Where the boxes and flags of every step lie, the same on every rank, and how many cells all boxes have.
    fn boxes<T: Pod>(&self, arrays: &[Array<D>]) -> (Vec<Places>, usize) {
        let align = (ALIGN_BYTES / size_of::<T>()).max(1);
        let mut end = 0;
        let mut boxes = |cells: usize| {
            [0, 1].map(|_| {
                end += cells.next_multiple_of(align);
                end - cells.next_multiple_of(align)
            })
        };
        let steps = || (0..count::<D>()).map(of_number::<D>);
        let cells: Vec<usize> = steps().map(|step| self.cells_max(arrays, step)).collect();
        let inboxes: Vec<_> = cells.iter().map(|&cells| boxes(cells)).collect();
        let back = |number: usize| count::<D>() - 1 - number;
        let outboxes: Vec<_> = (0..count::<D>()).map(|number| boxes(cells[back(number)])).collect();
        let places = |number: usize| Places {
            inbox_here: inboxes[number],
            inbox_there: inboxes[back(number)],
            outbox: outboxes[number],
            flags_here: number * FLAG_WORDS,
            flags_there: back(number) * FLAG_WORDS,
        };
        // A box of no cells has a place too.
        ((0..count::<D>()).map(places).collect(), end + 1)
    }

    /// Cells that any block receives at `step` at most.
    fn cells_max(&self, arrays: &[Array<D>], step: Step<D>) -> usize {
        let leads = (1..=self.distance_max()).contains(&distance(step));
        if !leads || (0..D).any(|d| step[d] != 0 && !self.nodes.is_joined(d)) {
            return 0;
        }
        let length = |array: &Array<D>, d: usize| match step[d] {
            ..0 => array.widths()[d][0],
            0 if self.route == Route::Forwarded && d < self.round(step) => {
                array.part_cells_max(d) + array.widths()[d].iter().sum::<usize>()
            }
            0 => array.part_cells_max(d),
            _ => array.widths()[d][1],
        };
        arrays.iter().map(|array| (0..D).map(|d| length(array, d)).product::<usize>()).sum()
    }
}
