//! Splits of teams.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use super::Run;
use super::reductions::reduce_private;
use crate::library::{INVALID, Library, Members};
use crate::limits::{CONTEXTS_MAX, TEAMS_MAX};
use crate::values::Combine;

/// A new team that one call makes of some of the parent's members.
pub(crate) struct NewTeam {
    /// The members; `None` if this PE is not one of them.
    pub(crate) members: Option<Members>,
    /// The number of contexts that the program intends to create from the team.
    pub(crate) contexts: c_int,
}

/// Makes a team of some of the parent's members, and returns its handle; `None` if there are too many teams, or no PE can have as many contexts as a
/// member intends to create. Collective over the parent.
///
/// The members of the parent agree on a slot that none of them uses. The members of the new team clear its lines. All synchronize before the slot is used.
pub(crate) fn make(run: &Run<'_>, new: &NewTeam) -> Option<usize> {
    let library = run.library;
    let mut free = [0u64; TEAMS_MAX / 64];
    // A member that cannot make the team offers no slot, so that no member makes it.
    let contexts = u32::try_from(new.contexts).ok().filter(|&contexts| (contexts as usize) < CONTEXTS_MAX);
    for (index, team) in library.teams().iter().enumerate().filter(|_| contexts.is_some()) {
        if team.size.load(Ordering::Relaxed) == 0 {
            free[index / 64] |= 1 << (index % 64);
        }
    }
    reduce_private(run, &mut free, Combine::And);
    let index = (0..TEAMS_MAX).find(|index| free[index / 64] >> (index % 64) & 1 == 1)?;
    if let Some(members) = new.members {
        let me = members.position(library.me).expect("callers make teams of this PE");
        library.teams()[index].begin(members, me, contexts.unwrap_or(0));
        Run::begin(run.routine, index + 1).clear();
    }
    run.sync();
    Some(if new.members.is_some() { index + 1 } else { INVALID })
}

/// Returns every `stride`-th member of a team from `start` on; `None` if one of these positions is outside the team.
pub(crate) fn strided(parent: Members, start: c_int, stride: c_int, size: c_int) -> Option<Members> {
    let last = i64::from(start) + i64::from(stride) * (i64::from(size) - 1);
    let is_inside = |position: i64| (0..i64::from(parent.size)).contains(&position);
    let fits = size >= 1 && is_inside(i64::from(start)) && is_inside(last) && (stride != 0 || size == 1);
    // The stride of a single member has no meaning, and is not multiplied further by splits of this team.
    let stride = if size == 1 { 1 } else { parent.stride * i64::from(stride) };
    fits.then(|| Members { start: parent.rank_at(start as u32), stride, size: size as u32 })
}

/// Destroys a team at this PE, and its contexts before it.
pub(crate) fn destroy(library: &Library, routine: &'static str, handle: usize) {
    if handle == INVALID {
        return;
    }
    let (index, team) = library.team(routine, handle);
    if handle <= crate::library::SHARED {
        crate::refusal::refuse(routine, &"the predefined teams stay");
    }
    for context in library.contexts_of(index) {
        library.or_end(routine, context.quiet());
        context.release();
    }
    team.size.store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_members_stay_inside_the_parent() {
        let parent = Members { start: 10, stride: 2, size: 5 };
        assert_eq!(strided(parent, 1, 2, 2), Some(Members { start: 12, stride: 4, size: 2 }));
        assert_eq!(strided(parent, 4, -2, 3), Some(Members { start: 18, stride: -4, size: 3 }));
        assert_eq!(strided(parent, 3, 0, 1).map(|members| members.rank_at(0)), Some(16));
        let single = (0..9).fold(parent, |members, _| strided(members, 0, c_int::MAX, 1).expect("the first member"));
        assert_eq!(single, Members { start: 10, stride: 1, size: 1 });
        for (start, stride, size) in [(0, 2, 4), (5, 1, 1), (-1, 1, 1), (0, 0, 2), (0, 1, 0), (1, -1, 3)] {
            assert_eq!(strided(parent, start, stride, size), None, "{start} {stride} {size}");
        }
    }
}
