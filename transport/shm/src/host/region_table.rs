//! A rank's registered regions in the memory of its host, where every rank finds them: a search tree with one writer.
//!
//! An entry has the range of global addresses of a region, the region's address in its owner, its gate, and two links: entries that are
//! in use form a treap, a binary search tree by start whose shape is that of a tree with entries inserted in a random order. So it is some twenty
//! links deep for 65,000 regions, in any order of insertion, and needs no balancing.
//!
//! Only the owner's process changes the tree, one thread at a time, under a [`Version`]. A reader follows links that may change
//! concurrently, then enters the gate of the entry at their end, and checks the entry itself:
//!
//! - *A positive result is correct.* An entry is filled before its gate opens, and neither changed nor used again before its gate has been closed
//!   and empty. So a reader that holds a pass sees a registered region, by whichever links it found the entry.
//! - *A negative result is correct if the tree did not change meanwhile*, which the version shows. Otherwise the reader searches again.
//! - *No reader waits.* After [`LOOKS_MAX`] attempts the reader requests the operation from the owner instead. A reader treats an
//!   owner that died or was stopped during a change in the same way. A walk along circular links ends after [`LINKS_MAX`] steps.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pelago_sync::{Gate, Pass, Version};

/// Maximum number of attempts to read a table that changes concurrently.
const LOOKS_MAX: usize = 1000;

/// Maximum length of a path to an entry: several times the depth of a tree with the maximum number of entries.
const LINKS_MAX: usize = 256;

/// Address of a region in memory of a device, which only its owner accesses: no memory of a process has this address.
pub(crate) const DEVICE: u64 = 0;

/// The head of a rank's table, in its control block. All zero bytes are an empty table.
#[repr(C)]
pub(crate) struct RegionTableHead {
    version: Version,
    /// Number of the root entry, from 1 on; 0: none.
    root: AtomicU32,
    /// Head of the list of entries that were in use and are free; the left link of each is the next one.
    free: AtomicU32,
    /// Number of entries that have ever been in use: the first ones.
    used: AtomicU32,
}

/// A registered region, in memory that its owner's program owned before; peers access it through the gate (H3). All zero bytes are a free entry.
#[repr(C, align(64))]
pub(crate) struct RegionEntry {
    gate: Gate,
    /// The global address of its first byte.
    start: AtomicU64,
    /// The address of that byte in its owner, or [`DEVICE`].
    address: AtomicU64,
    bytes: AtomicU64,
    /// The address in its owner of the handle by which peers open memory of a device themselves, or 0; and the owner's number of this registration,
    /// never used twice.
    exported: AtomicU64,
    serial: AtomicU64,
    left: AtomicU32,
    right: AtomicU32,
}

/// Memory of a device that its owner has exported, while it is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExportedDevice {
    /// The address of the encoded handle in the owner.
    pub(crate) handle: u64,
    /// The owner's number of the registration, never used twice.
    pub(crate) serial: u64,
}

/// The regions of one rank.
#[derive(Clone, Copy)]
pub(crate) struct RegionTable<'a> {
    head: &'a RegionTableHead,
    entries: &'a [RegionEntry],
}

/// Result of a search for some bytes.
pub(crate) enum RegionLookup<'a> {
    /// A region, and the offset in it; its owner does not remove it while the pass is held. Without an address it is memory of a device, which the
    /// owner may have exported.
    Inside { address: Option<u64>, exported: Option<ExportedDevice>, inside: u64, pass: Pass<'a> },
    /// No region contains the bytes.
    Nowhere,
    /// Only the owner knows, as the table changes.
    Changing,
}

/// Result of the insertion of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionInsertion {
    /// The region is in the table, for all ranks.
    Open,
    /// Some of its addresses belong to another region.
    Taken,
    /// The table is full, with this number of entries.
    Full(usize),
}

/// A word that holds the number of an entry.
#[derive(Clone, Copy)]
enum TreeLink {
    Root,
    Left(u32),
    Right(u32),
}

