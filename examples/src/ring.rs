//! Every rank writes its number to its right neighbour, adds one, and prints what it got: the program of the README.

/// Runs the program as one rank.
///
/// # Errors
/// The job is at fault.
pub fn run() -> pelago::Result<()> {
    pelago::run(|world| {
        let right = world.rank().next(world.size());
        let inbox = world.alloc::<u64>(1)?;
        let sent = world.put(inbox.at(right, 0), &[world.rank().into()])?;
        world.after(&sent).fetch_add(inbox.at(right, 0), 1)?.wait()?;
        world.barrier()?;
        println!("{} holds {}", world.rank(), inbox.local().load(0));
        Ok(())
    })
}
