//! Rows as SVG pictures: for each benchmark, time and bandwidth over size, or time over ranks; and an overview of all rows with raw limits and
//! other libraries. Also arbitrary curves over two logarithmic axes.

use std::fmt::Write;
use std::io;
use std::path::Path;

use crate::Row;
use crate::results::table::{bytes_text, nanoseconds_text};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// Positions of the axes in the picture.
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 28.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = HEIGHT - 62.0;

/// Space between a border and the first or last point.
const MARGIN: f64 = 16.0;

/// Maximum number of labels that fit on an axis.
const LABELS_MAX: i32 = 10;

const STYLE: &str = "text{font:13px sans-serif;fill:#333;stroke:#fff;stroke-width:3px;paint-order:stroke}.title{font-size:17px;font-weight:bold}\
.grid{stroke:#ddd}.fine{stroke:#f2f2f2}.axis{stroke:#555;fill:none}\
.library{stroke:#0b6e99;fill:#0b6e99}.raw{stroke:#d9822b;fill:#fff;stroke-dasharray:6 4}\
.c0{stroke:#b3261e;fill:#b3261e}.c1{stroke:#d9822b;fill:#d9822b}.c2{stroke:#0b6e99;fill:#0b6e99}\
.c3{stroke:#2e8b57;fill:#2e8b57}.c4{stroke:#7b4fa3;fill:#7b4fa3}.c5{stroke:#555;fill:#555}\
polyline{stroke-width:2;fill:none!important}circle{stroke-width:1.5;stroke-dasharray:none!important}";

/// Writes a file for each benchmark with several sizes or numbers of ranks, and `all.svg` with every row.
///
/// # Errors
/// The folder cannot be written to.
pub(crate) fn write(rows: &[Row], folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for chart in charts(rows) {
        std::fs::write(folder.join(&chart.file), chart.svg())?;
    }
    overview(rows).map_or(Ok(()), |svg| std::fs::write(folder.join("all.svg"), svg))
}

fn charts(rows: &[Row]) -> Vec<Chart> {
    let mut kinds: Vec<Kind<'_>> = rows.iter().map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of_kind = |kind: &Kind<'_>| {
        let by = [
            ([Quantity::Bytes, Quantity::Time], "latency", "time by size"),
            ([Quantity::Bytes, Quantity::Bandwidth], "bandwidth", "bandwidth by size"),
            ([Quantity::Ranks, Quantity::Time], "ranks", "time by ranks"),
        ];
        by.into_iter().filter_map(|(quantities, file, title)| Chart::of(rows, kind, quantities, file, title)).collect::<Vec<_>>()
    };
    kinds.iter().flat_map(of_kind).collect()
}

/// Name of the benchmark, and its condition.
type Kind<'r> = (&'r str, &'r str);

fn kind(row: &Row) -> Kind<'_> {
    (&row.name, row.plane.as_deref().or(row.condition.as_deref()).unwrap_or_default())
}

