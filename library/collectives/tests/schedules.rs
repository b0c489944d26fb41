//! Every schedule by itself, without memory, ranks or waiting: an interpreter executes all members in any order and checks whether their schedules
//! fit together, their results, and their costs.

use pelago_collectives::schedule::{Buffer, ScheduledMessage, Side, Span, Step, Then};
use pelago_collectives::{Algorithm, Collective, Promise, Schedule, Shape};

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// x ↦ a·x + b modulo a prime: composing such maps is associative and does not commute.
type Value = (u64, u64);

const PRIME: u64 = 1_000_003;

/// A value that no step makes.
const POISON: Value = (u64::MAX, 0);

fn combine(left: Value, right: Value) -> Value {
    assert!(left != POISON && right != POISON, "a value that nobody wrote was combined");
    ((left.0 * right.0) % PRIME, (left.0 * right.1 + left.1) % PRIME)
}

/// As [`combine`], but commutative.
fn add(left: Value, right: Value) -> Value {
    assert!(left != POISON && right != POISON, "a value that nobody wrote was combined");
    ((left.0 + right.0) % PRIME, (left.1 + right.1) % PRIME)
}

/// The input of the member at `position` at `index` in the operation number `epoch`.
fn brought(epoch: u64, position: u32, index: usize) -> Value {
    let seed = (epoch * 7919 + u64::from(position) * 104_729 + index as u64 * 1_299_709).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (1 + (seed >> 40) % (PRIME - 1), (seed >> 20) % PRIME)
}

/// Slots of memory that members use in turn.
const SLOTS: u64 = 2;

/// The members of a team, and their schedules.
struct Team {
    shape: Shape,
    in_place: bool,
    schedules: Vec<Schedule>,
    members: Vec<Member>,
}

struct Member {
    input: Vec<Value>,
    output: Vec<Value>,
    temporary: Vec<Value>,
    /// One for each slot.
    room: Vec<Vec<Value>>,
    /// For each slot and line: the operation that last wrote its flag, and the length of the chain of messages before.
    lines: Vec<Vec<(u64, u64)>>,
    /// The last operation that each other member has reported complete.
    ended: Vec<u64>,
    epoch: u64,
    next: usize,
    chain: u64,
    count: Promise,
}

impl Team {
    fn new(shape: Shape, in_place: bool) -> Self {
        let schedules: Vec<_> = (0..shape.size).map(|position| shape.schedule(position)).collect();
        let members = schedules
            .iter()
            .map(|schedule| Member {
                input: Vec::new(),
                output: Vec::new(),
                temporary: vec![POISON; schedule.temporary],
                room: vec![vec![POISON; schedule.room]; SLOTS as usize],
                lines: vec![vec![(0, 0); schedule.lines as usize]; SLOTS as usize],
                ended: vec![0; shape.size as usize],
                epoch: 1,
                next: 0,
                chain: 0,
                count: Promise { steps: 0, messages: 0, messages_of_all: 0, values: 0 },
            })
            .collect();
        Self { shape, in_place, schedules, members }
    }

    /// Whether a member gets its output in the memory of its input.
    fn in_place(&self, position: u32) -> bool {
        let Shape { operation, size, .. } = self.shape;
        self.in_place
            && operation != Collective::Alltoall
            && operation.blocks_in(position, size) > 0
            && operation.blocks_out(position, size) > 0
    }

    /// Offsets of the input and of the output, in blocks, in memory that holds both.
    fn shifts(&self, position: u32) -> (u32, u32) {
        match self.shape.operation {
            _ if !self.in_place(position) => (0, 0),
            Collective::Allgather | Collective::Gather { .. } => (position, 0),
            Collective::ReduceScatter | Collective::Scatter { .. } => (0, position),
            _ => (0, 0),
        }
    }

