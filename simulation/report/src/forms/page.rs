//! The report as one page: markup, style and script from `templates`, with the report embedded as JSON.

use crate::limits::PAGE_RECORDS_MAX;
use crate::report::Report;

const PAGE: &str = include_str!("templates/page.html");
const STYLE: &str = include_str!("templates/page.css");
const SCRIPT: &str = include_str!("templates/page.js");

impl Report {
    /// Returns a self-contained page: a browser shows it from a file, without a network.
    ///
    /// It contains the first [`PAGE_RECORDS_MAX`] spans and messages of the time line, and states the number left out. Cost: a copy of
    /// those and their text.
    pub fn to_html(&self) -> String {
        let report = Self { timeline: self.timeline.first(PAGE_RECORDS_MAX), ..self.without_timeline() };
        // In JSON this character occurs within strings only. Escaped, it can neither end the element nor open another.
        let data = report.to_json().replace('<', "\\u003c");
        let mut page = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + data.len());
        for (index, piece) in PAGE.split("{{").enumerate() {
            let (name, rest) = if index == 0 { ("", piece) } else { piece.split_once("}}").expect("the page closes its marks") };
            page += match name {
                "style" => STYLE,
                "script" => SCRIPT,
                "data" => &data,
                _ => "",
            };
            page += rest;
        }
        page
    }

    fn without_timeline(&self) -> Self {
        let Self { format, job, totals, ranks, activity, latencies, links, .. } = self;
        Self {
            format: *format,
            job: job.clone(),
            totals: *totals,
            ranks: ranks.clone(),
            activity: activity.clone(),
            latencies: latencies.clone(),
            links: links.clone(),
            timeline: Default::default(),
        }
    }
}