/// Draws every row with a time as a line with points for the library, the raw limit and the other library; `None` without rows.
fn overview(rows: &[Row]) -> Option<String> {
    const LABELS: f64 = 330.0;
    const STEP: f64 = 20.0;
    let rows: Vec<_> = rows.iter().filter(|row| row.median_ns.is_some()).collect();
    let times = |row: &Row| [row.median_ns, row.raw_ns, row.peer_ns];
    let values = rows.iter().flat_map(|row| times(row)).flatten().filter(|time| *time > 0.0);
    values.clone().next()?;
    let axis = Axis::over(Quantity::Time, values, [LABELS, RIGHT - MARGIN]);
    let height = TOP + STEP * rows.len() as f64 + 50.0;
    let mut svg = start(WIDTH, height);
    let bottom = height - 44.0;
    grid(&mut svg, &axis, |place| (place, TOP, place, bottom));
    for value in axis.ticks().0 {
        text(&mut svg, (axis.place(value), bottom + 20.0), "middle", &axis.quantity.text(value));
    }
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + STEP * (number as f64 + 0.5);
        let (name, condition) = kind(row);
        let size = row.bytes.map(|bytes| format!(" {}", bytes_text(bytes))).unwrap_or_default();
        let label =
            format!("{name} {condition}{size}, {} ranks, {}", row.ranks, row.transport).replace("  ", " ").replace(" ,", ",");
        text(&mut svg, (LABELS - 10.0, y + 4.5), "end", &label);
        for (class, time) in ["library", "raw", "c3"].into_iter().zip(times(row)) {
            if let Some(time) = time.filter(|time| *time > 0.0) {
                line(&mut svg, format_args!("<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>", axis.place(time)));
            }
        }
    }
    legend(&mut svg, LABELS, "library", "pelago");
    legend(&mut svg, LABELS + 110.0, "raw", "raw limit");
    if let Some(peer) = rows.iter().find_map(|row| row.peer_name.as_deref()) {
        legend(&mut svg, LABELS + 230.0, "c3", peer);
    }
    Some(svg + "</svg>\n")
}

/// Quantity on an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Bytes,
    Ranks,
    Time,
    Bandwidth,
    Senders,
    /// Messages per sender.
    Messages,
    /// Time per received message.
    TimeEach,
    /// Atomics of the busiest unit per received message.
    AtomicsEach,
    Memory,
    /// Any number, described by the title of the axis.
    Number,
}

impl Quantity {
    fn title(self) -> &'static str {
        match self {
            Self::Bytes => "size",
            Self::Ranks => "ranks",
            Self::Time => "median time",
            Self::Bandwidth => "GB/s",
            Self::Senders => "senders",
            Self::Messages => "messages of each sender",
            Self::TimeEach => "time per message received",
            Self::AtomicsEach => "atomics per message received",
            Self::Memory => "memory of the receiver",
            Self::Number => "",
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Bytes | Self::Memory => bytes_text(value as u64),
            Self::Ranks | Self::Senders | Self::Bandwidth | Self::Messages | Self::AtomicsEach => format!("{value}"),
            // Ticks have one digit.
            Self::Number if (1e-3..1e6).contains(&value) => {
                let text = format!("{value:.3}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Self::Number => format!("{value:e}"),
            // Ticks are whole numbers of their unit.
            Self::Time | Self::TimeEach => nanoseconds_text(value).replace(".00", "").replace(".0", ""),
        }
    }

    /// Returns whether ticks are powers of two (sizes, ranks) instead of decimal (times, rates).
    fn is_binary(self) -> bool {
        matches!(self, Self::Bytes | Self::Memory | Self::Ranks | Self::Senders)
    }
}

/// A logarithmic axis between two positions of the picture.
struct Axis {
    quantity: Quantity,
    first: f64,
    last: f64,
    places: [f64; 2],
}

impl Axis {
    fn over(quantity: Quantity, values: impl Iterator<Item = f64> + Clone, places: [f64; 2]) -> Self {
        let (mut first, mut last) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if !quantity.is_binary() {
            // Extends the range to the next round numbers, so that lines do not touch the border.
            let below = |value: f64| ROUND.iter().rev().map(|step| step * decade(value)).find(|tick| *tick <= value);
            let above = |value: f64| ROUND.iter().chain(&[10.0]).map(|step| step * decade(value)).find(|tick| *tick >= value);
            (first, last) = (below(first * 0.97).unwrap_or(first), above(last * 1.03).unwrap_or(last));
        }
        Self { quantity, first, last, places }
    }

    fn place(&self, value: f64) -> f64 {
        let [from, to] = self.places;
        from + (to - from) * (value / self.first).ln() / (self.last / self.first).ln()
    }

