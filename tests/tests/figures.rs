//! The figures of the book: each `.txt` in `docs/book/src/figures` describes a figure, from which this test makes the `.svg` beside it.
//!
//! | line | meaning |
//! |---|---|
//! | `sequence TITLE`, `states TITLE`, `layout TITLE` | the kind of the figure: the first line |
//! | `parties: A, B, C` | sequence: the columns |
//! | `A -> B: text`, `A ..> B: text` | sequence: a message, also one that depends on another network event; states: a transition |
//! | `A: text` | sequence: a local action of a party |
//! | `== text` | sequence: a phase begins |
//! | `state NAME at COLUMN ROW` | states: a state and its position |
//! | `row NAME: WIDTH text, …` | layout: fields from left to right, with widths in any unit |

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const RENEW: &str = "PELAGO_RENEW_DOCUMENTS";

/// Width of a figure, of a line of text and of a letter, in pixels.
const WIDTH: f64 = 860.0;
const LINE: f64 = 30.0;
const LETTER: f64 = 7.0;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace").join("docs/book/src/figures")
}

#[test]
fn figures_are_made_of_their_descriptions() {
    let mut made = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "svg") {
            assert!(path.with_extension("txt").exists(), "{} has no description", path.display());
        }
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let figure = drawn(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let target = path.with_extension("svg");
        if std::env::var_os(RENEW).is_some() {
            std::fs::write(&target, &figure).unwrap();
        }
        assert!(
            std::fs::read_to_string(&target).unwrap_or_default() == figure,
            "{} is out of date: renew it by {RENEW}=1 cargo test -p pelago-tests --test figures",
            target.display()
        );
        made += 1;
    }
    assert!(made >= 6, "the book has {made} figures");
}

#[test]
fn mistakes_are_named() {
    for (text, error) in [
        ("picture x", "line 1"),
        ("sequence x\nA -> B: text", "no party A"),
        ("sequence x\nparties: A, B\nA -> C: text", "no party C"),
        ("states x\nstate a at 0 0\na -> b: text", "no state b"),
        ("states x\nstate a at 0", "line 2"),
        ("layout x\nrow r: wide text", "line 2"),
    ] {
        let found = drawn(text).unwrap_err();
        assert!(found.contains(error), "{text}: {found}");
    }
}

#[test]
fn special_characters_stay_text() {
    let figure = drawn("sequence a < b\nparties: A, B\nA -> B: x & y").unwrap();
    assert!(figure.contains("a &lt; b") && figure.contains("x &amp; y"), "{figure}");
}

/// Returns the figure of a description.
fn drawn(text: &str) -> Result<String, String> {
    let mut lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let (_, first) = lines.next().ok_or("it is empty")?;
    let (kind, title) = first.split_once(' ').ok_or("line 1: KIND TITLE")?;
    let rest: Vec<(usize, &str)> = lines.map(|(index, line)| (index + 1, line)).collect();
    let mut canvas = Canvas::default();
    canvas.text(12.0, 22.0, "start", "title", title);
    let height = match kind {
        "sequence" => sequence(&mut canvas, &rest)?,
        "states" => states(&mut canvas, &rest)?,
        "layout" => layout(&mut canvas, &rest)?,
        _ => return Err(format!("line 1: {kind} is neither sequence nor states nor layout")),
    };
    Ok(canvas.finish(height))
}

fn sequence(canvas: &mut Canvas, lines: &[(usize, &str)]) -> Result<f64, String> {
    let mut parties: Vec<&str> = Vec::new();
    let mut y = 90.0;
    let mut body = Canvas::default();
    for &(number, line) in lines {
        if let Some(names) = line.strip_prefix("parties:") {
            parties = names.split(',').map(str::trim).collect();
            continue;
        }
        let x = |name: &str| {
            let place =
                parties.iter().position(|party| *party == name).ok_or(format!("line {number}: there is no party {name}"))?;
            Ok::<_, String>(WIDTH * (place as f64 + 0.5) / parties.len() as f64)
        };
        if let Some(phase) = line.strip_prefix("==") {
            body.line((12.0, y - 8.0), (WIDTH - 12.0, y - 8.0), "phase");
            body.text(16.0, y + 8.0, "start", "phase", phase.trim());
        } else {
            let (who, what) = line.split_once(": ").ok_or(format!("line {number}: A -> B: text"))?;
            match arrow(who) {
                Some((from, to, style)) => {
                    let (from, to) = (x(from)?, x(to)?);
                    body.line((from, y + 4.0), (to, y + 4.0), style);
                    body.text((from + to) / 2.0, y - 2.0, "middle", "label", what);
                }
                None => {
                    let center = x(who)?;
                    let width = (what.chars().count() as f64 * LETTER + 16.0).min(WIDTH - 24.0);
                    let left = (center - width / 2.0).clamp(8.0, WIDTH - width - 8.0);
                    body.rectangle(left, y - 13.0, width, 22.0, "note");
                    body.text(left + width / 2.0, y + 2.0, "middle", "label", what);
                }
            }
        }
        y += LINE;
    }
    for (place, party) in parties.iter().enumerate() {
        let x = WIDTH * (place as f64 + 0.5) / parties.len() as f64;
        let width = party.chars().count() as f64 * 8.0 + 24.0;
        canvas.line((x, 66.0), (x, y - 6.0), "life");
        canvas.rectangle(x - width / 2.0, 38.0, width, 28.0, "box");
        canvas.text(x, 57.0, "middle", "name", party);
    }
    canvas.0 += &body.0;
    Ok(y)
}