    fn fill(&mut self, position: u32) {
        let Shape { operation, size, count, .. } = self.shape;
        let in_place = self.in_place(position);
        let (shift, _) = self.shifts(position);
        let member = &mut self.members[position as usize];
        let (blocks_in, blocks_out) = (operation.blocks_in(position, size), operation.blocks_out(position, size));
        let input: Vec<Value> = (0..blocks_in as usize * count).map(|index| brought(member.epoch, position, index)).collect();
        member.output = vec![POISON; blocks_out as usize * count];
        if in_place {
            let mut both = vec![POISON; blocks_in.max(blocks_out) as usize * count];
            both[shift as usize * count..][..input.len()].copy_from_slice(&input);
            member.output = both;
            member.input = Vec::new();
        } else {
            member.input = input;
        }
        if operation == (Collective::Broadcast { root: position }) {
            member.output = (0..count).map(|index| brought(member.epoch, position, index)).collect();
        }
        if operation == Collective::ExclusiveScan && position == 0 && !in_place {
            member.output = vec![(1, 1); count];
        }
    }

    fn places(&self, position: u32, span: Span) -> (Buffer, Vec<usize>) {
        let (shift_in, shift_out) = self.shifts(position);
        let (buffer, shift) = match span.buffer {
            Buffer::Input if self.in_place(position) => (Buffer::Output, shift_in),
            Buffer::Output => (Buffer::Output, shift_out),
            other => (other, 0),
        };
        let span = Span { block: span.block + shift, ..span };
        (buffer, span.ranges(self.shape.count).flatten().collect())
    }

    fn read(&self, position: u32, spans: &[Span]) -> Vec<Value> {
        let member = &self.members[position as usize];
        let of = |buffer: Buffer| match buffer {
            Buffer::Input => &member.input,
            Buffer::Output => &member.output,
            Buffer::Temporary => &member.temporary,
        };
        let values = spans.iter().flat_map(|&span| {
            let (buffer, places) = self.places(position, span);
            places.into_iter().map(move |place| of(buffer)[place])
        });
        values.collect()
    }

    fn write(&mut self, position: u32, span: Span, values: impl Iterator<Item = Value>) {
        let (buffer, places) = self.places(position, span);
        let member = &mut self.members[position as usize];
        let memory = match buffer {
            Buffer::Input => panic!("what a member brings is not written"),
            Buffer::Output => &mut member.output,
            Buffer::Temporary => &mut member.temporary,
        };
        let mut places = places.into_iter();
        for value in values {
            memory[places.next().expect("as many places as values")] = value;
        }
        assert_eq!(places.next(), None, "as many values as places");
    }

    fn combine(&mut self, position: u32, into: Span, with: &[Value], side: Side) {
        let operator = if self.shape.commutes { add } else { combine };
        let held = self.read(position, &[into]);
        assert_eq!(held.len(), with.len());
        let pairs = held.into_iter().zip(with);
        let combined: Vec<_> =
            pairs.map(|(held, &with)| if side == Side::Left { operator(with, held) } else { operator(held, with) }).collect();
        self.write(position, into, combined.into_iter());
    }

    fn take(&mut self, position: u32, then: &Then, values: &[Value]) {
        match then {
            Then::Nothing => assert!(values.is_empty(), "values that come are taken"),
            Then::Store(spans) => {
                assert!(!values.contains(&POISON), "what nobody wrote came");
                assert_eq!(spans.iter().map(Span::values).sum::<usize>(), values.len());
                let mut rest = values.iter().copied();
                for &span in spans {
                    let taken: Vec<_> = rest.by_ref().take(span.values()).collect();
                    self.write(position, span, taken.into_iter());
                }
            }
            Then::Combine(into, side) => self.combine(position, *into, values, *side),
        }
    }

