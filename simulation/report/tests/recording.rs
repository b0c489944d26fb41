//! Tests that the events given to a recorder appear in its report, in each form.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use pelago_base::{Duration, Instant, Rank};
use pelago_report::{
    Distribution, Facts, Limits, LinkUse, MessageSpan, OperationKind, RankActivity, RankSpan, ReadError, Recorder, Report,
    StopReason,
};
use proptest::prelude::*;
use serde_json::Value;
use support::{Happening, job};

fn at(ps: u64) -> Instant {
    Instant::from_picoseconds(ps)
}

fn facts(ranks: u32, end: u64) -> Facts {
    Facts { program: "p".into(), ranks, nodes: ranks.div_ceil(2), per_node: 2, end: at(end), ..Facts::default() }
}

/// Two ranks: one computes for 100 ps and puts 8 bytes, for which the other waits.
fn small() -> Report {
    let (zero, one) = (Rank::new(0), Rank::new(1));
    let mut recorder = Recorder::new(Limits::default());
    recorder.resumed(zero, at(0));
    recorder.stopped(zero, at(0), StopReason::Computing);
    recorder.resumed(one, at(0));
    recorder.stopped(one, at(0), StopReason::Waiting);
    recorder.resumed(zero, at(100));
    recorder.posted(0, OperationKind::Put, zero, one, 8, at(100));
    recorder.stopped(zero, at(100), StopReason::Waiting);
    recorder.effective(0, at(1_500_300));
    recorder.resumed(one, at(1_500_300));
    recorder.stopped(one, at(1_500_300), StopReason::Ended);
    recorder.completed(0, false, at(2_000_100));
    recorder.resumed(zero, at(2_000_100));
    recorder.posted(0, OperationKind::Atomic, zero, one, 4, at(2_000_100));
    recorder.stopped(zero, at(2_000_100), StopReason::Waiting);
    let busy = Duration::from_picoseconds(1_000_000);
    let links = vec![LinkUse { from: "a".into(), to: "b".into(), bytes: 38, busy, longest_queue: 1 }];
    recorder.finish(Facts { links, ..facts(2, 2_500_000) })
}

#[test]
fn a_small_job_has_the_sums_that_are_counted_by_hand() {
    let report = small();
    let rows: Vec<_> = report.ranks.rows.iter().map(|row| (row.computing_ps, row.waiting_ps, row.ended_ps)).collect();
    assert_eq!(rows, [(100, 2_499_900, None), (0, 1_500_300, Some(1_500_300))]);
    let posted: Vec<_> = report.ranks.rows.iter().map(|row| (row.operations, row.bytes, row.failed)).collect();
    assert_eq!(posted, [(2, 12, 0), (0, 0, 0)]);
    let totals = report.totals;
    assert_eq!((totals.operations, totals.operations_bytes, totals.operations_under_way_max), (2, 12, 1));
    assert_eq!((totals.operations_failed, totals.operations_unfinished), (0, 1));
    let [put, atomic] = report.latencies.as_slice() else { panic!("two kinds occurred") };
    assert_eq!((put.kind, put.to_effect.max_ps, put.to_completion.max_ps), (OperationKind::Put, 1_500_200, 2_000_000));
    assert_eq!((atomic.kind, atomic.unfinished, &atomic.to_effect), (OperationKind::Atomic, 1, &Distribution::default()));
    assert_eq!(report.links.busiest[0].utilization_ppm, 400_000);
    let span = |rank, state, from_ps, to_ps| RankSpan { rank, state, from_ps, to_ps };
    let spans = [
        span(0, RankActivity::Computing, 0, 100),
        span(1, RankActivity::Waiting, 0, 1_500_300),
        span(0, RankActivity::Waiting, 100, 2_000_100),
        span(0, RankActivity::Waiting, 2_000_100, 2_500_000),
    ];
    assert_eq!(report.timeline.spans, spans);
}

#[test]
fn a_job_of_which_nothing_was_heard_has_its_ranks() {
    let report = Recorder::new(Limits::default()).finish(facts(3, 50));
    assert_eq!((report.ranks.count, report.ranks.unfinished, report.totals.operations), (3, 3, 0));
    assert_eq!(report.timeline.ranks, 3);
}

/// A wish for the next event; the rank and the message depend on what is possible then.
#[derive(Clone, Debug)]
enum Wish {
    Resume(u32),
    Stop(u32, StopReason),
    Post(u32, u32, OperationKind, u64),
    Effect(usize),
    Complete(usize, bool),
}

