//! Exchanges between neighbours: each member names the members that it sends to and those that it receives from.

use pelago_rma::{Error, Pod, Result};

use crate::collectives::Collectives;
use crate::counted::schedule::sum_of;
use crate::counts::check_counts;
use crate::operator::Nothing;
use crate::started::Started;

/// Marks of a member for another: it sends to it, it receives from it.
const SENDS: u8 = 1;
const RECEIVES: u8 = 2;

/// The neighbours of a member; made by [`Collectives::neighbours`].
pub struct Neighbours<'c, 'w> {
    collectives: &'c Collectives<'w>,
    targets: Box<[u32]>,
    sources: Box<[u32]>,
}

impl<'w> Collectives<'w> {
    /// Names the members that this one sends to and those that it receives from, by their positions. Collective over the team.
    ///
    /// Cost: an `alltoall` of bytes and a reduction, by which all make sure that their lists fit together.
    ///
    /// # Errors
    /// A list names a member twice, or a position outside the team; a member sends to one that does not receive from it, or the other way round (all
    /// members get the same error); else as [`alltoall`](Self::alltoall).
    ///
    /// Source: `MPI_Dist_graph_create_adjacent` and `MPI_Neighbor_alltoallv` of MPI 3.
    pub fn neighbours(&self, targets: &[u32], sources: &[u32]) -> Result<Neighbours<'_, 'w>> {
        // Members without neighbours do not call `exchange`: the streams are allocated here, by all members.
        self.make_streams::<u8>()?;
        let size = self.team().size();
        let mut marks = vec![0_u8; size as usize];
        let mut is_wrong = false;
        for (list, mark) in [(targets, SENDS), (sources, RECEIVES)] {
            for &member in list {
                match marks.get_mut(member as usize) {
                    Some(marks) if *marks & mark == 0 => *marks |= mark,
                    _ => is_wrong = true,
                }
            }
        }
        let mut theirs = vec![0_u8; size as usize];
        self.alltoall(&marks, &mut theirs)?;
        let fits = |(mine, theirs): (&u8, &u8)| {
            (mine & SENDS != 0) == (theirs & RECEIVES != 0) && (mine & RECEIVES != 0) == (theirs & SENDS != 0)
        };
        let mut good = [u64::from(!is_wrong), u64::from(marks.iter().zip(&theirs).all(fits))];
        self.agree(&mut good, |one, other| one & other)?;
        match good {
            [1, 1] => Ok(Neighbours { collectives: self, targets: targets.into(), sources: sources.into() }),
            [1, _] => Err(Error::Disagreement("the neighbours of members")),
            _ => Err(Error::Invalid("a list of neighbours names each member once at most, by its position")),
        }
    }
}

impl<'c, 'w> Neighbours<'c, 'w> {
    /// The members that this one sends to.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// The members that this one receives from.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// Exchanges blocks between neighbours: `from` has `send[i]` values for the target of number i, `into` gets `receive[i]` values of the
    /// source of number i. Collective over the team; members without neighbours need not call it.
    ///
    /// Cost: a message of up to 64 KiB, or several, for each target.
    ///
    /// # Errors
    /// As [`alltoallv`](Collectives::alltoallv).
    pub fn exchange<T: Pod>(&self, from: &[T], send: &[usize], into: &mut [T], receive: &[usize]) -> Result<()> {
        let Self { collectives, targets, sources } = self;
        self.check(from.len(), send, into.len(), receive)?;
        let me = collectives.position();
        collectives.exchange(from, into, &Nothing, |messages| messages.neighbours(me, [targets, sources], [send, receive]))
    }

    /// Starts an [`exchange`](Self::exchange).
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange); too many operations are in flight.
    pub fn start_exchange<T: Pod>(&self, from: Vec<T>, send: &[usize], receive: &[usize]) -> Result<Started<'c, 'w, T>> {
        let Self { collectives, targets, sources } = self;
        let all = sum_of(receive);
        self.check(from.len(), send, all, receive)?;
        let me = collectives.position();
        collectives.start(from, all, Nothing, |messages| messages.neighbours(me, [targets, sources], [send, receive]))
    }

    fn check(&self, from: usize, send: &[usize], into: usize, receive: &[usize]) -> Result<()> {
        check_counts(send, self.targets.len(), from)?;
        check_counts(receive, self.sources.len(), into)
    }
}
