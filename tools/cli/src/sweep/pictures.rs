//! Plots of a table: one column over another, with a curve for each combination of the other columns.

use std::collections::BTreeMap;

use pelago_bench::{CURVES_MAX, Curve, curves_of_numbers};
use serde_json::Value;

use super::table::{Table, number};
use crate::statistics::median;

/// Maximum number of pictures of a sweep; the table contains all results.
pub(crate) const SWEEP_PICTURES_MAX: usize = 20;

/// Plots `measure` over the column `along`, or over the first column with several numbers; returns a file name and SVG for each picture. Each
/// point is the median of the runs that differ only in the seed, without those that failed.
///
/// # Errors
/// There is nothing to plot; the message is the reason.
pub(crate) fn pictures(table: &Table, measure: &str, along: Option<&str>) -> Result<Vec<(String, String)>, String> {
    let y = table.column(measure).ok_or_else(|| format!("there is no column {measure}"))?;
    let varied: Vec<usize> = table.varied().into_iter().filter(|&column| table.columns[column] != "seed").collect();
    let are_numbers = |&column: &usize| table.rows.iter().all(|row| number(&row[column]).is_some_and(|number| number > 0.0));
    let ranks_first = table.column("ranks").filter(|ranks| varied.contains(ranks)).into_iter().chain(varied.iter().copied());
    let x = match along {
        Some(name) => table.column(name).filter(are_numbers),
        None => ranks_first.clone().find(are_numbers),
    };
    let x = x.ok_or_else(|| match along {
        Some(name) => format!("{name} is not a positive number in every row"),
        None => "no column has several positive numbers".into(),
    })?;
    let mut curves: BTreeMap<Vec<String>, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for row in &table.rows {
        let name = varied.iter().filter(|&&column| column != x).map(|&column| {
            let title = &table.columns[column];
            match &row[column] {
                Value::String(text) if ["program", "machine"].contains(&&**title) => text.clone(),
                value => format!("{title} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            }
        });
        if let (Some(x), Some(y)) = (number(&row[x]), table.figure(row, y).filter(|&y| y > 0.0)) {
            // The bits of positive floating-point numbers have the order of the numbers.
            curves.entry(name.collect()).or_default().entry(x.to_bits()).or_default().push(y);
        }
    }
    curves.retain(|_, points| points.len() > 1);
    if curves.is_empty() {
        return Err(format!("{measure} has no two points over {}", table.columns[x]));
    }
    let curves: Vec<(String, Vec<(f64, f64)>)> = curves
        .into_iter()
        .map(|(name, points)| {
            let points = points.into_iter().map(|(x, values)| (f64::from_bits(x), median(values)));
            (name.join(", "), points.collect())
        })
        .collect();
    let title = format!("{measure} over {}", table.columns[x]);
    let curves: Vec<Curve> = curves.iter().map(|(name, points)| (&**name, points.clone())).collect();
    let picture =
        |(number, part): (usize, &[Curve])| (name(number), curves_of_numbers(&title, [&table.columns[x], measure], part));
    Ok(curves.chunks(CURVES_MAX).take(SWEEP_PICTURES_MAX).enumerate().map(picture).collect())
}

/// Returns the names of all pictures that a sweep may have.
pub(crate) fn names() -> impl Iterator<Item = String> {
    (0..SWEEP_PICTURES_MAX).map(name)
}

fn name(number: usize) -> String {
    if number == 0 { "plot.svg".into() } else { format!("plot-{}.svg", number + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, u32, u32, f64)]) -> Table {
        let columns = ["run", "program", "ranks", "seed", "exit", "time_us"].map(str::to_owned).into();
        let row = |&(program, ranks, seed, time): &(&str, u32, u32, f64)| {
            vec![Value::Null, program.into(), ranks.into(), seed.into(), 0.into(), super::super::table::real(time)]
        };
        Table { columns, rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn a_picture_has_a_curve_for_each_program_and_medians_of_seeds() {
        let table = table(&[
            ("a", 2, 0, 10.0),
            ("a", 2, 1, 30.0),
            ("a", 2, 2, 11.0),
            ("a", 4, 0, 20.0),
            ("b<", 2, 0, 5.0),
            ("b<", 4, 0, 6.0),
        ]);
        let pictures = pictures(&table, "time_us", None).unwrap();
        let [(name, svg)] = &pictures[..] else { panic!("{}", pictures.len()) };
        assert_eq!((&**name, svg.matches("<polyline").count()), ("plot.svg", 2));
        assert!(svg.contains(">ranks<") && svg.contains(">time_us<") && svg.contains(">b&lt;<"), "{svg}");
        let lines: Vec<&str> = svg.split("points=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect();
        assert_eq!(lines.iter().map(|points| points.split(' ').count()).collect::<Vec<_>>(), [2, 2]);
    }

    /// The time of a run that failed is the time until then.
    #[test]
    fn runs_that_failed_are_no_points() {
        let mut table = table(&[("a", 2, 0, 10.0), ("a", 4, 0, 20.0), ("a", 8, 0, 1.0), ("a", 4, 1, 1.0)]);
        let points = |table: &Table| {
            let svg = pictures(table, "time_us", None).map(|mut pictures| pictures.remove(0).1)?;
            Ok::<_, String>(svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap().to_owned())
        };
        table.rows[2][4] = 4.into();
        table.rows[3][4] = 4.into();
        let whole = super::super::table::Table { columns: table.columns.clone(), rows: table.rows[..2].to_vec() };
        assert_eq!(points(&table), points(&whole));
        table.rows[0][4] = 1.into();
        assert_eq!(points(&table), Err("time_us has no two points over ranks".into()));
    }

    #[test]
    fn a_sweep_of_one_point_has_no_picture() {
        assert_eq!(pictures(&table(&[("a", 2, 0, 1.0)]), "time_us", None), Err("no column has several positive numbers".into()));
        let two = table(&[("a", 2, 0, 1.0), ("b", 2, 0, 1.0)]);
        assert!(pictures(&two, "time_us", Some("program")).is_err_and(|why| why.starts_with("program is not a positive number")));
    }
}
