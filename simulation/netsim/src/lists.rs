//! Pools of equal records, and lists that run through them. No record is allocated twice: freed ones are used again.

/// No record.
pub(crate) const NONE: u32 = u32::MAX;

/// A record that can stand in one list.
pub(crate) trait Linked {
    fn next(&self) -> u32;
    fn link(&mut self, next: u32);
}

/// Records by number. Grows with the largest number in use at once.
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

    /// Frees a record; its number may be given to another.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        self.records[index as usize].link(self.free);
        self.free = index;
    }
}

#[cfg(test)]
impl<T: Linked> Pool<T> {
    /// How many records are in use.
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

/// A list, first in first out, of records of one pool.
#[derive(Clone, Copy)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self { first: NONE, last: NONE };

    #[inline]
    pub(crate) fn first(self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    #[inline]
    pub(crate) fn last(self) -> Option<u32> {
        (self.first != NONE).then_some(self.last)
    }

    #[inline]
    pub(crate) fn push<T: Linked>(&mut self, pool: &mut Pool<T>, index: u32) {
        pool[index].link(NONE);
        if self.first == NONE {
            self.first = index;
        } else {
            pool[self.last].link(index);
        }
        self.last = index;
    }

    /// Puts a record before all others.
    pub(crate) fn push_first<T: Linked>(&mut self, pool: &mut Pool<T>, index: u32) {
        pool[index].link(self.first);
        if self.first == NONE {
            self.last = index;
        }
        self.first = index;
    }

    #[inline]
    pub(crate) fn pop<T: Linked>(&mut self, pool: &mut Pool<T>) -> Option<u32> {
        let index = self.first()?;
        self.first = pool[index].next();
        Some(index)
    }
}