impl<'a> RegionTable<'a> {
    pub(crate) const fn new(head: &'a RegionTableHead, entries: &'a [RegionEntry]) -> Self {
        Self { head, entries }
    }

    /// Searches for `bytes` bytes from the address `at` on. Any process may call it.
    pub(crate) fn find(self, at: u64, bytes: u64) -> RegionLookup<'a> {
        for look in 1..=LOOKS_MAX {
            if let Some(found) = self.look(at, bytes, || ()) {
                return found;
            }
            if look.is_multiple_of(16) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        RegionLookup::Changing
    }

    /// Inserts a region (owner only).
    pub(crate) fn insert(self, start: u64, address: u64, bytes: u64) -> RegionInsertion {
        self.insert_exported(start, address, bytes, ExportedDevice { handle: 0, serial: 0 })
    }

    /// Inserts a region of device memory that peers may open themselves (owner only).
    pub(crate) fn insert_exported(self, start: u64, address: u64, bytes: u64, exported: ExportedDevice) -> RegionInsertion {
        // The preceding region ends before this one begins, and the following one begins after it ends. A region of no bytes has an address too.
        let apart = |from: u64, bytes: u64, to: u64| to.wrapping_sub(from) >= bytes.max(1);
        let is_free = self.last_up_to(start).is_none_or(|entry| apart(load(&entry.start), load(&entry.bytes), start));
        if !is_free || self.first_after(start).is_some_and(|entry| !apart(start, bytes, load(&entry.start))) {
            return RegionInsertion::Taken;
        }
        let Some((number, entry)) = self.unused() else { return RegionInsertion::Full(self.entries.len()) };
        entry.start.store(start, Ordering::Relaxed);
        entry.address.store(address, Ordering::Relaxed);
        entry.bytes.store(bytes, Ordering::Relaxed);
        entry.exported.store(exported.handle, Ordering::Relaxed);
        entry.serial.store(exported.serial, Ordering::Relaxed);
        self.head.version.change(|| self.hang(number, start));
        entry.gate.open();
        RegionInsertion::Open
    }

    /// Removes a region (owner only), or closes it and returns `false` while a peer accesses it.
    pub(crate) fn remove(self, start: u64) -> bool {
        let Some((link, number, entry)) = self.link_to(start) else { return true };
        entry.gate.close();
        if !entry.gate.is_empty() {
            return false;
        }
        self.head.version.change(|| self.unhang(link, entry));
        entry.left.store(self.head.free.load(Ordering::Relaxed), Ordering::Relaxed);
        self.head.free.store(number, Ordering::Relaxed);
        true
    }

