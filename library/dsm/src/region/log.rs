//! The log of changes of a region: a ring of notes at rank 0. A rank that releases appends notes; a rank that acquires reads the notes since its
//! last read.
//!
//! - **N1** A note is one word. It contains the lap of the ring in which it was written, so that a reader recognizes a note that is not written yet
//!   or was overwritten. Many notes travel in one put, of which some networks write a part of a word first. Therefore the lap is in the first and in the
//!   last byte: while they differ, a part of the note is still missing.
//! - **N2** One atomic reserves the places of notes, after the changed elements have arrived at their homes.
//! - **N3** A rank that has missed notes, because the ring has wrapped or a rank was lost before it wrote a note, treats every page as changed.
//! - **N4** A note that takes longer than a lap of the ring overwrites the note of the next lap, which then never arrives. So a rank waits for a note for
//!   a limited time, and treats every page as changed after that. This is correct at any time: the changed elements have arrived (N2).

use core::ops::Range;

use pelago_base::{Duration, Rank};
use pelago_rma::{GlobalPtr, Result, Symmetric, World};

const LAP_BITS: u32 = 8;
const LAP_MASK: u64 = (1 << LAP_BITS) - 1;

/// Maximum number of pages of a region, whatever their length.
const PAGES_MAX: usize = (1 << 26) - 2;

/// Minimum and maximum number of notes of the ring, which depends on the number of pages.
const NOTES: Range<usize> = 1 << 10..1 << 16;

/// Maximum time that a rank waits for a reserved note.
const NOTE_WITHIN: Duration = Duration::from_milliseconds(10);

/// Words before the ring: a cache line with the number of reserved notes.
const FIRST: usize = 8;

/// A change of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Elements of a page.
    Page(usize, Range<usize>),
    /// Any elements of any page.
    All,
}

/// The layout of a note, from the low bits on: its lap, the last and the first changed element, the page, and the lap again.
#[derive(Clone, Copy)]
pub(super) struct NoteLayout {
    /// Number of bits of the number of an element in its page.
    element_bits: u32,
}

impl NoteLayout {
    /// The layout for pages of `page_length` elements.
    pub(super) fn new(page_length: usize) -> Self {
        Self { element_bits: usize::BITS - page_length.saturating_sub(1).leading_zeros() }
    }

    /// Maximum number of pages of a region.
    pub(super) fn pages_max(self) -> usize {
        PAGES_MAX.min(self.all_pages() as usize - 1)
    }

    /// Page number of a note that any page may have changed.
    fn all_pages(self) -> u64 {
        (1 << (u64::BITS - 2 * LAP_BITS - 2 * self.element_bits)) - 1
    }

    /// Encodes a change as a note of a lap.
    fn word(self, change: &Change, lap: u64) -> u64 {
        let (page, first, last) = match change {
            Change::Page(page, elements) => (*page as u64, elements.start as u64, elements.end as u64 - 1),
            Change::All => (self.all_pages(), 0, 0),
        };
        let elements = (page << self.element_bits | first) << self.element_bits | last;
        lap << (u64::BITS - LAP_BITS) | elements << LAP_BITS | lap
    }

    /// Decodes a note and its lap, at both ends.
    fn of_word(self, word: u64) -> (Change, [u64; 2]) {
        let elements = word << LAP_BITS >> (2 * LAP_BITS);
        let mask = (1 << self.element_bits) - 1;
        let (last, first) = (elements & mask, elements >> self.element_bits & mask);
        let change = match elements >> (2 * self.element_bits) {
            page if page == self.all_pages() => Change::All,
            page => Change::Page(page as usize, first as usize..last as usize + 1),
        };
        (change, [word & LAP_MASK, word >> (u64::BITS - LAP_BITS)])
    }
}

/// One rank's access to the log.
pub(super) struct Log<'w> {
    world: &'w World,
    /// Address of the number of notes, which the ring follows.
    at: GlobalPtr<u64>,
    ring: usize,
    layout: NoteLayout,
    /// Number of notes up to which this rank has read.
    read: u64,
    /// Notes that this rank has written since, and need not read.
    own: Vec<Range<u64>>,
    buffer: Vec<u64>,
    sent: u64,
    seen: u64,
    _words: Symmetric<'w, u64>,
}