const RANKS: u32 = 5;

fn wish() -> impl Strategy<Value = (u64, Wish)> {
    let why = prop_oneof![Just(StopReason::Waiting), Just(StopReason::Computing)];
    let kind = prop::sample::select(OperationKind::ALL.to_vec());
    let wish = prop_oneof![
        (0..RANKS).prop_map(Wish::Resume),
        (0..RANKS, why).prop_map(|(rank, why)| Wish::Stop(rank, why)),
        (0..RANKS, 0..RANKS, kind, 0..9000u64).prop_map(|(from, to, kind, bytes)| Wish::Post(from, to, kind, bytes)),
        (0..64usize).prop_map(Wish::Effect),
        (0..64usize, prop::bool::weighted(0.2)).prop_map(|(index, failed)| Wish::Complete(index, failed)),
    ];
    (prop_oneof![Just(0), 1..50u64, 1..5_000_000u64], wish)
}

/// Turns wishes into events, as far as they are possible; a message gets the lowest free number.
fn happenings(wishes: Vec<(u64, Wish)>) -> Vec<(u64, Happening)> {
    let (mut now, mut under_way, mut happened) = (0, BTreeSet::<u32>::new(), Vec::new());
    for (later, wish) in wishes {
        now += later;
        let chosen = |index: usize| under_way.iter().copied().nth(index % under_way.len().max(1));
        let happening = match wish {
            Wish::Resume(rank) => Some(Happening::Resume(Rank::new(rank))),
            Wish::Stop(rank, why) => Some(Happening::Stop(Rank::new(rank), why)),
            Wish::Post(from, to, kind, bytes) => {
                let number = (0..).find(|number| !under_way.contains(number)).unwrap();
                under_way.insert(number);
                Some(Happening::Post(number, kind, Rank::new(from), Rank::new(to), bytes))
            }
            Wish::Effect(index) => chosen(index).map(Happening::Effect),
            Wish::Complete(index, failed) => chosen(index).map(|number| {
                under_way.remove(&number);
                Happening::Complete(number, failed)
            }),
        };
        happened.extend(happening.map(|happening| (now, happening)));
    }
    happened
}

fn record(happenings: &[(u64, Happening)], limits: Limits, end: u64) -> Report {
    let mut recorder = Recorder::new(limits);
    happenings.iter().for_each(|(now, happening)| happening.tell(&mut recorder, at(*now)));
    recorder.finish(facts(RANKS, end))
}

/// Returns the computing and waiting times of a rank, computed anew from all events.
fn times(happenings: &[(u64, Happening)], rank: u32, end: u64) -> (u64, u64) {
    let rank = Rank::new(rank);
    let changes: Vec<(u64, StopReason)> = happenings
        .iter()
        .filter_map(|(now, happening)| match happening {
            Happening::Resume(who) if *who == rank => Some((*now, StopReason::Computing)),
            Happening::Stop(who, why) if *who == rank => Some((*now, *why)),
            _ => None,
        })
        .collect();
    let next = changes.iter().skip(1).map(|(now, _)| *now).chain([end]);
    let lengths = changes.iter().zip(next).map(|((from, why), to)| (*why, to - from));
    let sum = |wanted: StopReason| lengths.clone().filter(|(why, _)| *why == wanted).map(|(_, length)| length).sum();
    (sum(StopReason::Computing), sum(StopReason::Waiting))
}

/// Returns every message with its outcome, in the order of posting.
fn messages(happenings: &[(u64, Happening)]) -> Vec<MessageSpan> {
    let posts = happenings.iter().enumerate().filter_map(|(index, (now, happening))| match *happening {
        Happening::Post(number, kind, from, to, bytes) => {
            let later = happenings[index + 1..].iter();
            let own = later.take_while(|(_, other)| !matches!(other, Happening::Post(again, ..) if *again == number));
            let effect = own.clone().find(|(_, other)| matches!(other, Happening::Effect(who) if *who == number));
            let end = own.clone().find_map(|(then, other)| match other {
                Happening::Complete(who, failed) if *who == number => Some((*then, *failed)),
                _ => None,
            });
            Some(MessageSpan {
                kind,
                from: from.number(),
                to: to.number(),
                bytes,
                posted_ps: *now,
                effective_ps: effect.map(|(then, _)| *then),
                completed_ps: end.map(|(then, _)| then),
                failed: end.is_some_and(|(_, failed)| failed),
            })
        }
        _ => None,
    });
    posts.collect()
}

