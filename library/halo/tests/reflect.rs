//! Every halo cell holds the value that its owner wrote for this exchange, and every other cell its earlier value, for any grid, route and method.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pelago_base::{Duration, Event, Rank};
use pelago_halo::{Array, Field, Halo, Method, Nodes, Plan, Route, Settings, Side, Template, Verdict};
use pelago_rma::{Error, Rail, World};
use pelago_test_support::threads::{PLATFORMS, Platform, run, run_counted};
use proptest::prelude::*;

const EXCHANGES: u64 = 5;

/// The value of a cell that no exchange writes.
const POISON: u64 = u64::MAX << 40;

const GUARD: u64 = 0x6A4D_6A4D;

/// Cells less than the template has, offset in it, widths.
type Aligned<const D: usize> = ([usize; D], [usize; D], [[usize; 2]; D]);

/// A grid, its arrays and their exchange.
#[derive(Clone, Debug)]
struct Case<const D: usize> {
    parts: [usize; D],
    periodic: [bool; D],
    cells: [usize; D],
    arrays: Vec<Aligned<D>>,
    settings: Settings,
}

impl<const D: usize> Case<D> {
    fn arrays(&self) -> Vec<Array<D>> {
        let template = Template::new(self.cells, Nodes::new(self.parts, self.periodic).unwrap()).unwrap();
        let array = |(less, offset, widths): &Aligned<D>| {
            let cells = std::array::from_fn(|d| self.cells[d] - less[d]);
            template.align(cells, *offset).unwrap().shadow(*widths).unwrap()
        };
        self.arrays.iter().map(array).collect()
    }

    fn ranks(&self) -> u32 {
        self.parts.iter().product::<usize>() as u32
    }

    /// The value that the owner of a cell writes for an exchange.
    fn value(&self, field: usize, global: [usize; D], exchange: u64) -> u64 {
        let number = global.iter().zip(self.cells).fold(0, |number, (at, cells)| number * cells as u64 + *at as u64);
        exchange << 48 | (field as u64) << 40 | number
    }

    /// The cell of the whole array that a halo cell copies; `None` if no exchange writes it.
    fn origin(&self, array: &Array<D>, rank: Rank, local: [isize; D], forwarded: bool) -> Option<[usize; D]> {
        let place = array.template().nodes().place(rank);
        let block = array.block(place);
        let mut global = [0; D];
        let mut distance = 0;
        for d in 0..D {
            let at = block.first[d] as isize + local[d];
            let (low, high) = (local[d] < 0, local[d] >= block.cells[d] as isize);
            distance += usize::from(low || high);
            let is_last = if low { place[d] == 0 } else { place[d] + 1 == self.parts[d] };
            if (low || high) && is_last && !self.periodic[d] {
                return None;
            }
            global[d] = at.rem_euclid(array.cells()[d] as isize) as usize;
        }
        let brought = match self.settings.halo {
            Halo::Faces => 1,
            Halo::Edges if !forwarded => 2,
            _ => D,
        };
        (distance <= brought).then_some(global)
    }

    fn examine(&self, world: &World) {
        let guards = || {
            let guard = world.alloc::<u64>(64).unwrap();
            guard.local().fill(GUARD);
            guard
        };
        let mut all_guards = vec![guards()];
        let mut fields = Vec::new();
        for array in self.arrays() {
            fields.push(Field::<u64, D>::new(world, &array).unwrap());
            all_guards.push(guards());
        }
        let mut plan = Plan::build(world, &mut fields, &self.settings).unwrap();
        let forwarded = plan.explain().routes.iter().any(|route| route.name == "forwarded" && route.verdict.is_chosen());
        for exchange in 1..=EXCHANGES {
            for (number, field) in fields.iter_mut().enumerate() {
                field.cells_mut().fill(POISON | exchange);
                field.for_each(|global, cell| *cell = self.value(number, global, exchange));
            }
            plan.start(&mut fields).unwrap();
            for (number, field) in fields.iter().enumerate() {
                // Owned cells can be read while halos arrive.
                field.fold((), |(), global, cell| assert_eq!(cell, self.value(number, global, exchange)));
            }
            plan.wait(&mut fields).unwrap();
            for (number, field) in fields.iter().enumerate() {
                self.check(field, number, world.rank(), exchange, forwarded);
            }
            if world.rank().number() as u64 % 3 == exchange % 3 {
                // A slow reader: the others are already at the next exchange.
                (0..20).for_each(|_| std::thread::yield_now());
                for (number, field) in fields.iter().enumerate() {
                    self.check(field, number, world.rank(), exchange, forwarded);
                }
            }
        }
        world.barrier().unwrap();
        assert!(all_guards.iter().all(|guard| guard.local().to_vec().iter().all(|&word| word == GUARD)), "beside the fields");
    }

