//! The bounds of a Python program.

/// Maximum number of teams, of mailboxes and of maps that a job makes, each: they live until it ends.
pub(crate) const OBJECTS_MAX: usize = 1024;

/// Maximum number of ranks for which a rank keeps the sending end of a mailbox: as many as a rank may have at a time.
pub(crate) const MAIL_SENDERS_MAX: usize = 8;