fn states(canvas: &mut Canvas, lines: &[(usize, &str)]) -> Result<f64, String> {
    let mut places: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut last = 0.0_f64;
    let mut boxes = Canvas::default();
    for &(number, line) in lines {
        if let Some(state) = line.strip_prefix("state ") {
            let wrong = || format!("line {number}: state NAME at COLUMN ROW");
            let (name, at) = state.split_once(" at ").ok_or_else(wrong)?;
            let (column, row) = at.split_once(' ').ok_or_else(wrong)?;
            let [column, row]: [f64; 2] = [column.parse().map_err(|_| wrong())?, row.parse().map_err(|_| wrong())?];
            let (x, y) = (75.0 + column * 240.0, 76.0 + row * 96.0);
            last = last.max(y);
            places.insert(name, (x, y));
            boxes.rectangle(x - 58.0, y - 18.0, 116.0, 36.0, "box");
            boxes.text(x, y + 5.0, "middle", "name", name);
            continue;
        }
        let wrong = || format!("line {number}: A -> B: text");
        let (who, what) = line.split_once(": ").ok_or_else(wrong)?;
        let (from, to, style) = arrow(who).ok_or_else(wrong)?;
        let place = |name: &str| places.get(name).copied().ok_or(format!("line {number}: there is no state {name}"));
        let (from, to) = (place(from)?, place(to)?);
        // Transitions in both directions are drawn beside each other.
        let (dx, dy) =
            ((to.0 - from.0).signum() * f64::from(to.0 != from.0), (to.1 - from.1).signum() * f64::from(to.1 != from.1));
        let aside = |(x, y): (f64, f64), sign: f64| {
            let half = if dx == 0.0 { (0.0, 18.0) } else { (58.0, if dy == 0.0 { 0.0 } else { 18.0 }) };
            (x + sign * dx * half.0 - 10.0 * dy * f64::from(dx == 0.0), y + sign * dy * half.1 + 8.0 * dx * f64::from(dy == 0.0))
        };
        let (start, end) = (aside(from, 1.0), aside(to, -1.0));
        canvas.line(start, end, style);
        let (x, y) = ((start.0 + end.0) / 2.0, (start.1 + end.1) / 2.0);
        match () {
            () if dx == 0.0 => canvas.text(x + 8.0 * dy, y + 4.0, if dy > 0.0 { "start" } else { "end" }, "small", what),
            () if dy == 0.0 => canvas.text(x, y + if dx > 0.0 { 15.0 } else { -6.0 }, "middle", "small", what),
            () => canvas.text(x + 8.0, y, "start", "small", what),
        }
    }
    canvas.0 += &boxes.0;
    Ok(last + 40.0)
}

fn layout(canvas: &mut Canvas, lines: &[(usize, &str)]) -> Result<f64, String> {
    let mut y = 44.0;
    for &(number, line) in lines {
        let wrong = || format!("line {number}: row NAME: WIDTH text, WIDTH text");
        let (name, fields) = line.strip_prefix("row ").and_then(|row| row.split_once(": ")).ok_or_else(wrong)?;
        let field = |field: &str| {
            let (width, text) = field.trim().split_once(' ')?;
            Some((width.parse::<f64>().ok()?, text.to_owned()))
        };
        let fields: Vec<(f64, String)> = fields.split(',').map(field).collect::<Option<_>>().ok_or_else(wrong)?;
        let sum: f64 = fields.iter().map(|(width, _)| width).sum();
        canvas.text(12.0, y + 20.0, "start", "name", name);
        let (mut x, scale) = (170.0, (WIDTH - 182.0) / sum);
        for (width, text) in fields {
            canvas.rectangle(x, y, width * scale, 30.0, "box");
            canvas.text(x + width * scale / 2.0, y + 20.0, "middle", "small", &text);
            x += width * scale;
        }
        y += 44.0;
    }
    Ok(y)
}

/// Returns both ends of `A -> B` or `A ..> B`, and the style of the line.
fn arrow(text: &str) -> Option<(&str, &str, &'static str)> {
    let ends = |between: &str, style| text.split_once(between).map(|(from, to)| (from.trim(), to.trim(), style));
    ends(" -> ", "arrow").or_else(|| ends(" ..> ", "arrow dashed"))
}

/// Elements of an image.
#[derive(Default)]
struct Canvas(String);

impl Canvas {
    fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(self.0, r#"<text x="{x:.0}" y="{y:.0}" text-anchor="{anchor}" class="{class}">{text}</text>"#).unwrap();
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        writeln!(self.0, r#"<line x1="{x1:.0}" y1="{y1:.0}" x2="{x2:.0}" y2="{y2:.0}" class="{class}"/>"#).unwrap();
    }

    fn rectangle(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        writeln!(self.0, r#"<rect x="{x:.0}" y="{y:.0}" width="{width:.0}" height="{height:.0}" rx="4" class="{class}"/>"#)
            .unwrap();
    }

    fn finish(self, height: f64) -> String {
        let style = "text{font:13px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.name{font-weight:bold}.small{font-size:12px}\
                     .phase{font-style:italic;fill:#666}rect{stroke:#3a5a8c;fill:#eef3fa}.note{fill:#fff8e1;stroke:#c8a84b}\
                     line{stroke:#3a5a8c;stroke-width:1.5}.life{stroke:#aaa;stroke-dasharray:3 4}line.phase{stroke:#bbb;stroke-width:1}\
                     .arrow{marker-end:url(#head)}.dashed{stroke-dasharray:6 4}";
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" height=\"{height:.0}\">\n\
             <style>{style}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#3a5a8c\"/></marker></defs>\n\
             <rect width=\"{WIDTH:.0}\" height=\"{height:.0}\" style=\"fill:#fff;stroke:none\"/>\n{}</svg>\n",
            self.0
        )
    }
}