    fn check(&self, field: &Field<'_, u64, D>, number: usize, rank: Rank, exchange: u64, forwarded: bool) {
        let (layout, widths) = (field.layout(), field.array().widths());
        let mut seen = 0;
        let lengths: [usize; D] = std::array::from_fn(|d| widths[d][0] + layout.block().cells[d] + widths[d][1]);
        for mut cell in 0..lengths.iter().product::<usize>() {
            let mut local = [0; D];
            for d in (0..D).rev() {
                local[d] = (cell % lengths[d]) as isize - widths[d][0] as isize;
                cell /= lengths[d];
            }
            let found = field.cells()[layout.index(local).unwrap()];
            let expected = match self.origin(field.array(), rank, local, forwarded) {
                Some(global) => self.value(number, global, exchange),
                None => POISON | exchange,
            };
            assert_eq!(found, expected, "rank {rank}, field {number}, cell {local:?}, exchange {exchange}: {self:?}");
            seen += 1;
        }
        assert_eq!(seen, layout.length());
    }

    fn on_every_platform(&self) {
        for platform in PLATFORMS {
            run(platform, self.ranks(), |world| self.examine(world));
        }
    }

    /// All halos, methods and routes.
    fn every_way(&self) {
        for halo in [Halo::Faces, Halo::Edges, Halo::Corners] {
            let routes: &[_] = if halo == Halo::Faces { &[None] } else { &[None, Some(Route::Direct), Some(Route::Forwarded)] };
            for (route, method) in routes
                .iter()
                .flat_map(|&route| [None, Some(Method::Direct), Some(Method::Packed), Some(Method::Fetched)].map(|m| (route, m)))
            {
                Case { settings: Settings { methods: [method; 4], route, ..Settings::new(halo) }, ..self.clone() }
                    .on_every_platform();
            }
        }
    }
}

fn plain<const D: usize>(parts: [usize; D], periodic: [bool; D], cells: [usize; D], widths: [[usize; 2]; D]) -> Case<D> {
    Case { parts, periodic, cells, arrays: vec![([0; D], [0; D], widths)], settings: Settings::default() }
}

#[test]
fn blocks_that_do_not_divide() {
    plain([3, 2], [false; 2], [8, 5], [[1, 1], [2, 1]]).every_way();
    plain([2, 1, 3], [false; 3], [5, 3, 7], [[1, 1]; 3]).every_way();
}

#[test]
fn one_dimension_and_four() {
    plain([4], [false], [9], [[2, 1]]).every_way();
    plain([1, 2, 1, 2], [false, true, true, false], [2, 3, 3, 4], [[1, 0], [1, 1], [0, 1], [1, 1]]).every_way();
}

#[test]
fn blocks_of_one_cell() {
    plain([3, 1], [false; 2], [3, 1], [[1, 1]; 2]).every_way();
    plain([2, 2], [true; 2], [2, 2], [[1, 1]; 2]).every_way();
}

#[test]
fn a_rank_that_is_its_own_neighbour() {
    plain([1, 1], [true; 2], [3, 4], [[3, 2], [1, 4]]).every_way();
    plain([1, 2, 1], [true; 3], [2, 3, 3], [[1, 1]; 3]).every_way();
}

