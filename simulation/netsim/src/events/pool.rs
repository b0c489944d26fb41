//! Pools of records of one type, and lists that link them. Freed records are reused.

/// No record.
pub(crate) const NONE: u32 = u32::MAX;

/// A record that can be in one list.
pub(crate) trait Linked {
    fn next(&self) -> u32;
    fn link(&mut self, next: u32);
}

/// Records by number. Memory grows with the largest number of records in use at once.
pub(crate) struct Pool<T> {
    records: Vec<T>,
    free: u32,
}

impl<T: Linked> Pool<T> {
    pub(crate) fn new() -> Self {
        Self { records: Vec::new(), free: NONE }
    }

    #[inline]
    pub(crate) fn insert(&mut self, record: T) -> u32 {
        if self.free == NONE {
            self.records.push(record);
            return (self.records.len() - 1) as u32;
        }
        let index = self.free;
        self.free = self.records[index as usize].next();
        self.records[index as usize] = record;
        index
    }

    /// Frees a record; its number may be reused.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        self.records[index as usize].link(self.free);
        self.free = index;
    }
}

#[cfg(test)]
impl<T: Linked> Pool<T> {
    /// Returns the number of records in use.
    pub(crate) fn used(&self) -> usize {
        let some = |index: u32| Some(index).filter(|&index| index != NONE);
        self.records.len() - std::iter::successors(some(self.free), |&index| some(self[index].next())).count()
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.records[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.records[index as usize]
    }
}

/// A FIFO list of records of one pool. It stores both ends: finding the first through the last would access one more record.
#[derive(Clone, Copy)]
pub(crate) struct List {
    /// `NONE` if the list is empty.
    first: u32,
    last: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self { first: NONE, last: NONE };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.first == NONE
    }

    #[inline]
    pub(crate) fn first(self) -> Option<u32> {
        (!self.is_empty()).then_some(self.first)
    }

    #[inline]
    pub(crate) fn last(self) -> Option<u32> {
        (!self.is_empty()).then_some(self.last)
    }

    /// Returns the record behind another one of this list.
    pub(crate) fn after<T: Linked>(self, pool: &Pool<T>, index: u32) -> Option<u32> {
        (index != self.last).then(|| pool[index].next())
    }

    #[inline]
    pub(crate) fn push<T: Linked>(&mut self, pool: &mut Pool<T>, index: u32) {
        if self.is_empty() {
            self.first = index;
        } else {
            pool[self.last].link(index);
        }
        self.last = index;
    }

    /// Puts a record before all others.
    #[inline]
    pub(crate) fn push_first<T: Linked>(&mut self, pool: &mut Pool<T>, index: u32) {
        if self.is_empty() {
            self.last = index;
        } else {
            pool[index].link(self.first);
        }
        self.first = index;
    }

    /// Puts a record behind another one of this list.
    pub(crate) fn push_behind<T: Linked>(&mut self, pool: &mut Pool<T>, other: u32, index: u32) {
        match self.after(pool, other) {
            Some(next) => pool[index].link(next),
            None => self.last = index,
        }
        pool[other].link(index);
    }

    #[inline]
    pub(crate) fn pop<T: Linked>(&mut self, pool: &Pool<T>) -> Option<u32> {
        let first = self.first()?;
        if first == self.last {
            *self = Self::EMPTY;
        } else {
            self.first = pool[first].next();
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    impl Linked for u32 {
        fn next(&self) -> u32 {
            *self
        }
        fn link(&mut self, next: u32) {
            *self = next;
        }
    }

    proptest! {
        #[test]
        fn a_list_is_a_queue(steps in prop::collection::vec(0u8..5, 1..100)) {
            let (mut pool, mut list, mut oracle) = (Pool::<u32>::new(), List::EMPTY, VecDeque::new());
            for step in steps {
                match step {
                    4 => {
                        let Some(first) = list.first() else { continue };
                        let index = pool.insert(NONE);
                        list.push_behind(&mut pool, first, index);
                        oracle.insert(1, index);
                    }
                    0 => {
                        let index = list.pop(&pool);
                        prop_assert_eq!(index, oracle.pop_front());
                        index.into_iter().for_each(|index| pool.remove(index));
                    }
                    1 => {
                        let index = pool.insert(NONE);
                        list.push_first(&mut pool, index);
                        oracle.push_front(index);
                    }
                    _ => {
                        let index = pool.insert(NONE);
                        list.push(&mut pool, index);
                        oracle.push_back(index);
                    }
                }
                let listed = std::iter::successors(list.first(), |&index| list.after(&pool, index));
                prop_assert_eq!(listed.collect::<Vec<_>>(), oracle.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!((list.last(), list.is_empty()), (oracle.back().copied(), oracle.is_empty()));
                prop_assert_eq!(pool.used(), oracle.len());
            }
        }
    }
}
