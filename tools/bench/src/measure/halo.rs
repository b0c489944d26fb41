//! `halo`: a plan exchanges a face of a cube of numbers between neighbours in both directions, and each receiver reads its halo.
//!
//! Every rank has a cube, and the cubes form a row. Borders are written before the clock starts. Halos are read before it stops, because data
//! that are not read have not completed the transfer between caches. Counterpart for MPI: `tools/peers/halo.c`.

use pelago::Duration;
use pelago::halo::{Array, DIMENSIONS_MAX, Field, Halo, Method, Nodes, Plan, Settings, Template};

use crate::Row;
use crate::comparison::{WARM_UP_ROUNDS, percentile, time};
use crate::error::{Result, check};
use crate::rank::context::RankContext;
use crate::results::row::rounded;

const REPETITIONS: u64 = 201;

/// Duration of the exchanges before the first measurement.
const SETTLE: Duration = Duration::from_milliseconds(200);

/// Number of independent sums, so that reading is bound by memory and not by the latency of additions.
const LANES: usize = 8;

/// Planes by the dimension to which they are orthogonal: one block, a block for each i, single numbers.
const PLANES: [&str; 3] = ["jk", "ik", "ij"];

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let edge = stage.settings.edge as usize;
    for (across, plane) in PLANES.into_iter().enumerate() {
        let mut field = [Field::new(stage.world, &cubes(stage.world.size(), edge, across))?];
        field[0].cells_mut().fill(0.0);
        for method in std::iter::once(None).chain(Method::ALL.map(Some)) {
            let mut plan = Plan::build(
                stage.world,
                &mut field,
                &Settings { methods: [method; DIMENSIONS_MAX], ..Settings::new(Halo::Faces) },
            )?;
            if method.is_none() && stage.is_sender() {
                // Not a row: information for the user.
                print!("{}", plan.explain());
            }
            if method.is_none() {
                settle(stage, &mut field, &mut plan, across)?;
            }
            let mut taken = exchange(stage, &mut field, &mut plan, across)?;
            let cells = (edge * edge) as u64;
            let row = Row {
                plane: Some(method.map_or(plane.into(), |method| format!("{plane} {method}"))),
                repetitions: Some(REPETITIONS),
                median_ns: Some(rounded(percentile(&mut taken, 50))),
                min_ns: Some(rounded(percentile(&mut taken, 0))),
                ..stage.row("halo")
            };
            stage.emit(&row.moved(cells * size_of::<f64>() as u64))?;
        }
    }
    Ok(())
}

/// Exchanges for some time: ranks are not bound to cores, and the system distributes them over the cores only after some time.
fn settle<'w>(
    stage: &RankContext<'_>,
    field: &mut [Field<'w, f64, 3>; 1],
    plan: &mut Plan<'w, f64, 3>,
    across: usize,
) -> Result<()> {
    let start = stage.world.now();
    loop {
        exchange(stage, field, plan, across)?;
        let mut longest = [(stage.world.now() - start).as_picoseconds()];
        stage.world.allreduce(&mut longest, u64::max)?;
        if longest[0] >= SETTLE.as_picoseconds() {
            return Ok(());
        }
    }
}

/// Returns an array with a cube of `edge` numbers for each rank, in a row along dimension `across`, with a halo in this dimension.
fn cubes(ranks: u32, edge: usize, across: usize) -> Array<3> {
    let (mut parts, mut cells, mut widths) = ([1; 3], [edge; 3], [[0; 2]; 3]);
    (parts[across], cells[across], widths[across]) = (ranks as usize, edge * ranks as usize, [1, 1]);
    let template = Nodes::new(parts, [false; 3]).and_then(|nodes| Template::new(cells, nodes));
    template.and_then(|template| template.array().shadow(widths)).expect("cubes in a row")
}

/// Returns the times of exchanges on this rank.
fn exchange<'w>(
    stage: &RankContext<'_>,
    field: &mut [Field<'w, f64, 3>; 1],
    plan: &mut Plan<'w, f64, 3>,
    across: usize,
) -> Result<Vec<f64>> {
    let edge = stage.settings.edge as isize;
    let (rank, last) = (stage.world.rank().index(), stage.world.size() as usize - 1);
    // The ends of the cube with a neighbour: border plane and halo plane.
    let ends = [(0, -1, rank > 0), (edge - 1, edge, rank < last)].into_iter().filter(|(.., there)| *there);
    let ends: Vec<(isize, isize)> = ends.map(|(border, halo, _)| (border, halo)).collect();
    let layout = *field[0].layout();
    let mut taken = Vec::new();
    for round in 0..WARM_UP_ROUNDS + REPETITIONS {
        let value = |index: usize| (round + index as u64 % 1021) as f64;
        let cells = field[0].cells_mut();
        for &(border, _) in &ends {
            each(&layout, across, border, edge, |index, cell| cells[cell] = value(index));
        }
        stage.world.barrier()?;
        let mut sums = [0.0; LANES];
        let nanoseconds = time(|| {
            plan.start(field)?;
            plan.wait(field)?;
            let cells = field[0].cells();
            for &(_, halo) in &ends {
                each(&layout, across, halo, edge, |index, cell| sums[index % LANES] += cells[cell]);
            }
            Ok(())
        })?;
        // The values are integers, so that sums are exact.
        let expected = ends.len() as f64 * (0..(edge * edge) as usize).map(value).sum::<f64>();
        check("the sum of a halo", sums.iter().sum::<f64>().to_bits(), expected.to_bits())?;
        if round >= WARM_UP_ROUNDS {
            taken.push(nanoseconds);
        }
    }
    Ok(taken)
}

/// Calls `act` with the number and the offset of each cell of the plane at `at`.
#[inline(always)]
fn each(layout: &pelago::halo::Layout<3>, across: usize, at: isize, edge: isize, mut act: impl FnMut(usize, usize)) {
    let mut first = [0; 3];
    first[across] = at;
    let first = layout.index(first).expect("a plane of the cube or its halo");
    let [slow, fast] = match across {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
    .map(|dimension| layout.strides()[dimension]);
    let edge = edge as usize;
    for i in 0..edge {
        for j in 0..edge {
            act(i * edge + j, first + i * slow + j * fast);
        }
    }
}