    /// Executes the next step of a member, if it can; at the end of an operation, checks it and begins the next.
    fn step(&mut self, position: u32, epochs: u64) -> bool {
        let me = position as usize;
        let (epoch, next) = (self.members[me].epoch, self.members[me].next);
        if epoch > epochs {
            return false;
        }
        let slot = (epoch % SLOTS) as usize;
        if next == 0 {
            let awaits = self.schedules[me].awaits();
            if epoch > SLOTS && awaits.iter().any(|&other| self.members[me].ended[other as usize] + SLOTS < epoch) {
                return false;
            }
            self.fill(position);
        }
        let Some(step) = self.schedules[me].steps.get(next).cloned() else {
            self.check(position);
            for to in self.schedules[me].owes() {
                self.members[to as usize].ended[me] = epoch;
            }
            let member = &mut self.members[me];
            (member.epoch, member.next, member.chain) = (epoch + 1, 0, 0);
            member.temporary.fill(POISON);
            return true;
        };
        match step {
            Step::Send { to, from, message } => {
                assert_ne!(to, position, "nobody sends to itself");
                let values = self.read(position, &from);
                assert_eq!(values.len(), message.length);
                let chain = self.members[me].chain + 1;
                if epoch == 1 {
                    let count = &mut self.members[me].count;
                    (count.messages, count.values) = (count.messages + 1, count.values + values.len() as u64);
                }
                let target = &mut self.members[to as usize];
                let line = &mut target.lines[slot][message.line as usize];
                assert!(line.0 < epoch, "a line is told once");
                assert!(target.epoch + SLOTS > epoch, "a member puts to memory that may still be read");
                *line = (epoch, chain);
                target.room[slot][message.at..][..message.length].copy_from_slice(&values);
            }
            Step::Receive { from: _, message, then } => {
                let (told, chain) = self.members[me].lines[slot][message.line as usize];
                if told < epoch {
                    return false;
                }
                assert_eq!(told, epoch, "a line is heard before it is told again");
                let member = &mut self.members[me];
                member.chain = member.chain.max(chain);
                member.count.steps = member.count.steps.max(chain);
                let landed = &mut member.room[slot][message.at..][..message.length];
                let values = landed.to_vec();
                landed.fill(POISON);
                self.take(position, &then, &values);
            }
            Step::Copy { from, to } => {
                let values = self.read(position, &[from]);
                self.write(position, to, values.into_iter());
            }
            Step::Combine { from, into, side } => {
                let values = self.read(position, &[from]);
                self.combine(position, into, &values, side);
            }
            Step::Expose { from, at } => {
                let values = self.read(position, &from);
                self.members[me].room[slot][at..][..values.len()].copy_from_slice(&values);
            }
            Step::Fetch { from, at, then } => {
                let length = match &then {
                    Then::Nothing => 0,
                    Then::Store(spans) => spans.iter().map(Span::values).sum(),
                    Then::Combine(span, _) => span.values(),
                };
                if epoch == 1 {
                    self.members[me].count.values += length as u64;
                }
                let values = self.members[from as usize].room[slot][at..][..length].to_vec();
                let owner = &self.members[from as usize];
                let unchanged = owner.epoch < epoch + SLOTS || owner.epoch == epoch + SLOTS && owner.next == 0;
                assert!(unchanged, "what is read may have been exposed anew");
                self.take(position, &then, &values);
            }
        }
        self.members[me].next += 1;
        true
    }

    /// Checks the output of a member against the definition.
    fn check(&self, position: u32) {
        let Shape { operation, size, count, .. } = self.shape;
        let operator = if self.shape.commutes { add } else { combine };
        let epoch = self.members[position as usize].epoch;
        let of = |member: u32, index: usize| brought(epoch, member, index);
        let all =
            |members: core::ops::Range<u32>, index: usize| members.map(|member| of(member, index)).reduce(operator).unwrap();
        let expected = |block: usize, i: usize| match operation {
            Collective::Broadcast { root } => of(root, i),
            Collective::Reduce { .. } | Collective::Allreduce => all(0..size, i),
            Collective::Allgather | Collective::Gather { .. } => of(block as u32, i),
            Collective::ReduceScatter => all(0..size, position as usize * count + i),
            Collective::Scatter { root } => of(root, position as usize * count + i),
            Collective::Alltoall => of(block as u32, position as usize * count + i),
            Collective::Scan => all(0..position + 1, i),
            Collective::ExclusiveScan if position == 0 => {
                if self.in_place(position) {
                    of(0, i)
                } else {
                    (1, 1)
                }
            }
            Collective::ExclusiveScan => all(0..position, i),
            Collective::Barrier => unreachable!("it has no values"),
        };
        let (_, shift) = self.shifts(position);
        let output = &self.members[position as usize].output;
        for block in 0..operation.blocks_out(position, size) as usize {
            for i in 0..count {
                let found = output[(block + shift as usize) * count + i];
                assert_eq!(found, expected(block, i), "{position}: block {block}, value {i} of {:?}", self.shape);
            }
        }
    }

