//! Breadth-first search of a graph with a few vertices of very high degree: generator, search and checks as defined by the Graph500 benchmark.
//! Vertices are distributed round-robin over the ranks. Edges go to the owners of their ends, and the search visits the owner of each
//! neighbour, by active messages.

use std::cell::RefCell;
use std::io::Write;
use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser;
use pelago::active::{ActiveMessages, Call, Function, Functions, QueueSettings};
use pelago::{Rank, World};

use crate::mix::mix;
use crate::usage::{Output, Stop, at_least_one, copies, exit, parse};

/// Edges per vertex.
const EDGE_FACTOR: u64 = 16;

/// Probabilities of the quarters of the adjacency matrix, in percent; the last quarter has the remainder.
const QUARTERS: [u64; 3] = [57, 19, 19];

/// Marks the absence of a vertex.
const NONE: u64 = u64::MAX;

/// Search graphs breadth first: rank 0 prints the size of the graph, and the harmonic mean of millions of edges traversed per second
#[derive(Parser)]
#[command(name = "bfs")]
struct Arguments {
    /// Vertices, as a power of two
    #[arg(long, value_name = "LOG", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=40))]
    scale: u32,
    /// Searches, each from a vertex of its own
    #[arg(long, value_name = "N", default_value_t = 8, allow_negative_numbers = true, value_parser = at_least_one)]
    roots: u32,
    /// Seed of the graph
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => search(world, arguments),
        Err(stop) => Ok(stop.tell("bfs", world)),
    });
    exit("bfs", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

/// Generates the two ends of an edge: each bit selects one of four quarters by its probability; then the numbers are permuted.
fn edge(arguments: &Arguments, number: u64) -> [u64; 2] {
    let mut ends = [0; 2];
    for bit in 0..arguments.scale {
        let draw = mix(mix(arguments.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)) ^ u64::from(bit)) % 100;
        let [a, b, c] = QUARTERS;
        let (row, column) = (draw >= a + b, draw >= a && (draw < a + b || draw >= a + b + c));
        ends = [ends[0] << 1 | u64::from(row), ends[1] << 1 | u64::from(column)];
    }
    ends.map(|end| scrambled(end, arguments))
}

/// Permutes the vertices, so that their numbers do not depend on their degrees.
fn scrambled(mut vertex: u64, arguments: &Arguments) -> u64 {
    let (scale, mask) = (arguments.scale, (1 << arguments.scale) - 1);
    for round in 1..=3 {
        // Multiplication by an odd number and xor of higher bits into lower ones are both invertible.
        vertex = vertex.wrapping_mul(mix(arguments.seed ^ round) | 1) & mask;
        vertex ^= vertex >> scale.div_ceil(2);
    }
    vertex
}

/// A rank's part of the graph and of a search: the vertices whose number modulo the number of ranks is the rank's number.
#[derive(Default)]
struct Part {
    size: u64,
    /// Neighbours of each vertex.
    neighbours: Vec<Vec<u64>>,
    parent: Vec<u64>,
    level: Vec<u64>,
    /// Depth of the level under construction, and the vertices found in it.
    depth: u64,
    found: Vec<u64>,
    /// Number of checks that neighbours have requested, and of errors that they have found.
    compared: u64,
    wrong: u64,
}

impl Part {
    fn index(&self, vertex: u64) -> usize {
        (vertex / self.size) as usize
    }

    /// Resets the state for a new search.
    fn clear(&mut self) {
        self.parent.fill(NONE);
        self.level.fill(NONE);
        self.found.clear();
        self.depth = 0;
    }

    /// Visits a vertex as the neighbour of `parent` in the previous level.
    fn visit(&mut self, vertex: u64, parent: u64) {
        let index = self.index(vertex);
        if self.parent[index] == NONE {
            (self.parent[index], self.level[index]) = (parent, self.depth);
            self.found.push(vertex);
        }
    }

    /// Checks a vertex against a neighbour in `level`; `is_parent`: whether the neighbour is its parent.
    fn compare(&mut self, vertex: u64, level: u64, is_parent: bool) {
        self.compared += 1;
        let own = self.level[self.index(vertex)];
        let is_near = if is_parent { own != NONE && own + 1 == level } else { own.abs_diff(level) <= 1 };
        // Either both were reached, or neither.
        self.wrong += u64::from(!is_near || (own == NONE) != (level == NONE));
    }
}