    /// Returns the values with a label, and those with only a fine line.
    fn ticks(&self) -> (Vec<f64>, Vec<f64>) {
        let inside = |value: &f64| (self.first * 0.999..=self.last * 1.001).contains(value);
        if self.quantity.is_binary() {
            let (low, high) = (self.first.log2().floor() as i32, self.last.log2().ceil() as i32);
            let step = ((high - low) / LABELS_MAX + 1).max(1);
            let label = |exponent: i32| 2.0_f64.powi(exponent);
            return ((low..=high).step_by(step as usize).map(label).filter(inside).collect(), Vec::new());
        }
        let decades: Vec<_> =
            (self.first.log10().floor() as i32..=self.last.log10().ceil() as i32).map(|n| 10.0_f64.powi(n)).collect();
        let steps: &[f64] = if decades.len() > 4 { &[1.0] } else { &ROUND };
        let times =
            |steps: &[f64]| decades.iter().flat_map(|ten| steps.iter().map(move |step| step * ten)).filter(inside).collect();
        let fine: Vec<f64> = (1..10).map(f64::from).collect();
        (times(steps), times(&fine))
    }
}

/// Round numbers of each decade.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

fn decade(value: f64) -> f64 {
    10.0_f64.powf(value.log10().floor())
}

/// Two curves over logarithmic axes.
struct Chart {
    file: String,
    title: String,
    quantities: [Quantity; 2],
    raw_names: String,
    library: Vec<(f64, f64)>,
    raw: Vec<(f64, f64)>,
}

impl Chart {
    /// Returns the chart of one kind, if it has several results.
    fn of(rows: &[Row], of: &Kind<'_>, quantities: [Quantity; 2], file: &str, title: &str) -> Option<Self> {
        let mut rows: Vec<_> = rows.iter().filter(|row| kind(row) == *of).collect();
        let x = |row: &Row| if quantities[0] == Quantity::Ranks { Some(row.ranks.into()) } else { row.bytes };
        rows.sort_by_key(|row| x(row));
        let y = |row: &Row, nanoseconds: f64| match quantities[1] {
            Quantity::Bandwidth => row.bytes.map(|bytes| bytes as f64 / nanoseconds),
            _ => Some(nanoseconds),
        };
        let points = |time: fn(&Row) -> Option<f64>| -> Vec<_> {
            rows.iter().filter_map(|row| Some((x(row)? as f64, y(row, time(row)?)?))).collect()
        };
        let mut raw_names: Vec<_> = rows.iter().filter_map(|row| row.raw_name.as_deref()).collect();
        raw_names.dedup();
        let (library, raw) = (points(|row| row.median_ns), points(|row| row.raw_ns));
        let (name, condition) = *of;
        let plain: String = condition.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
        let (infix, condition) =
            if plain.is_empty() { (plain, String::new()) } else { (format!("_{plain}"), format!(" {condition}")) };
        (library.len() > 1 && library[0].0 < library[library.len() - 1].0).then(|| Self {
            file: format!("{name}{infix}_{file}.svg"),
            title: format!("{name}{condition}: {title}"),
            quantities,
            raw_names: raw_names.join(", "),
            library,
            raw,
        })
    }

