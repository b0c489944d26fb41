//! Completions that ranks have not fetched yet.

use pelago_platform::Completion;

use crate::operations::pending::{RecordLink, link};

/// Completions of all ranks that have not been fetched, in chunks from a shared pool.
#[derive(Default)]
pub(crate) struct CompletionTable {
    chunks: Vec<Chunk>,
    free: Vec<u32>,
}

/// Consecutive completions of one rank: two cache lines.
#[repr(align(64))]
struct Chunk {
    completions: [Completion; CHUNK],
    count: u32,
    next: RecordLink,
}

/// Number of completions of a full chunk.
const CHUNK: usize = 5;

const _: () = assert!(size_of::<Chunk>() == 128);

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
        if let Some(last) = of.last {
            let last = &mut self.chunks[last.get() as usize - 1];
            if let Some(place) = last.completions.get_mut(last.count as usize) {
                *place = completion;
                last.count += 1;
                return;
            }
        }
        let number = self.begin(completion);
        match of.last.replace(link(number)) {
            Some(last) => self.chunks[last.get() as usize - 1].next = Some(link(number)),
            None => of.first = Some(link(number)),
        }
    }

    /// Allocates a chunk that begins with a completion; returns its number.
    fn begin(&mut self, completion: Completion) -> u32 {
        let number = self.free.pop().unwrap_or(self.chunks.len() as u32);
        match self.chunks.get_mut(number as usize) {
            Some(chunk) => {
                chunk.completions[0] = completion;
                (chunk.count, chunk.next) = (1, None);
            }
            None => self.chunks.push(Chunk { completions: [completion; CHUNK], count: 1, next: None }),
        }
        number
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
            let chunk = &self.chunks[number.get() as usize - 1];
            into.extend_from_slice(&chunk.completions[..chunk.count as usize]);
            next = chunk.next;
            self.free.push(number.get() - 1);
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use pelago_platform::Token;

    use super::*;

    #[test]
    fn each_rank_gets_its_own_in_their_order() {
        let mut table = CompletionTable::default();
        for _ in 0..2 {
            let (mut lists, mut fetched) = ([(); 2].map(|()| CompletionList::default()), Vec::new());
            for number in 0..3 * CHUNK as u64 + 1 {
                table.add(&mut lists[number as usize % 2], Completion { token: Token(number), result: Ok(0) });
            }
            for (list, parity) in lists.iter_mut().zip(0..) {
                assert!(table.fetch(list, &mut fetched) && list.is_empty() && !table.fetch(list, &mut fetched));
                let numbers = fetched.drain(..).map(|completion| completion.token.0);
                assert!(numbers.eq((parity..3 * CHUNK as u64 + 1).step_by(2)));
            }
        }
        assert_eq!(table.chunks.len(), table.free.len(), "chunks are used again");
    }
}
