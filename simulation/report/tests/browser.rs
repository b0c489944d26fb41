//! Tests that the page in a browser shows the data of the report.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pelago_report::{Distribution, Limits, Report};

/// The names of browsers that can run headless.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn browser() -> Option<&'static str> {
    let found = BROWSERS.into_iter().find(|name| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        println!("skipped: none of {} is installed", BROWSERS.join(", "));
    }
    found
}

/// Returns the document that a browser makes of the page.
fn shown(browser: &str, report: &Report, name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let page: PathBuf = folder.join("page.html");
    std::fs::write(&page, report.to_html()).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(["--window-size=1280,2400", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success(), "{browser}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the markup before the embedded report, which is the visible part.
fn visible(document: &str) -> &str {
    let (visible, rest) = document.split_once("<script type=\"application/json\"").expect("the report is embedded");
    assert!(rest.contains("const report = JSON.parse"), "the script follows");
    visible
}

/// Returns the elements whose opening tags contain `mark`, each as the text from its tag to the end of the document.
fn elements<'a>(document: &'a str, mark: &'a str) -> impl Iterator<Item = Element<'a>> {
    document.match_indices(mark).map(move |(at, _)| {
        let start = document[..=at].rfind('<').expect("marks are in tags");
        Element(&document[start..])
    })
}

fn element<'a>(document: &'a str, mark: &'a str) -> Element<'a> {
    let mut found = elements(document, mark);
    let first = found.next().unwrap_or_else(|| panic!("nothing has {mark}"));
    assert!(found.next().is_none(), "several have {mark}");
    first
}

struct Element<'a>(&'a str);

impl Element<'_> {
    fn attribute(&self, name: &str) -> String {
        let tag = self.0.split('>').next().unwrap();
        let (_, rest) = tag.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{tag} has no {name}"));
        unescaped(rest.split('"').next().unwrap())
    }

    fn number(&self, name: &str) -> u64 {
        self.attribute(name).parse().unwrap_or_else(|_| panic!("{name}={}", self.attribute(name)))
    }

    /// Returns its text up to `end`, without markup.
    fn text(&self, end: &str) -> String {
        let inner = self.0.split(end).next().unwrap();
        let texts = inner.split('<').filter_map(|piece| Some(piece.split_once('>')?.1));
        unescaped(&texts.collect::<Vec<_>>().join("|"))
    }

    /// Returns the texts of the cells of a row.
    fn cells(&self) -> Vec<String> {
        let row = self.0.split("</tr>").next().unwrap();
        row.split("<td").skip(1).map(|cell| Element(cell).text("</td>").replace('|', "")).collect()
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Formats a time as the page does.
fn time(ps: u64) -> String {
    let units = [("s", 1e12), ("ms", 1e9), ("µs", 1e6), ("ns", 1e3)];
    let unit = units.into_iter().find(|(_, size)| ps as f64 >= *size);
    unit.map_or(format!("{ps} ps"), |(unit, size)| format!("{:.3} {unit}", ps as f64 / size))
}

fn check_distribution(document: &str, name: &str, expected: &Distribution) {
    let mark = format!("data-latency=\"{name}\"");
    let figure = element(document, &mark);
    assert_eq!(figure.number("data-count"), expected.count, "{name}");
    let inner = figure.0.split("</figure>").next().unwrap();
    let bars: Vec<(u64, u64, u64)> = elements(inner, "class=\"bar\"")
        .map(|bar| (bar.number("data-from-ps"), bar.number("data-to-ps"), bar.number("data-count")))
        .collect();
    let buckets: Vec<_> = expected.histogram.iter().map(|bucket| (bucket.from_ps, bucket.to_ps, bucket.count)).collect();
    assert_eq!(bars, buckets, "{name}");
    if expected.count > 0 {
        let named =
            [("median", expected.median_ps), ("p90", expected.p90_ps), ("p99", expected.p99_ps), ("max", expected.max_ps)];
        for (label, value) in named {
            let mark = format!("data-{label}-ps=");
            let shown = element(inner, &mark);
            assert_eq!(shown.number(mark.trim_end_matches('=')), value);
            assert_eq!(shown.text("</dd>"), time(value));
        }
    }
}

#[test]
fn the_page_shows_what_the_report_says() {
    let Some(browser) = browser() else { return };
    let report = Report::from_json(&support::job(16, 6, Limits::default()).to_json()).unwrap();
    let document = shown(browser, &report, "small");
    assert!(document.contains("data-drawn=\"true\""), "the script came to its end");
    let page = visible(&document);

    assert_eq!(element(page, "id=\"program\"").text("</h1>"), report.job.program);
    assert_eq!(element(page, "id=\"machine\"").text("</strong>"), report.job.machine);
    assert_eq!(element(page, "id=\"machine-source\"").text("</span>"), report.job.machine_source);
    assert_eq!(element(page, "id=\"fault\"").text("</p>"), report.job.fault.clone().unwrap());
    assert_eq!(element(page, "id=\"seed\"").text("</dd>"), report.job.seed.to_string());
    let end = element(page, "id=\"end-time\"");
    assert_eq!((end.number("data-ps"), end.text("</dd>")), (report.job.end_ps, time(report.job.end_ps)));
    assert_eq!(element(page, "id=\"events\"").text("</dd>"), "12,345,678");
    let counts = [
        ("events", report.totals.events),
        ("packets", report.totals.packets),
        ("packet-hops", report.totals.packet_hops),
        ("lost", report.totals.disturbances.lost),
        ("repetitions", report.totals.disturbances.repetitions),
        ("operations", report.totals.operations),
        ("rank-count", report.job.ranks.into()),
    ];
    for (id, count) in counts {
        assert_eq!(element(page, &format!("id=\"{id}\"")).number("data-count"), count, "{id}");
    }

    let rows: Vec<_> = elements(page, "<tr data-rank=").collect();
    assert_eq!(rows.len(), 16);
    for (row, expected) in rows.iter().zip(&report.ranks.rows) {
        let numbers = ["data-rank", "data-computing-ps", "data-waiting-ps", "data-operations", "data-bytes"];
        let known = [u64::from(expected.rank), expected.computing_ps, expected.waiting_ps, expected.operations, expected.bytes];
        assert_eq!(numbers.map(|name| row.number(name)), known);
        let cells = row.cells();
        let ended = expected.ended_ps.map_or("never".into(), time);
        assert_eq!(cells[0], expected.rank.to_string());
        assert_eq!(cells[2..5], [time(expected.computing_ps), time(expected.waiting_ps), ended]);
    }

    let rows: Vec<_> = elements(page, "<tr data-link=").collect();
    assert_eq!((rows.len(), report.links.count), (report.links.busiest.len(), 16));
    for (row, expected) in rows.iter().zip(&report.links.busiest) {
        assert_eq!(row.attribute("data-link"), format!("{} → {}", expected.from, expected.to));
        let numbers = ["data-busy-ps", "data-bytes", "data-utilization-ppm", "data-longest-queue"];
        let known = [expected.busy_ps, expected.bytes, expected.utilization_ppm, expected.longest_queue.into()];
        assert_eq!(numbers.map(|name| row.number(name)), known);
        assert_eq!(row.cells()[3], time(expected.busy_ps));
    }
    let shares = Element(page.split("id=\"shares\"").nth(1).unwrap().split("<h3>").next().unwrap());
    let shares: Vec<_> =
        elements(shares.0, "class=\"bar\"").map(|bar| (bar.number("data-from-ppm"), bar.number("data-count"))).collect();
    assert_eq!(shares, report.links.shares.iter().map(|share| (share.from_ppm, share.count)).collect::<Vec<_>>());
    assert_eq!(element(page, "id=\"strip\"").number("data-cells"), 16);

    assert_eq!(report.latencies.len(), 4);
    for kind in &report.latencies {
        check_distribution(page, &format!("{}-effect", kind.kind.name()), &kind.to_effect);
        check_distribution(page, &format!("{}-completion", kind.kind.name()), &kind.to_completion);
    }

    let canvas = element(page, "id=\"canvas\"");
    assert_eq!(canvas.number("data-spans") as usize, report.timeline.spans.len());
    assert_eq!(canvas.number("data-messages") as usize, report.timeline.messages.len());
    assert_eq!(canvas.number("data-lines"), report.totals.operations, "all of it is in view");
    assert!(element(page, "id=\"left-out\"").text("</ul>").contains("Nothing"));
    assert!(page.contains("<section id=\"activity\" aria-labelledby=\"activity-title\" hidden"), "the time line shows all");
}

#[test]
fn the_page_says_what_it_leaves_out() {
    let Some(browser) = browser() else { return };
    let report = support::job(4100, 3, Limits { records_max: 5000, ranks_max: 1000, ..Limits::default() });
    let document = shown(browser, &report, "large");
    assert!(document.contains("data-drawn=\"true\""), "the script came to its end");
    let page = visible(&document);
    let left_out = [
        ("ranks", report.ranks.left_out),
        ("links", report.links.left_out),
        ("spans", report.timeline.spans_left_out),
        ("messages", report.timeline.messages_left_out),
    ];
    for (what, count) in left_out {
        assert!(count > 0, "{what}");
        assert_eq!(element(page, &format!("data-left-out=\"{what}\"")).number("data-count"), count, "{what}");
    }
    assert_eq!(elements(page, "<tr data-rank=").count(), 4096);
    assert_eq!(elements(page, "<tr data-link=").count(), 50);
    let map = element(page, "id=\"activity-map\"");
    let rows = report.activity.operations.len() as u64 / u64::from(report.activity.columns);
    assert_eq!((map.number("data-rows"), map.number("data-columns")), (rows, report.activity.columns.into()));
    let kind = map.attribute("data-kind");
    let most = if kind == "computing" {
        u64::from(report.activity.computing_ppm.iter().copied().max().unwrap())
    } else {
        report.activity.operations.iter().copied().max().unwrap()
    };
    assert!(most > 0 && map.number("data-most") == most, "{most} of {kind}");
    let quantiles = report.ranks.waiting;
    for (name, value) in [("median_ps", quantiles.median_ps), ("p99_ps", quantiles.p99_ps)] {
        let mark = format!("data-quantile=\"waiting-{name}\"");
        let shown = element(page, &mark);
        assert_eq!((shown.number("data-ps"), shown.text("</dd>")), (value, time(value)), "{name}");
    }
    let note = element(page, "id=\"timeline-note\"").text("</p>");
    let until = time(report.timeline.complete_until_ps.unwrap());
    assert_eq!(
        note,
        format!("It shows the first 1,000 ranks. It is complete until {until}; from there on, hatched, parts are missing.")
    );
}

#[test]
fn a_job_in_which_nothing_happened_has_a_page() {
    let Some(browser) = browser() else { return };
    let report = pelago_report::Recorder::new(Limits::default()).finish(pelago_report::Facts::default());
    let document = shown(browser, &report, "empty");
    assert!(document.contains("data-drawn=\"true\""), "the script came to its end");
    assert_eq!(element(visible(&document), "id=\"end-time\"").text("</dd>"), "0 ps");
}