    fn svg(&self) -> String {
        let both = self.library.iter().chain(&self.raw);
        let x = Axis::over(self.quantities[0], both.clone().map(|point| point.0), [LEFT + MARGIN, RIGHT - MARGIN]);
        let y = Axis::over(self.quantities[1], both.map(|point| point.1), [BOTTOM, TOP]);
        let mut svg = frame(&self.title, [&x, &y], self.quantities.map(Quantity::title));
        curve(&mut svg, "raw", &self.raw, [&x, &y]);
        curve(&mut svg, "library", &self.library, [&x, &y]);
        legend(&mut svg, RIGHT - 330.0, "library", "pelago");
        legend(&mut svg, RIGHT - 225.0, "raw", &format!("raw limit: {}", self.raw_names));
        svg + "</svg>\n"
    }
}

/// Draws the picture without its curves.
fn frame(title: &str, [x, y]: [&Axis; 2], [below, beside]: [&str; 2]) -> String {
    let mut svg = start(WIDTH, HEIGHT);
    grid(&mut svg, x, |place| (place, TOP, place, BOTTOM));
    grid(&mut svg, y, |place| (LEFT, place, RIGHT, place));
    let (width, height) = (RIGHT - LEFT, BOTTOM - TOP);
    line(&mut svg, format_args!("<rect class=\"axis\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\"/>"));
    for value in x.ticks().0 {
        text(&mut svg, (x.place(value), BOTTOM + 20.0), "middle", &x.quantity.text(value));
    }
    for value in y.ticks().0 {
        text(&mut svg, (LEFT - 8.0, y.place(value) + 4.5), "end", &y.quantity.text(value));
    }
    text(&mut svg, ((LEFT + RIGHT) / 2.0, HEIGHT - 16.0), "middle", below);
    let middle = (TOP + BOTTOM) / 2.0;
    let beside = escaped(beside);
    line(&mut svg, format_args!("<text transform=\"translate(20 {middle}) rotate(-90)\" text-anchor=\"middle\">{beside}</text>"));
    line(&mut svg, format_args!("<text class=\"title\" x=\"{LEFT}\" y=\"30\">{}</text>", escaped(title)));
    svg
}

/// Starts a white picture of this size.
fn start(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <style>{STYLE}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    )
}

/// Name and points of a curve.
pub type Curve<'a> = (&'a str, Vec<(f64, f64)>);

/// Maximum number of curves of a picture.
pub const CURVES_MAX: usize = 6;

/// Draws up to [`CURVES_MAX`] curves of positive numbers over two logarithmic axes with these titles, as SVG. At least one curve must have
/// points, and at least two points must differ in x.
pub fn curves_of_numbers(title: &str, titles: [&str; 2], curves: &[Curve]) -> String {
    drawn(title, [Quantity::Number; 2], titles, curves)
}

/// Draws up to [`CURVES_MAX`] curves over two logarithmic axes; at least one must have points.
pub(crate) fn curves(title: &str, quantities: [Quantity; 2], curves: &[Curve]) -> String {
    drawn(title, quantities, quantities.map(Quantity::title), curves)
}

fn drawn(title: &str, quantities: [Quantity; 2], titles: [&str; 2], curves: &[Curve]) -> String {
    let points = curves.iter().flat_map(|(_, points)| points);
    let x = Axis::over(quantities[0], points.clone().map(|point| point.0), [LEFT + MARGIN, RIGHT - MARGIN]);
    let y = Axis::over(quantities[1], points.map(|point| point.1), [BOTTOM - MARGIN, TOP + MARGIN]);
    let mut svg = frame(title, [&x, &y], titles);
    for (number, (name, points)) in curves.iter().enumerate() {
        let class = format!("c{number}");
        curve(&mut svg, &class, points, [&x, &y]);
        let top = TOP + 18.0 + 18.0 * number as f64;
        line(&mut svg, format_args!("<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{top:.1}\" r=\"4\"/>", LEFT + 14.0));
        text(&mut svg, (LEFT + 24.0, top + 4.5), "start", name);
    }
    svg + "</svg>\n"
}

fn grid(svg: &mut String, axis: &Axis, ends: impl Fn(f64) -> (f64, f64, f64, f64)) {
    let (labelled, fine) = axis.ticks();
    for (class, values) in [("fine", fine), ("grid", labelled)] {
        for value in values {
            let (x1, y1, x2, y2) = ends(axis.place(value));
            line(svg, format_args!("<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"));
        }
    }
}

