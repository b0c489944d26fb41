//! Many keys at once: each step is in flight for all keys together, so that it takes one round trip for all.
//!
//! A search has the same steps as that of a single key (`table`): the head of its bucket, then one element after another and, for a key that is added,
//! the element's bytes and a compare-and-swap of the head. Each round performs one step of every search.

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Fetch, GlobalPtr, PendingGet, Result};

use super::hash::hash;
use super::table::{DEAD, Element, HEADER_WORDS, KEY, NEXT, STATE, TAG, Table, check_key, key_bytes, tag, words_of};

/// Maximum number of keys in flight. The requests fill some datagrams to each of several ranks, the replies some tens of kilobytes.
pub(crate) const BULK_MAX: usize = 128;

/// Maximum number of bucket heads that one get reads from another rank.
const HEADS_MAX: usize = 1024;

/// Creates the element of an absent key: pushes its value behind its key, and returns its state.
pub(crate) type Add<'a> = &'a mut dyn FnMut(usize, &mut Vec<u64>) -> u64;

/// The search of a key.
struct Search<'k> {
    /// The index of the key.
    index: usize,
    key: &'k [u8],
    hash: u64,
    rank: Rank,
    bucket: GlobalPtr<u64>,
    /// The first element of the bucket, and the first of the elements that were checked before.
    head: u64,
    seen: u64,
    /// The element to check next.
    next: u64,
    /// The place of the new element, if the key is to be added.
    room: Option<GlobalPtr<u64>>,
    is_done: bool,
}

/// An element that is being linked at the head of its bucket.
struct Link<'w> {
    /// The word of the bucket that the compare-and-swap finds.
    head: Fetch<'w, u64>,
    at: GlobalPtr<u64>,
    state: u64,
}