/// Returns the number of lengths, their mean and their maximum.
fn summary(lengths: impl Iterator<Item = u64>) -> (u64, u64, u64) {
    let lengths: Vec<u64> = lengths.collect();
    let mean = lengths.iter().sum::<u64>().checked_div(lengths.len() as u64);
    (lengths.len() as u64, mean.unwrap_or(0), lengths.iter().copied().max().unwrap_or(0))
}

proptest! {
    #[test]
    fn totals_are_those_of_an_oracle(wishes in prop::collection::vec(wish(), 0..250), tail in 0..1000u64) {
        let happenings = happenings(wishes);
        let end = happenings.last().map_or(0, |(now, _)| *now) + tail;
        let report = record(&happenings, Limits::default(), end);
        let messages = messages(&happenings);
        prop_assert_eq!(&report.timeline.messages, &messages);
        prop_assert!(report.timeline.spans.is_sorted_by_key(|span| (span.from_ps, span.rank)));
        for row in &report.ranks.rows {
            prop_assert_eq!((row.computing_ps, row.waiting_ps), times(&happenings, row.rank, end), "rank {}", row.rank);
            let own: Vec<&MessageSpan> = messages.iter().filter(|message| message.from == row.rank).collect();
            prop_assert_eq!(row.operations, own.len() as u64);
            prop_assert_eq!(row.bytes, own.iter().map(|message| message.bytes).sum::<u64>());
            prop_assert_eq!(row.failed, own.iter().filter(|message| message.failed).count() as u64);
            let spans = report.timeline.spans.iter().filter(|span| span.rank == row.rank);
            let length = |state| {
                let own = spans.clone().filter(|span| span.state == state);
                own.map(|span| span.to_ps - span.from_ps).sum::<u64>()
            };
            prop_assert_eq!((length(RankActivity::Computing), length(RankActivity::Waiting)), (row.computing_ps, row.waiting_ps));
            let ends = spans.clone().map(|span| span.to_ps);
            prop_assert!(spans.clone().skip(1).zip(ends).all(|(next, end)| next.from_ps >= end), "spans do not overlap");
        }
        prop_assert_eq!(report.ranks.computing.max_ps, (0..RANKS).map(|rank| times(&happenings, rank, end).0).max().unwrap());
        for kind in OperationKind::ALL {
            let own: Vec<&MessageSpan> = messages.iter().filter(|message| message.kind == kind).collect();
            let Some(entry) = report.latencies.iter().find(|entry| entry.kind == kind) else {
                prop_assert!(own.is_empty());
                continue;
            };
            prop_assert_eq!((entry.operations, entry.bytes), (own.len() as u64, own.iter().map(|message| message.bytes).sum()));
            prop_assert_eq!(entry.unfinished, own.iter().filter(|message| message.completed_ps.is_none()).count() as u64);
            let effects = summary(own.iter().filter_map(|message| Some(message.effective_ps? - message.posted_ps)));
            let completed = own.iter().filter(|message| !message.failed);
            let completions = summary(completed.filter_map(|message| Some(message.completed_ps? - message.posted_ps)));
            let found = |of: &Distribution| (of.count, of.mean_ps, of.max_ps);
            prop_assert_eq!((found(&entry.to_effect), found(&entry.to_completion)), (effects, completions));
        }
        let under_way = happenings.iter().scan(0, |count, (_, happening)| {
            *count += i64::from(matches!(happening, Happening::Post(..)));
            *count -= i64::from(matches!(happening, Happening::Complete(..)));
            Some(*count as u64)
        });
        prop_assert_eq!(report.totals.operations_under_way_max, under_way.max().unwrap_or(0));
        prop_assert_eq!(report.totals.operations_failed, messages.iter().filter(|message| message.failed).count() as u64);
    }

    #[test]
    fn limits_leave_out_and_count(
        wishes in prop::collection::vec(wish(), 0..250),
        records_max in 0..20usize,
        ranks_max in 0..7u32,
    ) {
        let happenings = happenings(wishes);
        let end = happenings.last().map_or(0, |(now, _)| *now) + 10;
        let all = record(&happenings, Limits::default(), end);
        let few = record(&happenings, Limits { records_max, ranks_max, ..Limits::default() }, end);
        prop_assert_eq!((&few.totals, &few.ranks, &few.latencies), (&all.totals, &all.ranks, &all.latencies));
        let (all, few) = (all.timeline, few.timeline);
        prop_assert!(few.spans.len() <= records_max && few.messages.len() <= records_max);
        prop_assert_eq!(few.spans.len() as u64 + few.spans_left_out, all.spans.len() as u64);
        prop_assert_eq!(few.messages.len() as u64 + few.messages_left_out, all.messages.len() as u64);
        prop_assert_eq!(few.ranks, ranks_max.min(RANKS));
        let shown = |message: &&MessageSpan| message.from < ranks_max && message.to < ranks_max;
        let before = |ps| few.complete_until_ps.is_none_or(|until| ps < until);
        let expected: Vec<&RankSpan> = all.spans.iter().filter(|span| span.rank < ranks_max && before(span.from_ps)).collect();
        prop_assert_eq!(few.spans.iter().filter(|span| before(span.from_ps)).collect::<Vec<_>>(), expected);
        let expected: Vec<&MessageSpan> = all.messages.iter().filter(shown).take(records_max).collect();
        prop_assert_eq!(few.messages.iter().collect::<Vec<_>>(), expected);
        let missing = all.messages.iter().filter(shown).nth(records_max);
        prop_assert!(missing.is_none_or(|message| !before(message.posted_ps)));
    }
}