impl<'w> Log<'w> {
    /// Creates the log of a region of `pages` pages. Collective.
    pub(super) fn new(world: &'w World, pages: usize, layout: NoteLayout) -> Result<Self> {
        let ring = (4 * pages).next_power_of_two().clamp(NOTES.start, NOTES.end);
        let words = world.alloc(FIRST + ring)?;
        let at = words.at(Rank::new(0), 0);
        Ok(Self { world, at, ring, layout, read: 0, own: Vec::new(), buffer: Vec::new(), sent: 0, seen: 0, _words: words })
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Appends changes that have arrived at their homes.
    pub(super) fn append(&mut self, changes: &[Change]) -> Result<()> {
        let all = [Change::All];
        let changes = if changes.len() > self.ring / 4 { &all } else { changes };
        if changes.is_empty() || self.world.size() == 1 {
            return Ok(());
        }
        let count = changes.len() as u64;
        let start = self.world.fetch_add(self.at, count)?.wait()?;
        let numbered = (start..).zip(changes);
        let words: Vec<u64> = numbered.map(|(number, change)| self.layout.word(change, self.lap(number))).collect();
        let mut rest = &words[..];
        let mut puts = Vec::new();
        for place in self.places(start..start + count) {
            let (now, later) = rest.split_at(place.len());
            puts.push(self.world.put(self.at.add((FIRST + place.start) as u64), now)?);
            rest = later;
        }
        self.world.wait_all(&puts)?;
        self.remember(start..start + count);
        self.sent += count;
        Ok(())
    }

    /// Records notes of this rank. A rank that never reads keeps at most as many ranges as the ring has notes.
    fn remember(&mut self, notes: Range<u64>) {
        match self.own.last_mut() {
            Some(last) if last.end == notes.start => return last.end = notes.end,
            // Notes of others are between them, and there are more than the ring has: the next read treats every page as changed (N3).
            Some(_) if notes.end - self.read > self.ring as u64 => self.own.clear(),
            _ => {}
        }
        self.own.push(notes);
    }

    /// Reads the notes of other ranks since the last call.
    pub(super) fn follow(&mut self, mut tell: impl FnMut(Change)) -> Result<()> {
        let end = self.world.fetch(self.at)?.wait()?;
        let news = self.read..end;
        self.read = end;
        let own = std::mem::take(&mut self.own);
        let known: u64 = own.iter().map(|range| range.end - range.start).sum();
        if known == news.end - news.start {
            return Ok(());
        }
        if news.end - news.start > self.ring as u64 {
            tell(Change::All);
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize((news.end - news.start) as usize, 0);
        let mut rest = &mut buffer[..];
        for place in self.places(news.clone()) {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(place.len());
            self.world.get_into(self.at.add((FIRST + place.start) as u64), now)?;
            rest = later;
        }
        for (number, &word) in news.zip(&buffer) {
            if own.iter().any(|range| range.contains(&number)) {
                continue;
            }
            self.seen += 1;
            match self.await_note(number, word)? {
                Some(change) => tell(change),
                None => {
                    tell(Change::All);
                    break;
                }
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    /// Waits until a note is written and returns it; `None` if its writer may be lost, if it was overwritten, or if it is too late (N4).
    fn await_note(&self, number: u64, mut word: u64) -> Result<Option<Change>> {
        let (lap, before) = (self.lap(number), number.checked_sub(self.ring as u64).map_or(0, |before| self.lap(before)));
        let mut until = None;
        loop {
            let (change, [first, last]) = self.layout.of_word(word);
            if [first, last] == [lap; 2] {
                return Ok(Some(change));
            }
            let is_other = first == last && first != before;
            if is_other || self.world.losses() > 0 {
                return Ok(None);
            }
            let now = self.world.now();
            if now >= *until.get_or_insert(now + NOTE_WITHIN) {
                return Ok(None);
            }
            if let Some(fault) = self.world.fault() {
                return Err(fault.into());
            }
            self.world.progress();
            word = self.world.get(self.at.add((FIRST + number as usize % self.ring) as u64))?;
        }
    }

    /// The lap of a note; never 0, which marks fresh memory.
    fn lap(&self, number: u64) -> u64 {
        number / self.ring as u64 % LAP_MASK + 1
    }

    /// The places of notes in the ring.
    fn places(&self, numbers: Range<u64>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (start, count) = (numbers.start as usize % self.ring, (numbers.end - numbers.start) as usize);
        let first = count.min(self.ring - start);
        [start..start + first, 0..count - first].into_iter().filter(|place| !place.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use pelago_test_support::threads::{Platform, run};

    use super::*;

    #[test]
    fn a_note_is_a_word() {
        for page_length in [1, 2, 512, 513, 1 << 15] {
            let layout = NoteLayout::new(page_length);
            for (page, elements) in [(0, 0..1), (layout.pages_max(), 0..page_length), (77, page_length - 1..page_length)] {
                for lap in [1, 255] {
                    let change = Change::Page(page, elements.clone());
                    assert_eq!(layout.of_word(layout.word(&change, lap)), (change, [lap; 2]));
                }
            }
            assert_eq!(layout.of_word(layout.word(&Change::All, 3)), (Change::All, [3; 2]));
            assert_eq!(layout.of_word(0).1, [0; 2], "fresh memory is no note");
        }
    }

    /// Rank 1 writes a note of the first lap when its place was used again on the second.
    #[test]
    fn a_note_that_a_late_one_has_overwritten_is_not_waited_for() {
        let rank = Rank::new(1);
        run(Platform::Mapped, 2, |world| {
            let mut log = Log::new(world, 1, NoteLayout::new(512)).unwrap();
            let change = || Change::Page(0, 0..1);
            let ring = log.ring as u64;
            let append = |log: &mut Log<'_>, count: u64| (0..count).for_each(|_| log.append(&[change()]).unwrap());
            let follow = |log: &mut Log<'_>| {
                let mut told = Vec::new();
                log.follow(|change| told.push(change)).unwrap();
                told
            };
            let mut late = 0;
            if world.rank() == rank {
                append(&mut log, 1);
                late = world.fetch_add(log.at, 1).unwrap().wait().unwrap();
                append(&mut log, ring - 1);
            }
            world.barrier().unwrap();
            if world.rank() != rank {
                assert_eq!(follow(&mut log), [Change::All], "more notes than the ring has");
            }
            world.barrier().unwrap();
            if world.rank() == rank {
                append(&mut log, 1);
                let place = FIRST + late as usize % log.ring;
                world.put(log.at.add(place as u64), &[log.layout.word(&change(), log.lap(late))]).unwrap().wait().unwrap();
            }
            world.barrier().unwrap();
            if world.rank() != rank {
                assert_eq!(follow(&mut log), [Change::All]);
                assert_eq!(follow(&mut log), []);
            }
            world.barrier().unwrap();
        });
    }

    /// Rank 0 appends and never reads, alone and with notes of another rank in between.
    #[test]
    fn what_a_rank_remembers_of_its_own_notes_has_a_bound() {
        run(Platform::Mapped, 2, |world| {
            let [mut alone, mut mixed] = [(); 2].map(|()| Log::new(world, 1, NoteLayout::new(512)).unwrap());
            if world.rank() == Rank::new(0) {
                for _ in 0..3 * alone.ring {
                    alone.append(&[Change::Page(0, 0..1)]).unwrap();
                    mixed.append(&[Change::Page(0, 0..1)]).unwrap();
                    world.fetch_add(mixed.at, 1).unwrap().wait().unwrap();
                }
                assert_eq!((alone.own.len(), alone.own.first().cloned()), (1, Some(0..3 * alone.ring as u64)));
                assert!(mixed.own.len() <= mixed.ring, "{} ranges", mixed.own.len());
                let mut told = Vec::new();
                alone.follow(|change| told.push(change)).unwrap();
                assert_eq!(told, [], "all notes are its own");
                mixed.follow(|change| told.push(change)).unwrap();
                assert_eq!(told, [Change::All]);
            }
            world.barrier().unwrap();
        });
    }

    #[test]
    fn a_part_of_a_note_is_recognized() {
        let layout = NoteLayout::new(512);
        let [old, new] = [3, 4].map(|lap| layout.word(&Change::Page(77, 5..6), lap).to_le_bytes());
        for present in 1..8 {
            let (first, last) = ([&new[..present], &old[present..]].concat(), [&old[..present], &new[present..]].concat());
            for word in [first, last] {
                let (_, [first, last]) = layout.of_word(u64::from_le_bytes(word.try_into().unwrap()));
                assert_ne!(first, last, "{present} bytes");
            }
        }
    }
}