impl<'w> Table<'_, 'w> {
    /// Searches up to [`BULK_MAX`] keys of equal length, whose values have `value_words` words. Calls `found` with the index, the element and the value of
    /// each key. Adds absent keys by `add`; without `add`, their element is `None`.
    pub(crate) fn search_all<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        value_words: usize,
        mut add: Option<Add<'_>>,
        mut found: impl FnMut(usize, Option<Element>, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let world = self.world();
        let mut searches: Vec<_> = keys.enumerate().map(|(index, key)| self.begin(index, key)).collect();
        debug_assert!(searches.len() <= BULK_MAX);
        if add.is_some() {
            searches.iter().try_for_each(|search| check_key(search.key))?;
        }
        let heads = world.batch(|| searches.iter().map(|search| world.fetch(search.bucket)).collect::<Result<Vec<_>>>())?;
        for (search, head) in searches.iter_mut().zip(heads) {
            search.head = head.wait()?;
            search.next = search.head;
        }
        let mut words = Vec::new();
        while !searches.is_empty() {
            let reads = self.read_next(&searches_of(&searches), value_words)?;
            for (search, read) in searches.iter_mut().zip(reads) {
                let Some(read) = read else { continue };
                words.resize(read.len(), 0);
                read.wait_into(&mut words)?;
                let (key, value) = words[KEY..].split_at(search.key.len().div_ceil(8));
                let is_it = words[TAG] == tag(search.hash, search.key) && words[STATE] != DEAD;
                if is_it && key.iter().copied().eq(words_of(search.key)) {
                    let element = Element::there(GlobalPtr::from_address(GlobalAddress::from_bits(search.next))?, words[STATE]);
                    found(search.index, Some(element), value)?;
                    search.is_done = true;
                    if let Some(room) = search.room.take() {
                        self.give_room(search.rank, room);
                    }
                } else {
                    search.next = words[NEXT];
                }
            }
            let mut ended: Vec<_> = searches.iter_mut().filter(|search| !search.is_done && search.next == search.seen).collect();
            if let Some(add) = &mut add {
                let links = self.link_all(&mut ended, value_words, &mut **add)?;
                for (search, Link { head, at, state }) in ended.into_iter().zip(links) {
                    let head = head.wait()?;
                    if head == search.head {
                        search.is_done = true;
                        found(search.index, Some(Element::added(at, state)), &[])?;
                    } else {
                        (search.seen, search.head, search.next) = (search.head, head, head);
                    }
                }
            } else {
                for search in ended {
                    search.is_done = true;
                    found(search.index, None, &[])?;
                }
            }
            searches.retain(|search| !search.is_done);
        }
        Ok(())
    }

    /// Calls `f` with the key, the state and the value of every element of a rank, in no order. Elements that other ranks add meanwhile may be missed.
    pub(crate) fn for_each_on(
        &self,
        rank: Rank,
        key_length: usize,
        value_words: usize,
        mut f: impl FnMut(&[u64], usize, u64, &[u64]),
    ) -> Result<()> {
        if rank == self.world().rank() {
            return self.for_each_local(value_words, f);
        }
        let (world, buckets, key_words) = (self.world(), self.buckets.len(), key_length.div_ceil(8));
        let mut words = vec![0; KEY + key_words + value_words];
        for first in (0..buckets).step_by(HEADS_MAX) {
            let mut heads = vec![0u64; HEADS_MAX.min(buckets - first)];
            world.get_into(self.buckets.at(rank, first), &mut heads)?;
            // Up to `BULK_MAX` lists at once; each round reads one element of each list.
            for lists in heads.chunks_mut(BULK_MAX) {
                while lists.iter().any(|&next| next != 0) {
                    let read = |&next: &u64| self.read(next, words.len());
                    let reads = world.batch(|| lists.iter().map(read).collect::<Result<Vec<_>>>())?;
                    for (next, read) in lists.iter_mut().zip(reads) {
                        let Some(read) = read else { continue };
                        read.wait_into(&mut words)?;
                        let (key, value) = words[KEY..].split_at(key_words);
                        f(key, key_bytes(words[TAG]), words[STATE], value);
                        *next = words[NEXT];
                    }
                }
            }
        }
        Ok(())
    }

    fn begin<'k>(&self, index: usize, key: &'k [u8]) -> Search<'k> {
        let hash = hash(key);
        let (rank, bucket) = self.buckets.find(self.world(), hash);
        Search { index, key, hash, rank, bucket, head: 0, seen: 0, next: 0, room: None, is_done: false }
    }

    /// Begins to read the next element of each search that has one.
    fn read_next(&self, next: &[(u64, usize)], value_words: usize) -> Result<Vec<Option<PendingGet<'w, u64>>>> {
        let read = |&(next, key_words): &(u64, usize)| self.read(next, KEY + key_words + value_words);
        self.world().batch(|| next.iter().map(read).collect())
    }

    fn read(&self, element: u64, words: usize) -> Result<Option<PendingGet<'w, u64>>> {
        if element == 0 {
            return Ok(None);
        }
        self.world().start_get(GlobalPtr::from_address(GlobalAddress::from_bits(element))?, words).map(Some)
    }

    /// Writes an element for each of these searches, and begins to link it at the head of its bucket.
    fn link_all(&self, searches: &mut [&mut Search<'_>], value_words: usize, add: Add<'_>) -> Result<Vec<Link<'w>>> {
        let world = self.world();
        for search in searches.iter_mut().filter(|search| search.room.is_none()) {
            let words = HEADER_WORDS + search.key.len().div_ceil(8) + value_words;
            search.room = Some(self.take_room(search.rank, 8 * words as u64)?);
        }
        let mut words = Vec::new();
        world.batch(|| {
            let link = |search: &mut &mut Search<'_>| -> Result<Link<'w>> {
                let at = search.room.expect("it was taken");
                words.clear();
                words.extend_from_slice(&[search.head, tag(search.hash, search.key), 0]);
                words.extend(words_of(search.key));
                let state = add(search.index, &mut words);
                words[STATE] = state;
                let written = world.put(at, &words)?;
                let head = world.after(&written).compare_swap(search.bucket, search.head, at.address().bits())?;
                Ok(Link { head, at, state })
            };
            searches.iter_mut().map(link).collect()
        })
    }
}

/// For each search, the element to check next, 0 if there is none, and the number of words of its key.
fn searches_of(searches: &[Search<'_>]) -> Vec<(u64, usize)> {
    let next = |search: &Search<'_>| if search.next == search.seen { 0 } else { search.next };
    searches.iter().map(|search| (next(search), search.key.len().div_ceil(8))).collect()
}