#[test]
fn one_rank_on_both_sides() {
    plain([2], [true], [5], [[2, 2]]).every_way();
    plain([2, 2], [true, false], [4, 5], [[1, 2], [1, 1]]).every_way();
}

#[test]
fn shadows_of_one_side_or_none() {
    plain([2, 2], [true, true], [5, 4], [[0, 2], [1, 0]]).every_way();
    plain([2, 2], [false, true], [4, 4], [[0, 0], [1, 2]]).every_way();
    plain([2, 2], [false, false], [4, 4], [[0, 0], [0, 0]]).every_way();
}

#[test]
fn many_fields_staggered() {
    let arrays = vec![
        ([1, 1], [0, 0], [[1, 1], [1, 1]]),
        ([0, 1], [0, 0], [[1, 2], [0, 1]]),
        ([1, 0], [0, 0], [[2, 2], [1, 0]]),
        ([1, 1], [1, 1], [[0, 0], [2, 1]]),
        ([0, 0], [0, 0], [[0, 0], [0, 0]]),
    ];
    Case { parts: [2, 2], periodic: [false; 2], cells: [8, 7], arrays, settings: Settings::default() }.every_way();
}

fn cases() -> impl Strategy<Value = Case<3>> {
    let extents = (prop::array::uniform3(1usize..4), prop::array::uniform3(0usize..4), prop::array::uniform3(any::<bool>()));
    let widths = prop::collection::vec(prop::array::uniform3([0usize..3, 0usize..3]), 1..4);
    let halo = prop_oneof![Just(Halo::Faces), Just(Halo::Edges), Just(Halo::Corners)];
    let method = prop_oneof![Just(None), prop::sample::select(&Method::ALL[..]).prop_map(Some)];
    let route = prop_oneof![Just(None), Just(Some(Route::Direct)), Just(Some(Route::Forwarded))];
    let rail = prop_oneof![2 => Just(None), 1 => (0usize..3).prop_map(Rail::new)];
    let rails = prop::array::uniform4(rail);
    let methods = prop_oneof![method.clone().prop_map(|method| [method; 4]), prop::array::uniform4(method)];
    (extents, widths, halo, (methods, route, rails)).prop_map(
        |((parts, more, periodic), widths, halo, (methods, route, rails))| {
            let parts = if parts.iter().product::<usize>() > 6 { [parts[0], 1, parts[2].min(2)] } else { parts };
            let smallest = |d: usize| widths.iter().flat_map(|widths: &[[usize; 2]; 3]| widths[d]).max().unwrap_or(0).max(1);
            let cells = std::array::from_fn(|d| smallest(d) * parts[d] + more[d]);
            let arrays = widths.iter().map(|widths| ([0; 3], [0; 3], *widths)).collect();
            Case { parts, periodic, cells, arrays, settings: Settings { methods, route, rails, ..Settings::new(halo) } }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn any_plan(case in cases(), platform in 0usize..5) {
        run(*PLATFORMS.get(platform).unwrap_or(&Platform::Networks), case.ranks(), |world| case.examine(world));
    }
}

#[test]
fn a_face_can_be_waited_for_alone() {
    for (platform, method) in PLATFORMS.into_iter().flat_map(|platform| Method::ALL.map(|method| (platform, method))) {
        let case = plain([1, 3], [false, true], [4, 6], [[0, 0], [1, 1]]);
        run(platform, 3, |world| {
            let mut fields = [Field::<u64, 2>::new(world, &case.arrays()[0]).unwrap()];
            let settings = Settings::default().with_method(method);
            let mut plan = Plan::build(world, &mut fields, &settings).unwrap();
            for exchange in 1..=EXCHANGES {
                fields[0].for_each(|global, cell| *cell = case.value(0, global, exchange));
                plan.start(&mut fields).unwrap();
                assert!(refuses(|| fields[0].view().row([0, -1], 1)), "not there yet");
                plan.wait_face(&mut fields, 1, Side::Low).unwrap();
                let [_, first] = fields[0].block().first;
                let row = fields[0].view().row([3, -1], 3);
                let expected = [(first + 5) % 6, first, first + 1].map(|j| case.value(0, [3, j], exchange));
                assert_eq!(row, expected);
                plan.wait_face(&mut fields, 0, Side::High).unwrap();
                assert!(refuses(|| fields[0].cells()), "the other face may be under way");
                plan.wait_face(&mut fields, 1, Side::High).unwrap();
                assert!(refuses(|| fields[0].cells_mut().len()), "borders may still be read");
                plan.wait(&mut fields).unwrap();
                assert_eq!(fields[0].view().row([0, 2], 1), [case.value(0, [0, (first + 2) % 6], exchange)]);
            }
        });
    }
}

fn refuses<R>(act: impl FnOnce() -> R) -> bool {
    // Each panic prints a message; these are expected.
    catch_unwind(AssertUnwindSafe(act)).is_err()
}

#[test]
fn what_is_under_way_cannot_be_touched() {
    run(Platform::Mapped, 2, |world| {
        let case = plain([2], [false], [6], [[1, 1]]);
        let mut fields = [Field::<u64, 1>::new(world, &case.arrays()[0]).unwrap()];
        let mut plan = Plan::build(world, &mut fields, &Settings::default()).unwrap();
        let mut second = Plan::build(world, &mut fields, &Settings::default()).unwrap();
        assert!(matches!(plan.wait(&mut fields), Err(Error::Invalid(_))), "nothing is under way");
        plan.start(&mut fields).unwrap();
        assert!(fields[0].is_under_way());
        assert!(refuses(|| fields[0].cells_mut().len()) && refuses(|| fields[0].cells().len()));
        let (beside, outside) = if world.rank() == Rank::new(0) { (3, -1) } else { (-1, 3) };
        assert!(refuses(|| fields[0].view().row([beside], 1)) && refuses(|| fields[0].view().row([beside.min(0)], 4)));
        assert_eq!(fields[0].view().row([outside], 1).len(), 1, "boundary values are the program's");
        assert!(refuses(|| fields[0].view().row([-2], 1)), "outside the halo");
        assert_eq!(fields[0].view().row([0], 3).len(), 3);
        assert!(matches!(plan.start(&mut fields), Err(Error::Invalid(_))), "it is under way");
        assert!(matches!(second.start(&mut fields), Err(Error::Invalid(_))), "by another plan too");
        assert!(matches!(second.wait(&mut fields), Err(Error::Invalid(_))));
        plan.wait(&mut fields).unwrap();
        assert_eq!(fields[0].view().row([-1], 5).len(), 5);
        second.reflect(&mut fields).unwrap();
        let mut others = [Field::<u64, 1>::new(world, &case.arrays()[0]).unwrap()];
        assert!(matches!(plan.start(&mut others), Err(Error::Invalid(_))), "another field");
        assert!(matches!(Plan::<u64, 1>::build(world, &mut [], &Settings::default()).map(drop), Err(Error::Invalid(_))));
        world.barrier().unwrap();
    });
}

#[test]
fn rows_of_a_region_are_those_of_the_view() {
    run(Platform::Mapped, 2, |world| {
        let case = plain([2, 1, 1], [false; 3], [6, 4, 5], [[1, 1], [1, 1], [2, 1]]);
        let mut fields = [Field::<u64, 3>::new(world, &case.arrays()[0]).unwrap()];
        fields[0].cells_mut().iter_mut().enumerate().for_each(|(index, cell)| *cell = index as u64);
        let mut plan = Plan::build(world, &mut fields, &Settings::default()).unwrap();
        let view = fields[0].view();
        let (first, extents) = ([-1, 0, -2], [4, 3, 7]);
        let region = view.region(first, extents);
        let near = [-2, -1, 0, 2, 3];
        for at in near.into_iter().flat_map(|i| near.into_iter().flat_map(move |j| (-3..6).map(move |k| [i, j, k]))) {
            for length in [0, 1, 5, 7, 8] {
                let end = |d: usize| first[d] + extents[d] as isize;
                let inside = |d: usize, length: usize| at[d] >= first[d] && at[d] + length as isize <= end(d);
                if inside(0, 1) && inside(1, 1) && inside(2, length) {
                    assert_eq!(region.row(at, length).len(), length);
                    assert!(length == 0 || region.row(at, length) == view.row(at, length));
                } else {
                    assert!(refuses(|| region.row(at, length)), "{at:?} {length}");
                }
            }
        }
        let distances = [[-1, 0, 1], [1, 1, -2], [0, 2, 0]];
        let expected = distances.map(|[i, j, k]| view.row([i, j, k], 3));
        assert_eq!(region.rows([0; 3], distances, 3), expected);
        // From a cell outside, rows inside; one row outside is enough.
        assert_eq!(region.rows([9, -9, 9], distances.map(|[i, j, k]| [i - 9, j + 9, k - 9]), 3), expected);
        assert!(
            refuses(|| region.rows([0; 3], [[0, 0, 0], [3, 0, 0]], 1))
                && refuses(|| region.rows([0; 3], [[0, -1, 0], [0; 3]], 1))
        );
        for far in [isize::MIN, isize::MAX] {
            for at in [[far, 0, 0], [0, far, 0], [0, 0, far]] {
                assert!(refuses(|| region.row(at, 1)) && refuses(|| region.rows([0; 3], [at], 1)));
                assert!(refuses(|| region.rows(at, [[0; 3], at.map(|at| at.wrapping_neg())], 0)));
            }
        }
        assert!(refuses(|| region.row([0; 3], usize::MAX)) && refuses(|| view.region([0; 3], [usize::MAX, 1, 1])));
        for (first, extents) in [([-2, 0, 0], [1, 1, 1]), ([0, 0, 0], [5, 1, 1]), ([0, 0, 0], [1, 1, 7])] {
            assert!(refuses(|| view.region(first, extents)), "{first:?} {extents:?}");
        }
        let nothing = view.region([90; 3], [1, 0, 1]);
        assert!(refuses(|| nothing.row([90; 3], 0)) && refuses(|| nothing.row([0; 3], 1)));
        plan.start(&mut fields).unwrap();
        let (view, inner, beside) = (fields[0].view(), [0; 3], if world.rank() == Rank::new(0) { 1 } else { -1 });
        assert_eq!(view.region(inner, [3, 4, 5]).row([2, 3, 0], 5), view.row([2, 3, 0], 5));
        assert!(refuses(|| view.region([beside, 0, 0], [3, 4, 5])) && refuses(|| view.region([beside, 0, 4], [3, 1, 1])));
        plan.wait(&mut fields).unwrap();
        assert_eq!(fields[0].view().region([beside, 0, 0], [3, 4, 5]).row([beside, 0, 0], 5).len(), 5);
        world.barrier().unwrap();
    });
}

#[test]
fn ranks_that_disagree_are_told() {
    run(Platform::Mapped, 2, |world| {
        let array = plain([2], [false], [6], [[1, 1]]).arrays()[0];
        let mut fields = [Field::<u64, 1>::new(world, &array).unwrap(), Field::<u64, 1>::new(world, &array).unwrap()];
        if world.rank() == Rank::new(1) {
            fields.reverse();
        }
        let refused = Plan::build(world, &mut fields, &Settings::default()).map(drop);
        assert_eq!(refused, Err(Error::Disagreement("the fields of a plan")));
        let wrong = plain([3], [false], [6], [[1, 1]]).arrays()[0];
        assert!(matches!(Field::<u64, 1>::new(world, &wrong).map(drop), Err(Error::WrongNumber { .. })));
        world.barrier().unwrap();
    });
}

#[test]
fn both_ends_choose_alike_and_say_why() {
    for platform in PLATFORMS.into_iter().chain([Platform::Networks]) {
        run(platform, 4, |world| {
            let case = plain([2, 2], [true, false], [40, 40], [[1, 1]; 2]);
            let mut fields = [Field::<u64, 2>::new(world, &case.arrays()[0]).unwrap()];
            // On a busy machine trials take long.
            let settings = Settings::new(Halo::Corners).with_trial_limit(Duration::from_milliseconds(20_000));
            let plan = Plan::build(world, &mut fields, &settings).unwrap();
            let links = &plan.explain().links;
            let taken = |step: &[i8], of: &[pelago_halo::LinkExplanation]| {
                let link = of.iter().find(|link| link.direction == step).unwrap();
                link.candidates.iter().position(|candidate| Some(candidate) == link.chosen()).unwrap() as u64
            };
            // Each rank sends its choice to its neighbour.
            let told = world.alloc::<u64>(9).unwrap();
            let number = |step: &[i8], sign: i8| ((step[0] * sign + 1) * 3 + step[1] * sign + 1) as usize;
            for link in links {
                world.put(told.at(link.neighbour, number(&link.direction, -1)), &[taken(&link.direction, links)]).unwrap();
            }
            world.barrier().unwrap();
            for link in links {
                assert_eq!(told.local().load(number(&link.direction, 1)), taken(&link.direction, links), "{link:?}");
                assert_eq!(
                    link.candidates.len(),
                    Method::ALL.len() * (world.rails().len() + usize::from(world.rails().all().is_some()))
                );
                assert!(link.candidates.iter().filter(|candidate| candidate.verdict.is_chosen()).count() == 1);
                for candidate in &link.candidates {
                    let is_measured = candidate.here.is_some() && candidate.there.is_some();
                    assert_eq!(is_measured, !matches!(candidate.verdict, Verdict::NotTried | Verdict::NoRail), "{candidate:?}");
                }
            }
            let text = plan.explain().to_string();
            assert!(text.lines().count() >= links.len() * 3 && text.contains("chosen") && text.contains("rejected"), "{text}");
            world.barrier().unwrap();
        });
    }
}

#[test]
fn an_exchange_posts_what_it_must() {
    const FIELDS: usize = 3;
    // Messages to each neighbour: over a transport, all fields packed are one and a flag follows; otherwise each field is one, after the credit.
    for (platform, method, posted) in [
        (Platform::Mapped, Method::Packed, [0; 4]),
        (Platform::Mapped, Method::Direct, [0; 4]),
        (Platform::Mapped, Method::Fetched, [0; 4]),
        (Platform::Remote, Method::Packed, [2, 0, 0, 0]),
        (Platform::Remote, Method::Direct, [1 + FIELDS as u64 + 1, 0, 0, 0]),
        (Platform::Remote, Method::Fetched, [2, FIELDS as u64, 0, 0]),
        // Over the requested rail, and no other.
        (Platform::Rails, Method::Packed, [2, 0, 0, 0]),
        (Platform::Rails, Method::Direct, [1 + FIELDS as u64 + 1, 0, 0, 0]),
        (Platform::Rails, Method::Fetched, [2, FIELDS as u64, 0, 0]),
    ] {
        run_counted(platform, 4, |world, passed| {
            // Faces of one dimension only, so that each border is one block.
            let array = plain([4, 1], [true, false], [8, 50], [[1, 1], [0, 0]]).arrays()[0];
            let mut fields: Vec<_> = (0..FIELDS).map(|_| Field::<f64, 2>::new(world, &array).unwrap()).collect();
            let settings = Settings::default().with_method(method);
            let last = Rail::new(world.rails().len() - 1).unwrap();
            let mut plan = Plan::build(world, &mut fields, &settings.with_rail(last)).unwrap();
            assert_eq!(plan.neighbours().count(), 2);
            plan.reflect(&mut fields).unwrap();
            world.flush_all().unwrap();
            let count = || {
                [Event::PutPosted, Event::GetPosted, Event::CopyPosted, Event::AtomicPosted].map(|e| passed.lock().unwrap().of(e))
            };
            let before = count();
            for _ in 0..10 {
                plan.reflect(&mut fields).unwrap();
            }
            world.flush_all().unwrap();
            let expected: [u64; 4] = std::array::from_fn(|event| before[event] + 10 * 2 * posted[event]);
            assert_eq!(count(), expected, "{method} {platform:?}");
            world.barrier().unwrap();
        });
    }
}

/// A border of single cells is one operation for each field on a transport that takes blocks, and one for each cell on another.
#[test]
fn blocks_of_a_border_go_together_where_a_transport_takes_them() {
    const CELLS: u64 = 50;
    for (platform, borders) in [(Platform::Remote, 1), (Platform::Rails, 1), (Platform::Fabric, CELLS)] {
        run_counted(platform, 4, |world, passed| {
            let array = plain([1, 4], [false, true], [CELLS as usize, 8], [[0, 0], [1, 1]]).arrays()[0];
            let mut fields = [Field::<u64, 2>::new(world, &array).unwrap()];
            let settings = Settings::default().with_method(Method::Direct);
            let last = Rail::new(world.rails().len() - 1).unwrap();
            let mut plan = Plan::build(world, &mut fields, &settings.with_rail(last)).unwrap();
            plan.reflect(&mut fields).unwrap();
            world.flush_all().unwrap();
            let puts = || passed.lock().unwrap().of(Event::PutPosted);
            let before = puts();
            for round in 0..5 {
                let rank = u64::from(world.rank().number());
                fields[0].for_each(|[i, j], cell| *cell = round << 32 | (i * 100 + j) as u64);
                plan.reflect(&mut fields).unwrap();
                let left = fields[0].view().row([7, -1], 1)[0];
                assert_eq!(left, round << 32 | (700 + (2 * rank + 7) % 8), "{platform:?}");
            }
            world.flush_all().unwrap();
            // To each of two neighbours: the credit, the border and the flag.
            assert_eq!(puts() - before, 5 * 2 * (2 + borders), "{platform:?}");
            world.barrier().unwrap();
        });
    }
}

#[test]
fn trials_end_when_their_time_is_over() {
    for platform in [Platform::Mapped, Platform::Rails] {
        run(platform, 4, |world| {
            let case = plain([2, 2], [true, false], [8, 8], [[1, 1]; 2]);
            let verdicts = |limit: Duration| {
                let mut fields = [Field::<u64, 2>::new(world, &case.arrays()[0]).unwrap()];
                let settings = Settings::new(Halo::Corners).with_trial_limit(limit);
                let plan = Plan::build(world, &mut fields, &settings).unwrap();
                let candidates: Vec<_> = plan.explain().links.iter().flat_map(|link| link.candidates.clone()).collect();
                let tried = candidates.iter().filter(|candidate| candidate.here.is_some()).count();
                let late = candidates.iter().filter(|candidate| candidate.verdict == Verdict::NoTime).count();
                (tried, late)
            };
            let (tried, late) = verdicts(Duration::ZERO);
            assert!(tried == 0 && late > 0, "{tried} {late}");
            // One direction, for one round.
            let (first, late) = verdicts(Duration::from_picoseconds(1));
            assert!(first > 0 && late > 0, "{first} {late}");
            let (all, late) = verdicts(Duration::from_seconds(1e6));
            assert!(all > first && late == 0, "{all} {late}");
            world.barrier().unwrap();
        });
    }
    let settings = Settings::new(Halo::Corners).with_trial_limit(Duration::ZERO);
    Case { settings, ..plain([2, 2], [true, true], [9, 7], [[1, 2]; 2]) }.on_every_platform();
}

#[test]
fn neighbours_are_sent_to_in_pairs() {
    run(Platform::Mapped, 4, |world| {
        let array = plain([4], [true], [8], [[1, 1]]).arrays()[0];
        let mut fields = [Field::<u64, 1>::new(world, &array).unwrap()];
        let plan = Plan::build(world, &mut fields, &Settings::default()).unwrap();
        let first = plan.neighbours().next().unwrap();
        // 0 and 1 begin with each other, 2 and 3 too.
        assert_eq!(first.number(), world.rank().number() ^ 1);
        world.barrier().unwrap();
    });
}