fn curve(svg: &mut String, class: &str, points: &[(f64, f64)], [x, y]: [&Axis; 2]) {
    let places: Vec<_> = points.iter().map(|point| (x.place(point.0), y.place(point.1))).collect();
    let joined: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    line(svg, format_args!("<polyline class=\"{class}\" points=\"{}\"/>", joined.join(" ")));
    for (x, y) in places {
        line(svg, format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"));
    }
}

fn legend(svg: &mut String, left: f64, class: &str, label: &str) {
    let right = left + 30.0;
    line(svg, format_args!("<polyline class=\"{class}\" points=\"{left},30 {right},30\"/>"));
    line(svg, format_args!("<circle class=\"{class}\" cx=\"{}\" cy=\"30\" r=\"3.5\"/>", left + 15.0));
    text(svg, (right + 7.0, 34.5), "start", label);
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    line(svg, format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(text)));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn line(svg: &mut String, element: std::fmt::Arguments<'_>) {
    writeln!(svg, "{element}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, ranks: u32, bytes: u64, median_ns: f64) -> Row {
        let raw_name = Some("memcpy".into());
        Row {
            name: name.into(),
            ranks,
            bytes: Some(bytes),
            median_ns: Some(median_ns),
            raw_ns: Some(median_ns / 2.0),
            raw_name,
            ..Row::default()
        }
    }

    #[test]
    fn each_thing_with_several_sizes_has_its_pictures() {
        let rows = [row("put", 2, 8, 1.5), row("put", 2, 1 << 20, 80e3), row("get", 2, 8, 1.0), row("barrier", 2, 0, 200.0)];
        let files = |rows: &[Row]| charts(rows).into_iter().map(|chart| chart.file).collect::<Vec<_>>();
        assert_eq!(files(&rows), ["put_latency.svg", "put_bandwidth.svg"]);
        let with = |condition: &str, bytes| Row { condition: Some(condition.into()), ..row("collectives", 2, bytes, 5.0) };
        let rows = [
            with("scan", 8),
            with("scan", 64),
            with("gather", 8),
            Row { bytes: None, ..row("barrier", 2, 0, 2.0) },
            row("barrier", 4, 0, 3.0),
        ];
        assert_eq!(files(&rows), ["barrier_ranks.svg", "collectives_scan_latency.svg", "collectives_scan_bandwidth.svg"]);
    }

    #[test]
    fn every_row_is_in_the_overview() {
        let peer = Row { peer_ns: Some(900.0), peer_name: Some("openmpi".into()), ..row("get", 2, 8, 3.0) };
        let rows = [row("put", 2, 8, 1.5), peer, Row { median_ns: None, ..row("memory", 2, 0, 0.0) }];
        let svg = overview(&rows).unwrap();
        assert!(svg.contains(">put 8 B, 2 ranks,") && svg.contains(">openmpi<") && !svg.contains("memory"), "{svg}");
        // Two points for each row, one for the peer, and those of the legend.
        assert_eq!(svg.matches("<circle").count(), 5 + 3);
        assert_eq!(overview(&[]), None);
    }

    #[test]
    fn all_points_are_inside_and_all_ticks_differ() {
        let rows = [row("put", 2, 8, 1.5), row("put", 2, 1 << 24, 2e6), row("barrier", 2, 0, 170.0), row("barrier", 16, 0, 30e3)];
        for chart in charts(&rows) {
            let svg = chart.svg();
            let numbers = |name: &str| -> Vec<f64> {
                let key = format!(" {name}=\"");
                svg.split(&key).skip(1).map(|part| part.split('"').next().unwrap().parse().unwrap()).collect()
            };
            assert!(numbers("cx").iter().all(|x| (LEFT - 0.1..=RIGHT + 0.1).contains(x)), "{svg}");
            assert!(numbers("cy").iter().all(|y| *y == 30.0 || (TOP..=BOTTOM).contains(y)), "{svg}");
            for quantity in [0, 1] {
                let axis = Axis::over(
                    chart.quantities[quantity],
                    chart.library.iter().map(|point| if quantity == 0 { point.0 } else { point.1 }),
                    [0.0, 1.0],
                );
                let labels: Vec<_> = axis.ticks().0.iter().map(|value| axis.quantity.text(*value)).collect();
                assert!(labels.len() >= 2 && labels.windows(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
            }
        }
    }
}