#[test]
fn a_report_survives_its_json() {
    for report in
        [small(), job(20, 5, Limits::default()), job(5000, 1, Limits { records_max: 100, ranks_max: 50, ..Limits::default() })]
    {
        let json = report.to_json();
        assert_eq!(json.lines().count(), 1);
        assert_eq!(Report::from_json(&json).unwrap(), report);
    }
}

#[test]
fn json_has_the_names_that_others_read() {
    let report: Value = serde_json::from_str(&small().to_json()).unwrap();
    assert_eq!(report["format"], 1);
    assert_eq!((&report["job"]["end_ps"], &report["job"]["fault"]), (&2_500_000.into(), &Value::Null));
    assert_eq!(report["ranks"]["rows"][0]["waiting_ps"], 2_499_900);
    assert_eq!(report["latencies"][0]["kind"], "put");
    assert_eq!(report["latencies"][0]["to_completion"]["histogram"][0]["count"], 1);
    assert_eq!(report["links"]["busiest"][0]["busy_ps"], 1_000_000);
    assert_eq!(report["timeline"]["spans"][0], serde_json::json!([0, "computing", 0, 100]));
    let message = serde_json::json!(["atomic", 0, 1, 4, 2_000_100, null, null, false]);
    assert_eq!(report["timeline"]["messages"][1], message);
}

#[test]
fn what_is_no_report_is_refused_in_one_line() {
    let cut = small().to_json().replace("\"totals\"", "\"sums\"");
    for text in ["", "[]", "{\"format\":\"1\"}", &cut] {
        let error = Report::from_json(text).unwrap_err();
        assert!(matches!(error, ReadError::Json(_)) && error.to_string().lines().count() == 1, "{error}");
    }
    let other = small().to_json().replace("{\"format\":1,", "{\"format\":9,");
    assert!(matches!(Report::from_json(&other), Err(ReadError::Format { found: 9 })));
}

#[test]
fn the_same_job_gives_the_same_bytes() {
    let forms = || {
        let report = job(64, 8, Limits { records_max: 300, ranks_max: 40, ..Limits::default() });
        (report.to_json(), report.to_html(), trace(&report))
    };
    assert!(forms() == forms());
}

fn trace(report: &Report) -> String {
    let mut bytes = Vec::new();
    report.trace(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn events(report: &Report) -> Vec<Value> {
    let trace: Value = serde_json::from_str(&trace(report)).expect("a trace is JSON");
    trace["traceEvents"].as_array().expect("it has events").clone()
}

fn of<'a>(events: &'a [Value], phase: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["ph"] == phase)
}

