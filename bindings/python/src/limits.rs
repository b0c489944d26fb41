//! The bounds of a Python program.

/// Maximum number of teams, of mailboxes and of maps each that a job makes: they live until the job ends.
pub(crate) const OBJECTS_MAX: usize = 1024;

/// Maximum number of device arrays of other libraries that a process registers: it keeps them until it ends, as ranks of its host may have opened them.
pub(crate) const ADOPTED_MAX: usize = 1024;

/// Maximum number of ranks for which a rank keeps the sending end of a mailbox: as many as a rank may have at a time.
pub(crate) const MAIL_SENDERS_MAX: usize = 8;