    /// Runs some operations one after another, members in any order; some stall for long.
    fn run(&mut self, epochs: u64, random: &mut Random) {
        let size = self.shape.size as usize;
        let mut idle = 0;
        let mut stalled = random.below(size);
        while self.members.iter().any(|member| member.epoch <= epochs) {
            let position = random.below(size);
            if random.below(4 * size) == 0 {
                stalled = random.below(size);
            }
            if position == stalled && random.below(8) > 0 {
                continue;
            }
            let mut moved = false;
            for _ in 0..random.below(6) + 1 {
                moved |= self.step(position as u32, epochs);
            }
            idle = if moved { 0 } else { idle + 1 };
            if idle > 20 * size {
                let any = (0..size as u32).any(|position| self.step(position, epochs));
                assert!(any, "nobody can go on: {:?}", self.shape);
                idle = 0;
            }
        }
    }

    fn counted(&self) -> Promise {
        let most = |of: fn(&Promise) -> u64| self.members.iter().map(|member| of(&member.count)).max().unwrap();
        let messages_of_all = self.members.iter().map(|member| member.count.messages).sum();
        Promise { steps: most(|it| it.steps), messages: most(|it| it.messages), messages_of_all, values: most(|it| it.values) }
    }
}

/// Messages to a member have lines and places of their own; each is sent once and received once, with one length (C1).
fn fits_together(shape: &Shape) {
    let schedules: Vec<_> = (0..shape.size).map(|position| shape.schedule(position)).collect();
    let mut sent: Vec<(u32, u32, ScheduledMessage)> = Vec::new();
    let mut received = Vec::new();
    for (position, schedule) in (0..).zip(&schedules) {
        assert_eq!((schedule.lines, schedule.room), (schedules[0].lines, schedules[0].room), "{shape:?}");
        let mut places = Vec::new();
        for step in &schedule.steps {
            match step {
                Step::Send { to, message, .. } => sent.push((*to, position, *message)),
                Step::Receive { from, message, .. } => {
                    received.push((position, *from, *message));
                    places.push(message.at..message.at + message.length);
                    assert!(message.line < schedule.lines);
                }
                Step::Expose { from, at } => places.push(*at..at + from.iter().map(Span::values).sum::<usize>()),
                _ => {}
            }
        }
        places.retain(|place| !place.is_empty());
        places.sort_by_key(|place| place.start);
        assert!(places.windows(2).all(|pair| pair[0].end <= pair[1].start), "{position} of {shape:?}: {places:?}");
        assert!(places.iter().all(|place| place.end <= schedule.room));
    }
    let key = |&(to, from, message): &(u32, u32, ScheduledMessage)| (to, message.line, from);
    sent.sort_by_key(key);
    received.sort_by_key(key);
    assert_eq!(sent, received, "{shape:?}");
    assert!(sent.windows(2).all(|pair| (pair[0].0, pair[0].2.line) != (pair[1].0, pair[1].2.line)), "{shape:?}");
    for (position, schedule) in (0..).zip(&schedules) {
        for owed in schedule.owes() {
            assert!(schedules[owed as usize].awaits().contains(&position), "{shape:?}");
        }
        for awaited in schedule.awaits() {
            assert!(schedules[awaited as usize].owes().contains(&position), "{shape:?}");
        }
    }
}

