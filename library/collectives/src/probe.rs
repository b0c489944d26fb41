//! The probe: finds the members of each host, and measures the parameters of the cost model by barriers and puts. Collective.

use pelago_base::Instant;
use pelago_rma::{BarrierAlgorithm, Group, Result};

use crate::collectives::Collectives;
use crate::cost::Model;

/// Words of the put that measures the cost of a byte.
const PROBE_WORDS: usize = 2048;

impl Collectives<'_> {
    /// Returns the number of consecutive members on a host, and whether all members are on one host.
    pub(crate) fn find_hosts(&self, given: Option<u32>) -> Result<(u32, bool)> {
        let (size, position) = (self.team().size(), self.position());
        let maps = |&other: &u32| self.team().rank(other).is_some_and(|rank| self.world.maps(rank));
        let before = (0..position).rev().take_while(maps).count() as u32;
        let after = (position + 1..size).take_while(maps).count() as u32;
        let (first, count) = (position - before, before + 1 + after);
        let mut most = [u64::from(count)];
        self.agree(&mut most, u64::max)?;
        let most = most[0] as u32;
        let regular = first.is_multiple_of(most) && count == most.min(size - first);
        let mut all = [u64::from(regular)];
        self.agree(&mut all, |one, other| one & other)?;
        let found = if all[0] == 1 { most } else { 1 };
        Ok((given.unwrap_or(found).clamp(1, size), most == size))
    }

    /// Measures the parameters of the cost model.
    pub(crate) fn measure(&self) -> Result<Model> {
        const TIMES: u64 = 5;
        let size = self.team().size();
        let probe = PROBE_WORDS.min(self.member.words.length());
        if size == 1 || probe == 0 {
            return Ok(self.model);
        }
        let meet = || match &self.group {
            Some(group) => group.meet_by(BarrierAlgorithm::Dissemination),
            None => self.world.meet_by(BarrierAlgorithm::Dissemination),
        };
        let since = |start: Instant| (self.world.now() - start).as_picoseconds();
        let median = |act: &dyn Fn() -> Result<()>| -> Result<u64> {
            let mut times = [0; TIMES as usize];
            for time in &mut times {
                let start = self.world.now();
                act()?;
                *time = since(start);
            }
            times.sort_unstable();
            Ok(times[times.len() / 2])
        };
        let right = self.team().rank((self.position() + 1) % size).expect("a member");
        let to = self.member.words.at(self.world, right, 0);
        let block = vec![0_u64; probe];
        meet()?;
        let barrier = median(&meet)?;
        let few = median(&|| {
            (0..16).try_for_each(|word| self.world.put(to.add(word.min(probe as u64 - 1)), &[0]).map(drop))?;
            self.world.await_quiet()
        })?;
        let many = median(&|| {
            self.world.put(to, &block)?;
            self.world.await_quiet()
        })?;
        self.group.as_ref().map_or_else(|| self.world.meet(), Group::meet)?;
        let mut slowest = [barrier, few, many, u64::from(!self.is_mapped() && self.world.shares_cores())];
        self.agree(&mut slowest, u64::max)?;
        let [barrier, few, many, shares] = slowest;
        let shares = shares == 1;
        let [barrier, few, many] = [barrier, few, many].map(|picoseconds| picoseconds as f64 / 1e3);
        let latency_ns = barrier / f64::from(size.next_power_of_two().ilog2());
        let byte_ns = ((many - few) / (probe as f64 * 8.0)).max(0.03);
        // A dissemination barrier has as many messages as members times rounds.
        let turn_ns = if shares { latency_ns / f64::from(size) } else { 0.0 };
        Ok(Model { latency_ns, message_ns: (few / 16.0).max(10.0), byte_ns, turn_ns })
    }
}
