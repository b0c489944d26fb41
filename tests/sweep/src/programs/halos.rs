//! Ranks repeatedly update the halos of distributed arrays, some of them late. Every cell contains its writer and the number of the
//! update, so that early, stale or misplaced cells are detected. Cells that no update writes keep their values.

use pelago_base::Rank;
use pelago_halo::{Array, DIMENSIONS_MAX, Field, Halo, Method, Nodes, Plan, Route, Settings, Side, Template};
use pelago_rma::Rail;

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::Random;

/// Bit fields of a cell: the number of the update at the top, the field, and the number of the cell in the whole array.
const EXCHANGE_SHIFT: u32 = 48;
const FIELD_SHIFT: u32 = 40;

/// Maximum number of cells of a row besides the necessary ones: some rows are long enough to be transferred in parts.
const COLUMNS_MAX: u64 = 2000;

/// Mark of a cell that no update may write, in addition to the number of the update.
const POISON: u64 = 1 << 63;

pub(super) struct Halos {
    seed: u64,
    parts: [usize; 2],
    periodic: [bool; 2],
    cells: [usize; 2],
    /// Halo widths of each field, to either side.
    widths: Vec<[[usize; 2]; 2]>,
    settings: Settings,
    exchanges: u64,
}

impl Halos {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        let divisors: Vec<usize> = (1..=size as usize).filter(|&parts| (size as usize).is_multiple_of(parts)).collect();
        let first = *random.pick(&divisors);
        let parts = [first, size as usize / first];
        let periodic = [random.one_in(2), random.one_in(2)];
        let mut width = |_| random.below(3) as usize;
        let mut widths = vec![[[width(0), width(1)], [width(2), width(3)]]];
        while widths.len() < 3 && random.one_in(2) {
            let mut width = |_: usize| random.below(3) as usize;
            widths.push([[width(0), width(1)], [width(2), width(3)]]);
        }
        let widest = |d: usize| widths.iter().flat_map(|widths| widths[d]).max().unwrap_or(0).max(1);
        let cells = std::array::from_fn(|d| widest(d) * parts[d] + random.below(2 * parts[d] as u64 + 2) as usize);
        let halo = *random.pick(&[Halo::Faces, Halo::Edges, Halo::Corners]);
        // A trial takes many updates.
        let [method, route] = [random.one_in(16), random.one_in(16)];
        let method = (!method).then(|| *random.pick(&Method::ALL));
        let route = (!route).then(|| *random.pick(&[Route::Direct, Route::Forwarded]));
        let settings = Settings { methods: [method; DIMENSIONS_MAX], route, ..Settings::new(halo) };
        Self { seed: random.draw(), parts, periodic, cells, widths, settings, exchanges: random.within(2, 12) }
    }

    /// Returns the program with long borders, by rails that the seed selects.
    pub(super) fn by_rails(random: &mut Random, size: u32) -> Self {
        let halos = Self::new(random, size);
        let [rows, columns] = halos.cells;
        let more = random.below(COLUMNS_MAX);
        let mut rail = |_| Rail::new(random.below(4) as usize).filter(|rail| rail.number() < 3);
        let rails = std::array::from_fn(&mut rail);
        Self { cells: [rows, columns + more as usize], settings: Settings { rails, ..halos.settings }, ..halos }
    }

    fn arrays(&self) -> Vec<Array<2>> {
        let nodes = Nodes::new(self.parts, self.periodic).expect("as many parts as ranks");
        let template = Template::new(self.cells, nodes).expect("a cell for each part");
        self.widths.iter().map(|widths| template.array().shadow(*widths).expect("blocks are as wide as shadows")).collect()
    }

    fn value(&self, field: usize, [i, j]: [usize; 2], exchange: u64) -> u64 {
        exchange << EXCHANGE_SHIFT | (field as u64) << FIELD_SHIFT | (i * self.cells[1] + j) as u64
    }

    /// Returns the cell of the whole array that a cell in the memory of `rank` holds or copies; `None` if no update writes there.
    fn origin(&self, array: &Array<2>, rank: Rank, local: [isize; 2], forwarded: bool) -> Option<[usize; 2]> {
        let place = array.template().nodes().place(rank);
        let block = array.block(place);
        let mut distance = 0;
        for d in 0..2 {
            let (low, high) = (local[d] < 0, local[d] >= block.cells[d] as isize);
            distance += usize::from(low || high);
            let is_end = (low && place[d] == 0) || (high && place[d] + 1 == self.parts[d]);
            if is_end && !self.periodic[d] {
                return None;
            }
        }
        let is_brought = distance < 2 || self.settings.halo != Halo::Faces || forwarded;
        let at = |d: usize| (block.first[d] as isize + local[d]).rem_euclid(self.cells[d] as isize) as usize;
        is_brought.then(|| [at(0), at(1)])
    }

    /// Computes, and checks for failures, which otherwise might not be detected between two pauses.
    fn pause(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        crew.pause();
        crew.look_for_fault()
    }

    /// Checks every cell of a field after an update.
    fn check(&self, field: &Field<'_, u64, 2>, number: usize, rank: Rank, exchange: u64, forwarded: bool) -> Result<(), Trouble> {
        let ([rows, columns], cells) = (field.array().widths(), field.block().cells);
        let range = |widths: [usize; 2], cells: usize| -(widths[0] as isize)..(cells + widths[1]) as isize;
        for local in range(rows, cells[0]).flat_map(|i| range(columns, cells[1]).map(move |j| [i, j])) {
            let found = field.cells()[field.layout().index(local).expect("in the memory")];
            let expected = match self.origin(field.array(), rank, local, forwarded) {
                Some(global) => self.value(number, global, exchange),
                None => POISON | exchange,
            };
            demand!(
                found == expected,
                "cell {local:?} of field {number} holds {found:#x} instead of {expected:#x} after exchange {exchange} of {:?} on {:?}",
                self.settings,
                self.parts
            );
        }
        Ok(())
    }
}

impl Act for Halos {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        if crew.stranger().is_some() {
            // A grid contains all ranks of the job, so that no rank can continue after a failure.
            return Ok(());
        }
        let world = crew.world();
        let mut fields = self.arrays().iter().map(|array| Field::new(world, array)).collect::<Result<Vec<_>, _>>()?;
        let mut plan = Plan::build(world, &mut fields, &self.settings)?;
        let forwarded = plan.explain().routes.iter().any(|route| route.name == "forwarded" && route.verdict.is_chosen());
        let mut random = Random::of(self.seed, world.rank().number().into());
        for exchange in 1..=self.exchanges {
            for (number, field) in fields.iter_mut().enumerate() {
                field.cells_mut().fill(POISON | exchange);
                field.for_each(|global, cell| *cell = self.value(number, global, exchange));
            }
            self.pause(crew)?;
            plan.start(&mut fields)?;
            self.pause(crew)?;
            if random.one_in(3) {
                let side = *random.pick(&[Side::Low, Side::High]);
                plan.wait_face(&mut fields, random.below(2) as usize, side)?;
                self.pause(crew)?;
            }
            plan.wait(&mut fields)?;
            // Other ranks may have started the next update at the second check.
            for _ in 0..2 {
                for (number, field) in fields.iter().enumerate() {
                    self.check(field, number, world.rank(), exchange, forwarded)?;
                }
                self.pause(crew)?;
            }
        }
        Ok(())
    }
}