#[test]
fn the_trace_of_a_small_job_is_this() {
    let expected = r#"{"displayTimeUnit":"ns","otherData":OTHER,"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"node 0"}},
{"ph":"M","name":"process_sort_index","pid":1,"tid":1,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"rank 0"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"rank 1"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":1}},
{"ph":"X","cat":"rank","name":"computing","pid":1,"tid":1,"ts":0.000000,"dur":0.000100},
{"ph":"X","cat":"rank","name":"waiting","pid":1,"tid":2,"ts":0.000000,"dur":1.500300},
{"ph":"X","cat":"rank","name":"waiting","pid":1,"tid":1,"ts":0.000100,"dur":2.000000},
{"ph":"X","cat":"rank","name":"waiting","pid":1,"tid":1,"ts":2.000100,"dur":0.499900},
{"ph":"X","cat":"post","name":"put","pid":1,"tid":1,"ts":0.000100,"dur":0,"args":PUT},
{"ph":"s","cat":"message","name":"put","id":1,"pid":1,"tid":1,"ts":0.000100,"args":{"kind":"put","bytes":8}},
{"ph":"X","cat":"effect","name":"put effect","pid":1,"tid":2,"ts":1.500300,"dur":0,"args":PUT},
{"ph":"f","bp":"e","cat":"message","name":"put","id":1,"pid":1,"tid":2,"ts":1.500300},
{"ph":"X","cat":"post","name":"atomic","pid":1,"tid":1,"ts":2.000100,"dur":0,"args":ATOMIC},
{"ph":"M","name":"process_name","pid":3,"args":{"name":"job"}},
{"ph":"C","name":"messages under way","pid":3,"ts":0.000100,"args":{"messages":1}},
{"ph":"C","name":"messages under way","pid":3,"ts":2.000100,"args":{"messages":1}}
]}
"#
    .replace("OTHER", r#"{"program":"p","machine":"","spans_left_out":0,"messages_left_out":0}"#)
    .replace("PUT", r#"{"bytes":8,"from":0,"to":1,"failed":false}"#)
    .replace("ATOMIC", r#"{"bytes":4,"from":0,"to":1,"failed":false}"#);
    assert_eq!(trace(&small()), expected);
}

#[test]
fn flows_pair_up_and_rows_are_ranks_of_nodes() {
    let report = job(33, 6, Limits::default());
    let events = events(&report);
    let ends = |phase| -> BTreeMap<u64, &Value> { of(&events, phase).map(|flow| (flow["id"].as_u64().unwrap(), flow)).collect() };
    let (starts, finishes) = (ends("s"), ends("f"));
    let effective: Vec<&MessageSpan> = report.timeline.messages.iter().filter(|message| message.effective_ps.is_some()).collect();
    assert_eq!(
        (starts.len(), of(&events, "s").count(), of(&events, "f").count()),
        (effective.len(), effective.len(), effective.len())
    );
    assert!(starts.keys().eq(finishes.keys()));
    for ((start, finish), message) in starts.values().zip(finishes.values()).zip(effective) {
        let row = |rank: u32| (Value::from(rank - rank % 2 + 1), Value::from(rank + 1));
        assert_eq!((start["pid"].clone(), start["tid"].clone()), row(message.from));
        assert_eq!((finish["pid"].clone(), finish["tid"].clone()), row(message.to));
        assert_eq!((&start["args"]["kind"], &start["args"]["bytes"]), (&message.kind.name().into(), &message.bytes.into()));
        assert_eq!(start["ts"].as_f64().unwrap(), message.posted_ps as f64 / 1e6);
        assert_eq!(finish["ts"].as_f64().unwrap(), message.effective_ps.unwrap() as f64 / 1e6);
    }
    let named = |name: &str| of(&events, "M").filter(|event| event["name"] == name).count();
    assert_eq!((named("process_name"), named("thread_name")), (17 + 1, 33));
    assert_eq!(of(&events, "X").filter(|event| event["cat"] == "rank").count(), report.timeline.spans.len());
}

#[test]
fn the_counter_follows_the_messages() {
    let report = job(9, 7, Limits::default());
    let events = events(&report);
    let counters: Vec<(f64, u64)> =
        of(&events, "C").map(|event| (event["ts"].as_f64().unwrap(), event["args"]["messages"].as_u64().unwrap())).collect();
    assert!(counters.is_sorted_by(|before, after| before.0 < after.0));
    for (now, count) in counters.iter().copied() {
        let passed = |ps: u64| ps as f64 / 1e6 <= now;
        let under_way = |message: &&MessageSpan| passed(message.posted_ps) && !message.completed_ps.is_some_and(passed);
        assert_eq!(count, report.timeline.messages.iter().filter(under_way).count() as u64);
    }
    assert_eq!(counters.last().unwrap().1, report.totals.operations_unfinished);
}

#[test]
fn the_trace_says_what_is_left_out() {
    let report = job(64, 4, Limits { records_max: 50, ranks_max: 20, ..Limits::default() });
    let whole: Value = serde_json::from_str(&trace(&report)).unwrap();
    assert_eq!(whole["otherData"]["spans_left_out"], report.timeline.spans_left_out);
    assert_eq!(whole["otherData"]["messages_left_out"], report.timeline.messages_left_out);
    let events = events(&report);
    assert!(of(&events, "C").all(|event| event["name"] == "messages under way, of those kept"));
    assert_eq!(events.iter().filter(|event| event["name"] == "thread_name").count(), 20);
}

#[test]
fn a_sample_has_what_the_whole_has_of_its_ranks_and_its_time() {
    let whole = job(5000, 2, Limits { ranks_max: 5000, ..Limits::default() });
    let (from, until) = (5_500_000, 8_000_000);
    let sampled = |text: &str| job(5000, 2, Limits { sample: text.parse().unwrap(), ..Limits::default() });
    let report = sampled("4990,4992-4995@5500ns-8us");
    let is_sampled = |rank: u32| rank == 4990 || (4992..=4995).contains(&rank);
    let spans: Vec<RankSpan> = whole
        .timeline
        .spans
        .iter()
        .filter(|span| is_sampled(span.rank))
        .map(|span| RankSpan { from_ps: span.from_ps.max(from), to_ps: span.to_ps.min(until), ..*span })
        .filter(|span| span.from_ps < span.to_ps)
        .collect();
    let in_order = |spans: &[RankSpan]| {
        let mut spans = spans.to_vec();
        spans.sort_by_key(|span| (span.from_ps, span.rank, span.to_ps));
        spans
    };
    assert_eq!(report.timeline.spans, in_order(&spans));
    let is_in = |message: &&MessageSpan| {
        (from..until).contains(&message.posted_ps) && (is_sampled(message.from) || is_sampled(message.to))
    };
    let messages: Vec<MessageSpan> = whole.timeline.messages.iter().filter(is_in).copied().collect();
    assert!(!messages.is_empty() && !spans.is_empty());
    assert_eq!(report.timeline.messages, messages);
    assert_eq!(report.totals, whole.totals, "the rest of the report is of the whole job");
    let left_out = whole.timeline.spans.len() + whole.timeline.messages.len() - spans.len() - messages.len();
    assert_eq!(report.timeline.spans_left_out + report.timeline.messages_left_out, left_out as u64);
    // Only rows with records, each in its node.
    let shown: Value = serde_json::from_str(&trace(&report)).unwrap();
    assert_eq!(shown["otherData"]["sample"], "4990,4992-4995@5500000ps-8000000ps");
    let ends = messages.iter().flat_map(|message| [message.from, message.to]);
    let rows: BTreeSet<u32> = spans.iter().map(|span| span.rank).chain(ends).collect();
    let events = events(&report);
    let named = |what: &str| events.iter().filter(|event| event["name"] == what).count();
    let nodes: BTreeSet<u32> = rows.iter().map(|rank| rank / 2).collect();
    assert_eq!((named("thread_name"), named("process_name")), (rows.len(), nodes.len() + 1), "and the row of the job");
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    // A sample of the time alone contains the first ranks, as the whole time does.
    let early = sampled("all@0s-1us").timeline;
    assert!(early.spans.iter().all(|span| span.rank < 4096 && span.to_ps <= 1_000_000) && early.spans.len() == 4096);
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(small().trace(&mut Full).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn the_page_needs_nothing_else_and_nothing_breaks_out_of_it() {
    let mut report = job(4, 2, Limits::default());
    report.job.program = "</script><script>alert(1)</script><!-- {{style}} {{data}}".into();
    let page = report.to_html();
    assert_eq!(page.matches("</script").count(), 2, "the report and the script end once each");
    assert!(!page.contains("alert(1)</") && !page.contains("<!--"));
    for reference in ["http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "import("] {
        assert!(!page.contains(reference), "{reference}");
    }
    let data = page.split("id=\"report\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert_eq!(Report::from_json(data).unwrap(), report);
}

#[test]
fn a_page_has_the_first_records_only() {
    let mut report = job(2, 1, Limits::default());
    let span = |from_ps| RankSpan { rank: 0, state: RankActivity::Waiting, from_ps, to_ps: from_ps + 1 };
    report.timeline.spans = (0..60_000).map(span).collect();
    let page = report.to_html();
    let data = page.split("id=\"report\">").nth(1).unwrap().split("</script>").next().unwrap();
    let shown = Report::from_json(data).unwrap().timeline;
    assert_eq!((shown.spans.len(), shown.spans_left_out), (50_000, 10_000));
    assert_eq!((shown.complete_until_ps, shown.spans.last()), (Some(50_000), Some(&span(49_999))));
}
