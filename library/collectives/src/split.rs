//! Splits of a team by colour and key, in which only its members take part.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_base::{Rank, Team};
use pelago_rma::{Error, Group, Result};

use crate::collectives::Collectives;
use crate::limits::SPLIT_TEAMS_MAX;
use crate::origin::{Child, Origin};
use crate::settings::Settings;

/// No colour.
const NONE: u64 = u64::MAX;

impl<'w> Collectives<'w> {
    /// Makes the team of the members of this one that pass the same colour, in the order of their keys; members with equal keys are in the order of
    /// their positions. Collective over this team, not over the job; `None` for a member without a colour. Teams may be split again.
    ///
    /// The memory of the new team, `settings.memory_bytes` and some more, is part of this team's. If the settings request more than this team has
    /// altogether, as equal settings of both teams do, the new team gets a quarter of the longest unused part. The memory is reused when all members
    /// have dropped their teams of this split and split again. The new team may outlive this one.
    ///
    /// Cost: an `allgather` of 24 bytes, two or three reductions, and the measurements of [`new`](Self::new) unless `settings.model` is
    /// given.
    ///
    /// # Errors
    /// 64 splits of this team are in use; this team has no memory left; members pass different sizes of memory (all on all members); the job is at
    /// fault.
    ///
    /// ```
    /// # use pelago_rma::{Result, World};
    /// # use pelago_collectives::{Collectives, Settings, Sum};
    /// # fn example(world: &World) -> Result<()> {
    /// let all = Collectives::new(world, &Settings::default())?;
    /// let columns = 4; // ranks in rows of four
    /// let rank = world.rank().number();
    /// let row = all.split(Some(rank / columns), 0, &Settings::default())?.expect("every rank has a colour");
    /// let mut sum = [1_u64];
    /// row.allreduce(&mut sum, Sum)?;
    /// assert_eq!(sum[0], u64::from(row.team().size()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: `MPI_Comm_split` of MPI.
    pub fn split(&self, colour: Option<u32>, key: i32, settings: &Settings) -> Result<Option<Self>> {
        self.free_children()?;
        let size = self.team().size();
        let requested = settings.memory_bytes / 8;
        // Offset, so that signed keys compare as unsigned numbers.
        let own = [colour.map_or(NONE, u64::from), (i64::from(key) - i64::from(i32::MIN)) as u64, requested as u64];
        let mut all = vec![[0_u64; 3]; size as usize];
        self.allgather(&[own], &mut all)?;
        // Before any member takes memory, or forgets a prepared operation for it.
        if all.iter().any(|other| other[2] != own[2]) {
            return Err(Error::Disagreement("the memory of the teams of a split"));
        }
        if self.origin.children.borrow().len() >= SPLIT_TEAMS_MAX {
            return Err(Error::TooMany { what: "splits of a team in use", limit: SPLIT_TEAMS_MAX });
        }
        // The same size for each colour, for as many members as the team has: so the memory of all members has the same layout.
        let scratch = Group::scratch_words(size);
        let words = match requested {
            fits if scratch.saturating_add(fits) <= self.member.words.length() => fits,
            _ => (self.pool.borrow().longest_free() / 4).saturating_sub(scratch),
        };
        let region = loop {
            match self.take(scratch + words) {
                Err(Error::NoMemory { .. }) if self.forget()? => {}
                other => break other?,
            }
        };
        let in_use = Rc::new(Cell::new(true));
        self.origin.children.borrow_mut().push(Child { region, in_use: in_use.clone() });
        // Puts of members for an earlier plan have arrived at the first agreement; no member puts before all have cleared.
        self.world.await_quiet()?;
        let memory = self.member.words.part(region.start, scratch + words);
        self.agree_on([region.start as u64, words as u64, 0, 2])?;
        memory.part(0, scratch).local(self.world).clear();
        self.agree_on([region.start as u64, words as u64, 0, 3])?;
        if colour.is_none() {
            in_use.set(false);
            return Ok(None);
        }
        let mut members: Vec<_> = (0..size).filter(|&member| all[member as usize][0] == own[0]).collect();
        members.sort_by_key(|&member| all[member as usize][1]);
        let ranks: Vec<Rank> = members.iter().map(|&member| self.member.rank(member)).collect();
        let team = Team::of(&ranks)?;
        let group = self.world.group_within(&team, memory.offset())?;
        let origin = Origin { memory: self.origin.memory.clone(), in_use: Some(in_use), children: RefCell::default() };
        let position = group.position();
        Self::with(self.world, (team, position), Some(group), (memory.part(scratch, words), origin), settings).map(Some)
    }

    /// Frees the memory of teams that no member uses.
    fn free_children(&self) -> Result<()> {
        if self.origin.children.borrow().is_empty() {
            return Ok(());
        }
        let mut children = self.origin.children.borrow_mut();
        let bits = children.iter().enumerate().filter(|(_, child)| !child.in_use.get()).map(|(index, _)| 1 << index);
        let mut unused = [bits.sum::<u64>()];
        self.world.await_quiet()?;
        self.agree(&mut unused, |one, other| one & other)?;
        let mut index = 0;
        children.retain(|child| {
            let is_unused = unused[0] & 1 << index != 0;
            index += 1;
            if is_unused {
                self.give_back(child.region);
            }
            !is_unused
        });
        Ok(())
    }
}