/// Every shape of this size: operations, algorithms, operators; random roots and hosts.
fn shapes(size: u32, count: usize, random: &mut Random) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for operation in Collective::ALL {
        for algorithm in Algorithm::ALL {
            for commutes in [true, false] {
                let operation = operation.rooted(random.below(size as usize) as u32);
                let per_host = 1 + random.below(size as usize) as u32;
                let shape = Shape { operation, algorithm, size, count, per_host, commutes };
                if shape.is_possible(true) {
                    shapes.push(shape);
                }
            }
        }
    }
    shapes
}

#[test]
fn every_operation_has_its_result_by_every_algorithm() {
    let mut random = Random(1);
    for size in (1..=33).chain([47, 64]) {
        for round in 0..2 {
            let most = if size < 20 { 2 * size as usize + 3 } else { 9 };
            let count = [random.below(most), 1][round];
            for shape in shapes(size, count, &mut random) {
                fits_together(&shape);
                for in_place in [false, true] {
                    let mut team = Team::new(shape, in_place);
                    team.run(if size < 12 { 8 } else { 4 }, &mut random);
                }
            }
        }
    }
}

#[test]
fn what_is_promised_is_kept() {
    let mut random = Random(2);
    for size in (2..=33).chain([50, 64]) {
        let count = size as usize;
        for shape in shapes(size, count, &mut random) {
            let mut team = Team::new(shape, false);
            team.run(1, &mut random);
            let (found, promise) = (team.counted(), shape.promise());
            let within = found.steps <= promise.steps && found.messages <= promise.messages && found.values <= promise.values;
            assert!(within, "{found:?}, not {promise:?}: {shape:?}");
            assert!(found.messages_of_all <= promise.messages_of_all, "{found:?}, not {promise:?}: {shape:?}");
            let is_alike =
                !matches!(shape.algorithm, Algorithm::Hierarchical | Algorithm::Shared) && shape.size.is_power_of_two();
            let is_scan = matches!(shape.operation, Collective::Scan | Collective::ExclusiveScan);
            let is_exact = is_alike && !is_scan;
            assert!(!is_exact || found.messages_of_all == promise.messages_of_all, "{found:?}, not {promise:?}: {shape:?}");
            // The last host may have fewer members than others, and if one member reads a result, that is half of the reads by all.
            let exact = shape.algorithm != Algorithm::Hierarchical;
            assert!(!exact || found.steps == promise.steps, "{found:?}, not {promise:?}: {shape:?}");
            assert!(!exact || found.messages == promise.messages, "{found:?}, not {promise:?}: {shape:?}");
            let loose = exact && shape.size.is_power_of_two() && promise.values > 0;
            assert!(!loose || 2 * found.values >= promise.values, "{found:?}, not {promise:?}: {shape:?}");
        }
    }
}

/// Which members send to which does not depend on the number of values (C3).
#[test]
fn who_tells_whom_depends_on_the_shape_alone() {
    let mut random = Random(3);
    for size in 2..=20 {
        for shape in shapes(size, 1000, &mut random) {
            for position in 0..size {
                let (long, short) = (shape.schedule(position), Shape { count: 1, ..shape }.schedule(position));
                assert_eq!((long.tells(), long.hears()), (short.tells(), short.hears()), "{shape:?}");
                assert_eq!(long.lines, short.lines, "{shape:?}");
            }
        }
    }
}

#[test]
fn large_teams_have_schedules_too() {
    let mut random = Random(4);
    for size in [255, 257] {
        for shape in shapes(size, 1, &mut random) {
            let promise = shape.promise();
            if promise.messages <= 40 && shape.operation.blocks_out(0, size) <= 1 && shape.operation.blocks_in(0, size) <= 1 {
                fits_together(&shape);
                Team::new(shape, false).run(3, &mut random);
            }
        }
    }
}

/// A simple algorithm is possible for every size and operator.
#[test]
fn every_operation_has_a_flat_or_direct_algorithm() {
    for operation in Collective::ALL {
        for size in 2..40 {
            let possible = [Algorithm::Flat, Algorithm::Direct].into_iter().any(|algorithm| {
                let shape = Shape { operation, algorithm, size, count: 1, per_host: 1, commutes: false };
                shape.is_possible(false)
            });
            assert!(possible, "{operation} of {size}");
        }
    }
}