/// The active messages of the program.
struct Messages<'w> {
    messages: ActiveMessages<'w>,
    link: Function<[u64; 2]>,
    visit: Function<[u64; 2]>,
    compare: Function<[u64; 3]>,
    size: u64,
}

impl<'w> Messages<'w> {
    fn new(world: &'w World, part: &Rc<RefCell<Part>>) -> pelago::Result<Self> {
        let mut functions = Functions::new();
        let [one, two, three] = [(); 3].map(|()| part.clone());
        let link = functions.register(move |_: &Call<'_>, [vertex, neighbour]: [u64; 2]| {
            let part = &mut *one.borrow_mut();
            let index = part.index(vertex);
            part.neighbours[index].push(neighbour);
        });
        let visit = functions.register(move |_: &Call<'_>, [vertex, parent]: [u64; 2]| two.borrow_mut().visit(vertex, parent));
        let compare = functions.register(move |_: &Call<'_>, [vertex, level, is_parent]: [u64; 3]| {
            three.borrow_mut().compare(vertex, level, is_parent == 1);
        });
        let messages = ActiveMessages::new(world, functions, QueueSettings::default())?;
        Ok(Self { messages, link, visit, compare, size: world.size().into() })
    }

    fn owner(&self, vertex: u64) -> Rank {
        Rank::new((vertex % self.size) as u32)
    }
}

