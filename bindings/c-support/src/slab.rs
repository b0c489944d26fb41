//! What C knows by an opaque pointer: a number that is never an address, and that is known as old when what it stood for is gone.

/// Bits of a number for the place; below them is the kind, above them how often the place was used.
const PLACE_BITS: u32 = 24;
const KIND_BITS: u32 = 2;

/// Things that C holds, by number.
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
    /// An empty one; `kind`, of 1 to 3, tells its numbers from those of others.
    pub const fn new(kind: usize) -> Self {
        assert!(kind > 0 && kind < 1 << KIND_BITS);
        Self { kind, places: Vec::new(), free: Vec::new() }
    }

    /// Takes something in; its number, which is not 0. `None` if there are too many.
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

    /// The object with this number.
    pub fn get(&mut self, number: usize) -> Option<&mut T> {
        let place = self.place_of(number)?;
        self.places[place].inside.as_mut()
    }

    /// Takes the object with this number out.
    pub fn remove(&mut self, number: usize) -> Option<T> {
        let place = self.place_of(number)?;
        let thing = self.places[place].inside.take()?;
        self.free.push(place);
        Some(thing)
    }

    /// Takes out everything.
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
