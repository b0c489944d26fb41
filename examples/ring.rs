//! Tutorial: every rank writes its number to its right neighbour, and an atomic ordered behind the put adds one.

fn main() -> pelago::Result<()> {
    pelago::run(|world| {
        // The rank to the right; the last rank's right neighbour is rank 0.
        let right = world.rank().next(world.size());

        // Collective: one 64-bit word on every rank, at the same offset, zero at first.
        let inbox = world.alloc::<u64>(1)?;

        // One-sided: the right neighbour does not call a receive function.
        let sent = world.put(inbox.at(right, 0), &[world.rank().into()])?;

        // Operations are unordered unless the program orders them. This atomic takes effect after the put.
        world.after(&sent).fetch_add(inbox.at(right, 0), 1)?.wait()?;

        // All operations of all ranks before the barrier are visible after it.
        world.barrier()?;
        println!("rank {} holds {}", world.rank(), inbox.local().load(0));
        Ok(())
    })
}
