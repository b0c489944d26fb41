//! Rows as text: columns of fixed width, so that each row can be printed as soon as it is available.

use crate::Row;

/// Returns the heading of the columns.
pub(crate) fn head() -> String {
    columns(["", "", "ranks", "by", "median", "best", "rate", "raw limit", "", "ratio"].map(String::from))
}

/// Formats one result.
pub(crate) fn line(row: &Row) -> String {
    let time = |nanoseconds: Option<f64>| nanoseconds.map(nanoseconds_text).unwrap_or_default();
    let memory = |bytes: Option<u64>| bytes.map(bytes_text).unwrap_or_default();
    let what = match (row.plane.as_ref().or(row.condition.as_ref()), row.bytes) {
        (Some(name), _) => name.clone(),
        (None, bytes) => memory(bytes),
    };
    let rate = match (row.operations_per_second, row.gigabytes_per_second) {
        (Some(rate), _) => format!("{} M/s", digits(rate / 1e6)),
        (None, Some(rate)) if rate < 0.1 => format!("{} MB/s", digits(rate * 1e3)),
        (None, Some(rate)) => format!("{} GB/s", digits(rate)),
        _ => row.p99_ns.map(|p99| format!("99 %: {}", nanoseconds_text(p99))).unwrap_or_default(),
    };
    columns([
        row.name.clone(),
        what,
        row.ranks.to_string(),
        row.transport.clone(),
        row.private_bytes.map_or(time(row.median_ns), bytes_text),
        time(row.min_ns),
        rate,
        row.raw_bytes.map_or(time(row.raw_ns), bytes_text),
        row.raw_name.clone().unwrap_or_default(),
        row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
    ])
}

/// Returns the heading for results next to those of another library.
pub(crate) fn head_beside() -> String {
    columns_beside(["", "", "ranks", "by", "pelago", "peer", "", "peer / pelago"].map(String::from))
}

/// Formats one result next to that of another library.
pub(crate) fn line_beside(row: &Row) -> String {
    columns_beside([
        row.name.clone(),
        row.bytes.map(bytes_text).unwrap_or_default(),
        row.ranks.to_string(),
        row.transport.clone(),
        row.median_ns.map(nanoseconds_text).unwrap_or_default(),
        row.peer_ns.map(nanoseconds_text).unwrap_or_default(),
        row.peer_name.clone().unwrap_or_default(),
        row.peer_ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
    ])
}

fn columns_beside(cells: [String; 8]) -> String {
    let [name, what, ranks, by, pelago, peer, peer_name, ratio] = cells;
    let line = format!("{name:16}{what:>8}{ranks:>7}{by:>5}{pelago:>11}{peer:>11} {peer_name:9}{ratio:>14}");
    line.trim_end().to_owned() + "\n"
}

/// Formats a number of bytes with its unit, without a fraction if the value is whole, else with one decimal.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let unit = (bytes.max(1).ilog2() / 10).min(4);
    let name = ["B", "KiB", "MiB", "GiB", "TiB"][unit as usize];
    let whole = 1_u64 << (10 * unit);
    if bytes.is_multiple_of(whole) {
        format!("{} {name}", bytes / whole)
    } else {
        format!("{:.1} {name}", bytes as f64 / whole as f64)
    }
}

/// Formats a time with three significant digits.
pub(crate) fn nanoseconds_text(nanoseconds: f64) -> String {
    let (scale, unit) = match nanoseconds {
        ..1e3 => (1.0, "ns"),
        1e3..1e6 => (1e3, "µs"),
        1e6..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", digits(nanoseconds / scale))
}

/// Formats a number with three significant digits.
fn digits(value: f64) -> String {
    match value.abs() {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn columns(cells: [String; 10]) -> String {
    let [name, what, ranks, by, median, best, rate, raw, raw_name, ratio] = cells;
    let line = format!("{name:32}{what:>8}{ranks:>7}{by:>5}{median:>10}{best:>10}{rate:>14}{raw:>11} {raw_name:11}{ratio:>6}");
    line.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::catalogue::BENCHMARKS;

    #[test]
    fn units_suit() {
        assert_eq!([8, 1536, 1 << 20].map(bytes_text), ["8 B", "1.5 KiB", "1 MiB"]);
        assert_eq!([1.234, 56.78, 1234.0, 2.5e7].map(nanoseconds_text), ["1.23 ns", "56.8 ns", "1.23 µs", "25.0 ms"]);
    }

    #[test]
    fn columns_are_aligned() {
        let row = Row {
            name: "put".into(),
            transport: "shm".into(),
            ranks: 2,
            bytes: Some(1 << 16),
            median_ns: Some(4700.0),
            min_ns: Some(4600.0),
            gigabytes_per_second: Some(13.9),
            raw_name: Some("memcpy".into()),
            raw_ns: Some(4650.0),
            ratio: Some(1.01),
            ..Row::default()
        };
        let (head, line) = (head(), line(&row));
        assert_eq!(
            line,
            "put                               64 KiB      2  shm   4.70 µs   4.60 µs     13.9 GB/s    4.65 µs memcpy       1.01\n"
        );
        assert_eq!(head.chars().count(), line.chars().count());
    }

    #[test]
    fn results_beside_a_peer_are_aligned() {
        let row = Row { name: "fetch_add".into(), transport: "shm".into(), ranks: 2, bytes: Some(8), ..Row::default() };
        let row =
            Row { median_ns: Some(5.2), peer_name: Some("openmpi".into()), peer_ns: Some(52.0), peer_ratio: Some(10.0), ..row };
        let line = line_beside(&row);
        assert_eq!(line, "fetch_add            8 B      2  shm    5.20 ns    52.0 ns openmpi           10.00\n");
        assert_eq!(line.chars().count(), head_beside().chars().count());
    }

    #[test]
    fn the_longest_name_and_the_slowest_operations_fit() {
        let name = BENCHMARKS.iter().map(|benchmark| benchmark.name).max_by_key(|name| name.len()).unwrap();
        let row = Row { name: name.into(), transport: "udp".into(), p99_ns: Some(85e3), ..Row::default() };
        let row = Row { bytes: Some(8), ranks: 2, median_ns: Some(31e3), ratio: Some(1.0), ..row };
        assert!(line(&row).contains(&format!("{name} ")) && line(&row).contains(" 99 %: 85.0 µs"));
        assert_eq!(line(&row).chars().count(), head().chars().count());
    }

    #[test]
    fn a_low_bandwidth_keeps_its_digits() {
        let row = Row { gigabytes_per_second: Some(0.000_321), ..Row::default() };
        assert!(line(&row).contains(" 0.32 MB/s"));
    }

    #[test]
    fn memory_stands_where_time_does() {
        let row = Row { name: "memory".into(), private_bytes: Some(1 << 20), raw_bytes: Some(1 << 19), ..Row::default() };
        assert!(line(&row).contains("1 MiB") && line(&row).contains("512 KiB"));
    }
}