fn search(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let (me, size, vertices) = (u64::from(world.rank()), u64::from(world.size()), 1_u64 << arguments.scale);
    let own = vertices.saturating_sub(me).div_ceil(size) as usize;
    let neighbours = copies("the vertices of a rank", own, Vec::new())?;
    let [parent, level] = [copies("the parents", own, NONE)?, copies("the levels", own, NONE)?];
    let part = Part { size, neighbours, parent, level, ..Part::default() };
    let part = Rc::new(RefCell::new(part));
    let messages = Messages::new(world, &part)?;
    let mut linked = 0;
    for number in (me..EDGE_FACTOR * vertices).step_by(size as usize) {
        let [one, other] = edge(arguments, number);
        if one != other {
            linked += 1;
            messages.messages.send(messages.owner(one), messages.link, [one, other])?;
            messages.messages.send(messages.owner(other), messages.link, [other, one])?;
        }
    }
    messages.messages.barrier()?;
    let lost = lost(world, linked, &part.borrow())?;
    if lost > 0 {
        if me == 0 {
            let _ = writeln!(std::io::stderr(), "bfs: {lost} ends of edges did not arrive at their vertices");
        }
        return Ok(ExitCode::FAILURE);
    }
    let (mut seconds_per_edge, mut last) = (0.0, [0; 3]);
    for number in 0..u64::from(arguments.roots) {
        let root = root(world, arguments, number, &part, &messages)?;
        world.barrier()?;
        let start = world.now();
        let levels = search_from(world, root, &part, &messages)?;
        let seconds = (world.now() - start).as_seconds();
        let [reached, edges, wrong] = examine(world, root, &part, &messages)?;
        if wrong > 0 {
            if me == 0 {
                let _ = writeln!(std::io::stderr(), "bfs: {wrong} vertices or edges are wrong in the tree of {root}");
            }
            return Ok(ExitCode::FAILURE);
        }
        seconds_per_edge += seconds / edges.max(1) as f64;
        last = [reached, edges, levels];
    }
    if me == 0 {
        let ([reached, edges, levels], roots) = (last, f64::from(arguments.roots));
        let _ = writeln!(
            Output,
            "bfs ranks {size} scale {} roots {} reached {reached} edges {edges} levels {levels} millions-per-s {:.3} trees right",
            arguments.scale,
            arguments.roots,
            roots / seconds_per_edge / 1e6,
        );
    }
    world.barrier()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of ends of edges that no vertex has, or that are there too often; `linked`: number of edges that this rank has generated.
fn lost(world: &World, linked: u64, part: &Part) -> pelago::Result<u64> {
    let ends: usize = part.neighbours.iter().map(Vec::len).sum();
    let mut sums = [2 * linked, ends as u64];
    world.allreduce(&mut sums, |one, other| one + other)?;
    Ok(sums[0].abs_diff(sums[1]))
}

/// Draws a vertex with neighbours, the same on all ranks.
fn root(world: &World, arguments: &Arguments, number: u64, part: &RefCell<Part>, messages: &Messages<'_>) -> pelago::Result<u64> {
    let mut draw = mix(arguments.seed.wrapping_add(number) ^ NONE);
    loop {
        let vertex = draw & ((1 << arguments.scale) - 1);
        let part = part.borrow();
        let is_good = messages.owner(vertex) == world.rank() && !part.neighbours[part.index(vertex)].is_empty();
        drop(part);
        let mut good = [u64::from(is_good)];
        world.allreduce(&mut good, |one, other| one | other)?;
        if good == [1] {
            return Ok(vertex);
        }
        draw = mix(draw.wrapping_add(1));
    }
}

/// Searches level by level; returns the number of levels.
fn search_from(world: &World, root: u64, part: &RefCell<Part>, messages: &Messages<'_>) -> pelago::Result<u64> {
    part.borrow_mut().clear();
    world.barrier()?;
    if messages.owner(root) == world.rank() {
        part.borrow_mut().visit(root, root);
    }
    loop {
        let frontier = {
            let part = &mut *part.borrow_mut();
            part.depth += 1;
            std::mem::take(&mut part.found)
        };
        let mut count = [frontier.len() as u64];
        world.allreduce(&mut count, |one, other| one + other)?;
        if count == [0] {
            return Ok(part.borrow().depth - 1);
        }
        // Taken out of the part, as messages that arrive during the loop borrow the part.
        let neighbours = std::mem::take(&mut part.borrow_mut().neighbours);
        for vertex in frontier {
            for &neighbour in &neighbours[(vertex / messages.size) as usize] {
                messages.messages.send(messages.owner(neighbour), messages.visit, [neighbour, vertex])?;
            }
        }
        part.borrow_mut().neighbours = neighbours;
        messages.messages.barrier()?;
    }
}

/// Makes the checks of the benchmark; returns the number of reached vertices, of edges with both ends among them, and of errors. The root is
/// its own parent. The parent of each other vertex is a neighbour one level up. The levels of the ends of each edge differ by at most one. No
/// edge leaves the set of reached vertices.
fn examine(world: &World, root: u64, part: &Rc<RefCell<Part>>, messages: &Messages<'_>) -> pelago::Result<[u64; 3]> {
    let (me, size) = (u64::from(world.rank()), u64::from(world.size()));
    let (neighbours, parents, levels) = {
        let part = &mut *part.borrow_mut();
        (part.compared, part.wrong) = (0, 0);
        (std::mem::take(&mut part.neighbours), part.parent.clone(), part.level.clone())
    };
    world.barrier()?;
    let [mut reached, mut ends, mut wrong, mut asked] = [0; 4];
    for (vertex, ((neighbours, &parent), &level)) in
        (me..).step_by(size as usize).zip(neighbours.iter().zip(&parents).zip(&levels))
    {
        for &neighbour in neighbours {
            messages.messages.send(messages.owner(neighbour), messages.compare, [neighbour, level, 0])?;
        }
        asked += neighbours.len() as u64;
        if level == NONE {
            continue;
        }
        (reached, ends) = (reached + 1, ends + neighbours.len() as u64);
        if vertex == root {
            wrong += u64::from(parent != root || level != 0);
        } else {
            wrong += u64::from(!neighbours.contains(&parent));
            messages.messages.send(messages.owner(parent), messages.compare, [parent, level, 1])?;
            asked += 1;
        }
    }
    messages.messages.barrier()?;
    part.borrow_mut().neighbours = neighbours;
    let mut sums = [reached, ends, wrong + part.borrow().wrong, asked, part.borrow().compared];
    world.allreduce(&mut sums, |one, other| one + other)?;
    let [reached, ends, wrong, asked, compared] = sums;
    // A check that was not made has found nothing.
    Ok([reached, ends / 2, wrong + asked.abs_diff(compared)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_mixed_up_and_none_is_lost() {
        for scale in [1, 2, 5, 10] {
            let arguments = Arguments { scale, roots: 1, seed: 7 };
            let mut all: Vec<_> = (0..1 << scale).map(|vertex| scrambled(vertex, &arguments)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1 << scale), "{scale}");
        }
    }

    #[test]
    fn edges_that_did_not_arrive_are_counted() {
        let lost = |linked, neighbours: [&[u64]; 3]| {
            let part = Part { neighbours: neighbours.map(<[u64]>::to_vec).to_vec(), ..Part::default() };
            pelago::run(|world| lost(world, linked, &part)).unwrap()
        };
        assert_eq!(lost(2, [&[1, 2], &[0], &[0]]), 0);
        assert_eq!(lost(2, [&[1, 2], &[0], &[]]), 1);
        assert_eq!(lost(3, [&[1], &[0], &[]]), 4);
    }
}
