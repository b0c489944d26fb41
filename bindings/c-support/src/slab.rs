//! Objects that C code names by an opaque pointer. The pointer is a number that is never a valid address; a number whose object was removed is
//! detected as stale.

/// Bits of a number that hold the index of the slot. The bits below hold the kind, the bits above the use count of the slot.
const PLACE_BITS: u32 = 24;
const KIND_BITS: u32 = 2;

/// Objects that C code holds, by number.
pub struct Slab<T> {
    kind: usize,
    places: Vec<Slot<T>>,
    free: Vec<usize>,
}

struct Slot<T> {
    uses: usize,
    inside: Option<T>,
}

impl<T> Slab<T> {
    /// Returns an empty slab. `kind`, from 1 to 3, distinguishes its numbers from those of other slabs.
    pub const fn new(kind: usize) -> Self {
        assert!(kind > 0 && kind < 1 << KIND_BITS);
        Self { kind, places: Vec::new(), free: Vec::new() }
    }

    /// Inserts an object and returns its number, which is not 0. Returns `None` if the slab is full.
    pub fn insert(&mut self, thing: T) -> Option<usize> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() < 1 << PLACE_BITS => {
                self.places.push(Slot { uses: 0, inside: None });
                self.places.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.places[place];
        slot.uses += 1;
        slot.inside = Some(thing);
        Some((slot.uses << PLACE_BITS | place) << KIND_BITS | self.kind)
    }

    /// Returns the object with this number.
    pub fn get(&mut self, number: usize) -> Option<&mut T> {
        let place = self.place_of(number)?;
        self.places[place].inside.as_mut()
    }

    /// Removes and returns the object with this number.
    pub fn remove(&mut self, number: usize) -> Option<T> {
        let place = self.place_of(number)?;
        let thing = self.places[place].inside.take()?;
        self.free.push(place);
        Some(thing)
    }

    /// Removes and returns all objects.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        let full = self.places.iter_mut().enumerate();
        full.filter_map(|(place, slot)| {
            let thing = slot.inside.take()?;
            self.free.push(place);
            Some(thing)
        })
    }

    fn place_of(&self, number: usize) -> Option<usize> {
        let place = number >> KIND_BITS & ((1 << PLACE_BITS) - 1);
        let slot = self.places.get(place)?;
        let is_it = number & ((1 << KIND_BITS) - 1) == self.kind && number >> (PLACE_BITS + KIND_BITS) == slot.uses;
        is_it.then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_numbers_and_those_of_others_lead_nowhere() {
        let (mut one, mut other) = (Slab::new(1), Slab::new(2));
        let (first, second) = (one.insert("first").unwrap(), other.insert("second").unwrap());
        assert_eq!(one.get(first), Some(&mut "first"));
        assert!([second, 0, usize::MAX].iter().all(|&number| one.get(number).is_none()) && other.get(first).is_none());
        assert_eq!((one.remove(first), one.remove(first)), (Some("first"), None));
        let third = one.insert("third").unwrap();
        assert!(third != first && one.get(first).is_none() && one.get(third).is_some());
        let fourth = one.insert("fourth").unwrap();
        assert_eq!(one.drain().collect::<Vec<_>>(), ["third", "fourth"]);
        let fifth = one.insert("fifth").unwrap();
        assert!([third, fourth].iter().all(|&number| one.get(number).is_none()) && one.get(fifth) == Some(&mut "fifth"));
    }
}
