//! Completions that ranks have not fetched.

use pelago_platform::Completion;

use crate::operations::pending::{RecordLink, link};

/// CompletionTable of all ranks that have not been fetched. They are few at a time, so that ranks share one table.
#[derive(Default)]
pub(crate) struct CompletionTable {
    records: Vec<(Completion, RecordLink)>,
    free: Vec<u32>,
}

/// The completions of one rank, oldest first.
#[derive(Default)]
pub(crate) struct CompletionList {
    first: RecordLink,
    last: RecordLink,
}

impl CompletionList {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl CompletionTable {
    /// Appends a completion to the list of a rank.
    pub(crate) fn add(&mut self, of: &mut CompletionList, completion: Completion) {
        let number = self.free.pop().unwrap_or(self.records.len() as u32);
        match self.records.get_mut(number as usize) {
            Some(record) => *record = (completion, None),
            None => self.records.push((completion, None)),
        }
        match of.last {
            Some(last) => self.records[last.get() as usize - 1].1 = Some(link(number)),
            None => of.first = Some(link(number)),
        }
        of.last = Some(link(number));
    }

    /// Moves all completions of a rank to `into`; returns whether there were any.
    pub(crate) fn fetch(&mut self, of: &mut CompletionList, into: &mut Vec<Completion>) -> bool {
        let CompletionList { first: mut next, .. } = std::mem::take(of);
        let any = next.is_some();
        if any && into.capacity() == 0 {
            // Most lists have one entry.
            into.reserve_exact(1);
        }
        while let Some(number) = next {
            let completion;
            (completion, next) = self.records[number.get() as usize - 1];
            into.push(completion);
            self.free.push(number.get() - 1);
        }
        any
    }
}