    /// Searches once; `None` if the tree changes, so that a negative result may be wrong. `meanwhile` is for tests.
    fn look(self, at: u64, bytes: u64, meanwhile: impl FnOnce()) -> Option<RegionLookup<'a>> {
        let version = self.head.version.read();
        if let Some(found) = self.enter(at, bytes) {
            return Some(found);
        }
        meanwhile();
        let is_still = version.is_some_and(|version| self.head.version.is_still(version));
        is_still.then_some(RegionLookup::Nowhere)
    }

    /// Enters the gate of the region that contains these bytes, if this search finds it.
    fn enter(self, at: u64, bytes: u64) -> Option<RegionLookup<'a>> {
        let entry = self.last_up_to(at)?;
        let pass = entry.gate.enter()?;
        // By now the entry may hold another region than the one that the search found.
        let inside = at.checked_sub(load(&entry.start))?;
        let room = load(&entry.bytes).checked_sub(inside)?;
        let address = Some(load(&entry.address)).filter(|&address| address != DEVICE);
        let exported = ExportedDevice { handle: load(&entry.exported), serial: load(&entry.serial) };
        let exported = Some(exported).filter(|exported| exported.handle != 0);
        (bytes <= room).then(|| RegionLookup::Inside { address: address.map(|address| address + inside), exported, inside, pass })
    }

    /// The last entry that begins at or before `at`, as far as the links are consistent.
    fn last_up_to(self, at: u64) -> Option<&'a RegionEntry> {
        let (mut number, mut last) = (self.head.root.load(Ordering::Relaxed), None);
        for _ in 0..LINKS_MAX {
            let Some(entry) = self.entry(number) else { break };
            number = if load(&entry.start) <= at {
                last = Some(entry);
                entry.right.load(Ordering::Relaxed)
            } else {
                entry.left.load(Ordering::Relaxed)
            };
        }
        last
    }

    fn first_after(self, at: u64) -> Option<&'a RegionEntry> {
        let (mut number, mut first) = (self.head.root.load(Ordering::Relaxed), None);
        while let Some(entry) = self.entry(number) {
            number = if load(&entry.start) > at {
                first = Some(entry);
                entry.left.load(Ordering::Relaxed)
            } else {
                entry.right.load(Ordering::Relaxed)
            };
        }
        first
    }

    /// The entry that begins at `start`, and the link to it (owner only).
    fn link_to(self, start: u64) -> Option<(TreeLink, u32, &'a RegionEntry)> {
        let mut link = TreeLink::Root;
        loop {
            let number = self.get(link);
            let entry = self.entry(number)?;
            link = match start.cmp(&load(&entry.start)) {
                std::cmp::Ordering::Less => TreeLink::Left(number),
                std::cmp::Ordering::Greater => TreeLink::Right(number),
                std::cmp::Ordering::Equal => return Some((link, number, entry)),
            };
        }
    }

    /// Takes an entry that is not in use (owner only): the last one that was freed, or else a new one.
    fn unused(self) -> Option<(u32, &'a RegionEntry)> {
        let free = self.head.free.load(Ordering::Relaxed);
        if let Some(entry) = self.entry(free) {
            self.head.free.store(entry.left.load(Ordering::Relaxed), Ordering::Relaxed);
            return Some((free, entry));
        }
        let number = self.head.used.load(Ordering::Relaxed) + 1;
        let entry = self.entry(number)?;
        self.head.used.store(number, Ordering::Relaxed);
        Some((number, entry))
    }

    /// Inserts an entry into the tree: below entries of greater height on its search path, and above the others, which it splits into two subtrees.
    fn hang(self, number: u32, start: u64) {
        let mut link = TreeLink::Root;
        let below = loop {
            let next = self.get(link);
            match self.entry(next) {
                Some(entry) if height(next) > height(number) => link = Self::toward(start, next, entry),
                _ => break next,
            }
        };
        self.set(link, number);
        let (mut before, mut after, mut next) = (TreeLink::Left(number), TreeLink::Right(number), below);
        while let Some(entry) = self.entry(next) {
            let (end, rest) = if load(&entry.start) < start {
                (&mut before, TreeLink::Right(next))
            } else {
                (&mut after, TreeLink::Left(next))
            };
            self.set(*end, next);
            *end = rest;
            next = self.get(rest);
        }
        self.set(before, 0);
        self.set(after, 0);
    }

    /// Removes an entry from the tree: its two subtrees are merged in its place.
    fn unhang(self, mut link: TreeLink, entry: &RegionEntry) {
        let [mut left, mut right] = [&entry.left, &entry.right].map(|word| word.load(Ordering::Relaxed));
        while left != 0 && right != 0 {
            if height(left) > height(right) {
                self.set(link, left);
                link = TreeLink::Right(left);
                left = self.get(link);
            } else {
                self.set(link, right);
                link = TreeLink::Left(right);
                right = self.get(link);
            }
        }
        self.set(link, left | right);
    }

    fn toward(start: u64, number: u32, entry: &RegionEntry) -> TreeLink {
        if load(&entry.start) < start { TreeLink::Right(number) } else { TreeLink::Left(number) }
    }

    fn entry(self, number: u32) -> Option<&'a RegionEntry> {
        self.entries.get((number as usize).wrapping_sub(1))
    }

    fn word(self, link: TreeLink) -> &'a AtomicU32 {
        match link {
            TreeLink::Root => &self.head.root,
            TreeLink::Left(number) => &self.entries[number as usize - 1].left,
            TreeLink::Right(number) => &self.entries[number as usize - 1].right,
        }
    }

    fn get(self, link: TreeLink) -> u32 {
        self.word(link).load(Ordering::Relaxed)
    }

    fn set(self, link: TreeLink, number: u32) {
        self.word(link).store(number, Ordering::Relaxed);
    }
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// The priority of an entry in the treap: pseudo-random, and different for all entries. The steps are those of the generator splitmix64, each of
/// which is a bijection.
fn height(number: u32) -> u64 {
    let mut bits = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A table in memory of the test, as in a new file.
    struct Table {
        head: RegionTableHead,
        entries: Vec<RegionEntry>,
    }

    impl Table {
        fn new(entries: usize) -> Self {
            let head = RegionTableHead { version: Version::new(), root: 0.into(), free: 0.into(), used: 0.into() };
            let entry = || RegionEntry {
                gate: Gate::new(),
                start: 0.into(),
                address: 0.into(),
                bytes: 0.into(),
                exported: 0.into(),
                serial: 0.into(),
                left: 0.into(),
                right: 0.into(),
            };
            Self { head, entries: std::iter::repeat_with(entry).take(entries).collect() }
        }

        fn regions(&self) -> RegionTable<'_> {
            RegionTable::new(&self.head, &self.entries)
        }

        /// Depth of the subtree of an entry.
        fn depth(&self, number: u32) -> usize {
            let Some(entry) = self.regions().entry(number) else { return 0 };
            let below = |word: &AtomicU32| self.depth(word.load(Ordering::Relaxed));
            1 + below(&entry.left).max(below(&entry.right))
        }
    }

    /// The address of some bytes; `None` if no region contains them.
    fn find(regions: RegionTable<'_>, at: u64, bytes: u64) -> Option<u64> {
        match regions.find(at, bytes) {
            RegionLookup::Inside { address, .. } => address,
            RegionLookup::Nowhere => None,
            RegionLookup::Changing => panic!("nobody changes it"),
        }
    }

    proptest! {
        /// Compares the table with an ordered map.
        #[test]
        fn the_bytes_of_a_region_are_found_and_no_others(
            steps in prop::collection::vec((0u64..300, 0u64..20, 0u8..3), 1..200),
        ) {
            let (table, mut model) = (Table::new(40), BTreeMap::new());
            let regions = table.regions();
            for (start, bytes, step) in steps {
                let before = model.range(..=start).next_back().map(|(&other, &length)| (other, length));
                match step {
                    0 => {
                        let far = |from: u64, bytes: u64, to: u64| to - from >= bytes.max(1);
                        let free = before.is_none_or(|(other, length)| far(other, length, start))
                            && model.range(start + 1..).next().is_none_or(|(&other, _)| far(start, bytes, other));
                        let expected = match free {
                            false => RegionInsertion::Taken,
                            true if model.len() == 40 => RegionInsertion::Full(40),
                            true => RegionInsertion::Open,
                        };
                        prop_assert_eq!(regions.insert(start, 1_000_000 + start, bytes), expected);
                        if expected == RegionInsertion::Open {
                            model.insert(start, bytes);
                        }
                    }
                    1 => {
                        prop_assert!(regions.remove(start));
                        model.remove(&start);
                    }
                    _ => {
                        let inside = before.filter(|(other, length)| start - other + bytes <= *length);
                        prop_assert_eq!(find(regions, start, bytes), inside.map(|_| 1_000_000 + start));
                        prop_assert_eq!(find(regions, start, u64::MAX), None);
                    }
                }
                prop_assert!(table.head.used.load(Ordering::Relaxed) <= 40, "entries are used again");
            }
            for (&start, &bytes) in &model {
                prop_assert_eq!(find(regions, start, bytes), Some(1_000_000 + start));
            }
        }
    }

    /// Registering or finding one of many regions follows some dozen links, in any order of insertion.
    #[test]
    fn the_tree_is_shallow() {
        const REGIONS: u64 = 100_000;
        for step in [1, 40_503, REGIONS - 1] {
            let table = Table::new(REGIONS as usize);
            for index in 0..REGIONS {
                assert_eq!(table.regions().insert(index * step % REGIONS * 64, 8, 8), RegionInsertion::Open);
            }
            assert_eq!(table.regions().insert(REGIONS * 64, 8, 8), RegionInsertion::Full(REGIONS as usize));
            // A balanced tree has 17.
            let depth = table.depth(table.head.root.load(Ordering::Relaxed));
            assert!(depth <= 60, "in steps of {step}: {depth} links");
            assert!((0..REGIONS).all(|index| find(table.regions(), index * 64 + 1, 7) == Some(9)));
        }
    }

    #[test]
    fn a_region_is_taken_back_when_nobody_is_inside() {
        let table = Table::new(3);
        let regions = table.regions();
        [0, 100].into_iter().for_each(|start| assert_eq!(regions.insert(start, 5000 + start, 10), RegionInsertion::Open));
        let RegionLookup::Inside { pass, .. } = regions.find(3, 4) else { panic!("it is registered") };
        assert!(!regions.remove(0) && !regions.remove(0), "somebody is inside");
        assert_eq!((find(regions, 3, 4), find(regions, 103, 4)), (None, Some(5103)), "nobody enters any more, but elsewhere");
        assert_eq!(regions.insert(5, 1, 1), RegionInsertion::Taken, "its addresses are its own until then");
        drop(pass);
        assert!(regions.remove(0) && regions.remove(0));
        assert_eq!(
            (regions.insert(5, 7005, 1), find(regions, 5, 1), find(regions, 3, 1)),
            (RegionInsertion::Open, Some(7005), None)
        );
    }

    #[test]
    fn nobody_waits_for_a_change_that_does_not_end() {
        let table = Table::new(3);
        let regions = table.regions();
        assert_eq!(regions.insert(0, 5000, 10), RegionInsertion::Open);
        table.head.version.change(|| {
            assert!(matches!(regions.find(20, 1), RegionLookup::Changing), "a region may be there in a moment");
            assert_eq!(find(regions, 2, 1), Some(5002), "what is found is right at any time");
        });
        let changed = regions.look(20, 1, || assert_eq!(regions.insert(20, 5020, 1), RegionInsertion::Open));
        assert!(changed.is_none() && find(regions, 20, 1) == Some(5020), "it came while somebody looked");
        assert!(regions.remove(20));
        // Circular links, as a reader may see them while the tree changes.
        table.entries[0].right.store(1, Ordering::Relaxed);
        assert_eq!(find(regions, 20, 1), None);
    }

    /// Some regions stay while others are inserted and removed between them: every search for one that stays finds it.
    #[test]
    fn who_looks_while_others_change_finds_what_stays() {
        const STAYING: u64 = 50;
        let table = Table::new(4096);
        for index in 0..STAYING {
            assert_eq!(table.regions().insert(index * 1000, index * 1000 + 8, 8), RegionInsertion::Open);
        }
        let over = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut looks = 0u64;
                    while over.load(Ordering::Relaxed) == 0 || looks < 1000 {
                        let at = looks % STAYING * 1000;
                        match table.regions().find(at, 8) {
                            RegionLookup::Inside { address, .. } => assert_eq!(address, Some(at + 8)),
                            RegionLookup::Nowhere => panic!("{at} is registered"),
                            RegionLookup::Changing => {}
                        }
                        looks += 1;
                    }
                });
            }
            for round in 0..200u64 {
                let coming = |index: u64| index * 1000 + 100 + round % 7 * 64;
                for index in 0..STAYING {
                    assert_eq!(table.regions().insert(coming(index), 1, 8), RegionInsertion::Open);
                }
                for index in 0..STAYING {
                    while !table.regions().remove(coming(index * 7 % STAYING)) {
                        std::thread::yield_now();
                    }
                }
            }
            over.store(1, Ordering::Relaxed);
        });
    }
}
