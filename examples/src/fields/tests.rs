//! The fields are bitwise equal to those on undistributed arrays; arguments are checked without a job.

use super::check;
use super::water::{FIELDS, H, Q, U, V, Z, first_value, term};

/// All cells of the channel with the stencils by definition, without blocks and halos.
struct Channel {
    cells: [usize; 2],
    fields: [Vec<f64>; FIELDS],
}

impl Channel {
    fn new(cells: [usize; 2]) -> Self {
        Self { cells, fields: std::array::from_fn(|field| each_cell(cells, field, |i, j| first_value(field, [i, j]))) }
    }

    /// Returns the value of a cell; j is periodic, and walls reflect.
    fn at(&self, field: usize, i: isize, j: isize) -> f64 {
        let (rows, columns) = (rows(self.cells, field).len() as isize, self.cells[1] as isize);
        let i = if i < 0 { -1 - i } else { i.min(2 * rows - 1 - i) };
        self.fields[field][(i * columns + j.rem_euclid(columns)) as usize]
    }

    fn step(&mut self) {
        self.fields = std::array::from_fn(|field| each_cell(self.cells, field, |i, j| self.next(field, i, j)));
    }

    fn next(&self, field: usize, i: usize, j: usize) -> f64 {
        let is_wall = i == 0 || i == self.cells[0];
        let (i, j) = (i as isize, j as isize);
        let of = |field: usize| move |di: isize, dj: isize| self.at(field, i + di, j + dj);
        let (h, u, v, z, q) = (of(H), of(U), of(V), of(Z), of(Q));
        let (dt, mixing) = (0.01, 0.02);
        match field {
            H => {
                let flow_i = u(1, 0) * (0.5 * (h(0, 0) + h(1, 0))) - u(0, 0) * (0.5 * (h(-1, 0) + h(0, 0)));
                let flow_j = v(0, 1) * (0.5 * (h(0, 0) + h(0, 1))) - v(0, 0) * (0.5 * (h(0, -1) + h(0, 0)));
                let sides = h(-1, 0) + h(1, 0) + h(0, -1) + h(0, 1);
                let corners = h(-1, -1) + h(-1, 1) + h(1, -1) + h(1, 1);
                h(0, 0) - dt * (flow_i + flow_j) + mixing * (sides + 0.5 * corners - 6.0 * h(0, 0))
            }
            U | Z if is_wall => 0.0,
            U => {
                let across = 0.25 * (v(-1, 0) + v(0, 0) + v(-1, 1) + v(0, 1));
                let turning = 0.1 + 0.5 * (z(0, 0) + z(0, 1));
                let mixed = u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4.0 * u(0, 0);
                u(0, 0) - dt * ((h(0, 0) - h(-1, 0)) - turning * across) + mixing * mixed
            }
            V => {
                let across = 0.25 * (u(0, -1) + u(1, -1) + u(0, 0) + u(1, 0));
                let mixed = v(0, -1) + v(0, 1) - 2.0 * v(0, 0);
                v(0, 0) - dt * ((h(0, 0) - h(0, -1)) + 0.1 * across) + mixing * mixed
            }
            Z => (v(0, 0) - v(-1, 0)) - (u(0, 0) - u(0, -1)),
            _ => {
                let along_i = (2.0 * q(1, 0) + 3.0 * q(0, 0) - 6.0 * q(-1, 0) + q(-2, 0)) / 6.0;
                let along_j = (2.0 * q(0, 1) + 3.0 * q(0, 0) - 6.0 * q(0, -1) + q(0, -2)) / 6.0;
                q(0, 0) - dt * (0.4 * along_i + 0.3 * along_j) + mixing * (q(-1, -1) - q(0, 0))
            }
        }
    }

    fn hash(&self) -> u64 {
        let columns = self.cells[1];
        let cells =
            (0..FIELDS).flat_map(|field| self.fields[field].iter().enumerate().map(move |(at, value)| (field, at, *value)));
        let rows = self.cells[0] + 1;
        cells.fold(0, |sum, (field, at, value)| sum.wrapping_add(term(rows, columns, field, [at / columns, at % columns], value)))
    }
}

/// Returns the rows of a field; velocities along i and vorticity have a row at either wall.
fn rows([length, _]: [usize; 2], field: usize) -> std::ops::Range<usize> {
    0..length + usize::from(field == U || field == Z)
}

fn each_cell(cells: [usize; 2], field: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let value = &value;
    rows(cells, field).flat_map(|i| (0..cells[1]).map(move |j| value(i, j))).collect()
}

/// Hashes printed by `fields --length L --width W --steps N` for any distribution. `tests/tests/launch/fields.rs` compares jobs with them.
const HASHES: [([usize; 2], u32, u64); 3] =
    [([192, 128], 20, 0x2988_337b_8056_d529), ([37, 23], 30, 0xd2ba_fc32_9198_df63), ([2, 2], 5, 0x7937_bf7e_1ff9_0c38)];

#[test]
fn whole_arrays_have_the_known_hashes() {
    for (cells, steps, hash) in HASHES {
        let mut channel = Channel::new(cells);
        (0..steps).for_each(|_| channel.step());
        assert!(channel.fields.iter().flatten().all(|value| value.is_finite()));
        assert_eq!(channel.hash(), hash, "{cells:?}: {:016x}", channel.hash());
    }
}

#[test]
fn wrong_arguments_are_one_line() {
    for (arguments, ranks, says) in [
        (&["--length", "0"][..], 1, "0"),
        (&["--length", "1"], 1, "2 cells from wall to wall"),
        (&["--steps", "-3"], 1, "-3"),
        (&["--split", "2"], 2, "AxB"),
        (&["--split", "2x2"], 3, "4 ranks, but there are 3"),
        (&["--split", "0x2"], 2, "AxB"),
        (&["--length", "3", "--split", "3x1"], 3, "is wider than a block"),
        (&["--width", "2", "--split", "1x2"], 2, "is wider than a block"),
        (&["--width", "2", "--split", "1x3"], 3, "cut into 3 parts"),
        (&["--length", "2", "--width", "2"], 7, "7 ranks cannot share"),
        (&["--method", "fast"], 1, "direct, packed, fetched or -"),
        (&["--route", "round"], 1, "direct or forwarded"),
    ] {
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let line = check(&arguments, ranks).unwrap_err();
        assert!(line.contains(says) && !line.contains('\n'), "{arguments:?}: {line}");
    }
}

#[test]
fn good_arguments_and_questions_pass() {
    for arguments in [&[][..], &["--help"], &["--split", "3x2", "--method", "direct", "--route", "forwarded", "--explain"]] {
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        assert_eq!(check(&arguments, 6), Ok(()), "{arguments:?}");
    }
}
