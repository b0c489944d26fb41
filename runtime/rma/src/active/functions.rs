//! The functions that active messages can call.

use core::marker::PhantomData;
use std::cell::RefCell;

use pelago_base::Rank;
use pelago_memory::Pod;
use zerocopy::IntoBytes;

use crate::limits::{ACTIVE_FUNCTIONS_MAX, ACTIVE_REPLY_BYTES_MAX};
use crate::{Context, Error};

/// Maximum number of messages that are [prepared](Functions::register_prepared) together.
pub const PREPARED: usize = 16;

/// Runs consecutive messages of one function from these words, and counts each one that has run.
type Run = Box<dyn FnMut(&Call<'_>, &[u64], &mut usize)>;

/// The functions of a set of active messages: each rank registers the same ones in the same order.
///
/// A function is identified at compile time: [`Function`] has the types of its argument and its reply, and no code address is sent.
#[derive(Default)]
pub struct Functions {
    entries: Vec<Entry>,
    print: u64,
}

/// A registered function.
pub(super) struct Entry {
    pub(super) run: Run,
    /// Number of words of a message.
    pub(super) record_words: usize,
    /// A hash of the functions up to this one, by which a function of another set is detected.
    pub(super) print: u64,
}

/// A registered function with an argument of type `A` and a reply of type `R`. It belongs to the set in which it was registered.
pub struct Function<A, R = ()> {
    pub(super) number: u16,
    pub(super) print: u64,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R> Clone for Function<A, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, R> Copy for Function<A, R> {}

/// Whether a message has run, or has to be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The message has run.
    Done,
    /// The message could not run now: it is retried when this rank makes progress, and messages behind it wait.
    Later,
}

/// The environment of a function call.
pub struct Call<'c> {
    pub(super) context: &'c Context,
    pub(super) from: Rank,
    pub(super) failure: &'c RefCell<Option<Error>>,
}

impl<'c> Call<'c> {
    /// The rank that sent the message.
    pub fn from(&self) -> Rank {
        self.from
    }

    /// The context of the rank on which the function runs. The function may issue operations, but must not wait for other ranks.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// Reports that the message failed: the next [barrier](super::ActiveMessages::barrier) returns the first of these errors on this rank, and an
    /// unspecific error on others.
    pub fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }
}

impl Functions {
    /// Returns an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a function without a reply. It shares state with the program by an `Rc`.
    ///
    /// If a function panics, the call of the library in which it runs panics. The message counts as failed and does not run again; the messages behind it
    /// run later.
    ///
    /// # Panics
    /// There are 4,096 functions already.
    pub fn register<A: Pod>(&mut self, mut f: impl FnMut(&Call<'_>, A) + 'static) -> Function<A> {
        self.register_retried(move |call, argument| {
            f(call, argument);
            Next::Done
        })
    }

    /// Registers a function that may be unable to run until another rank has finished some work.
    ///
    /// # Panics
    /// There are 4,096 functions already.
    pub fn register_retried<A: Pod>(&mut self, mut f: impl FnMut(&Call<'_>, A) -> Next + 'static) -> Function<A> {
        let run = move |call: &Call<'_>, records: &[u64], done: &mut usize| {
            for record in records.chunks_exact(words_of::<A>()) {
                if f(call, argument_of(record)) == Next::Later {
                    return;
                }
                *done += 1;
            }
        };
        self.add::<A, ()>(Box::new(run), words_of::<A>())
    }

    /// As [`register_retried`](Self::register_retried), for functions with scattered memory accesses: `prepare` is called before the function,
    /// with the arguments of up to [`PREPARED`] messages that are next. It may read the memory that they will use, so that the cache misses of all
    /// of them overlap.
    ///
    /// # Panics
    /// There are 4,096 functions already.
    ///
    /// Source: Chen et al., *Improving hash join performance through prefetching* (2004), where such groups are prefetched.
    pub fn register_prepared<A: Pod>(
        &mut self,
        mut prepare: impl FnMut(&Call<'_>, &[A]) + 'static,
        mut f: impl FnMut(&Call<'_>, A) -> Next + 'static,
    ) -> Function<A> {
        let mut group = Vec::with_capacity(PREPARED);
        let run = move |call: &Call<'_>, records: &[u64], done: &mut usize| {
            for some in records.chunks(PREPARED * words_of::<A>()) {
                group.clear();
                group.extend(some.chunks_exact(words_of::<A>()).map(argument_of::<A>));
                prepare(call, &group);
                for &argument in &group {
                    if f(call, argument) == Next::Later {
                        return;
                    }
                    *done += 1;
                }
            }
        };
        self.add::<A, ()>(Box::new(run), words_of::<A>())
    }

    /// Registers a function that returns a reply of up to 56 bytes. If the function panics, its caller gets no reply.
    ///
    /// # Panics
    /// There are 4,096 functions already; the reply is longer.
    pub fn register_with_reply<A: Pod, R: Pod>(&mut self, mut f: impl FnMut(&Call<'_>, A) -> R + 'static) -> Function<A, R> {
        assert!(size_of::<R>() <= ACTIVE_REPLY_BYTES_MAX, "a reply has up to {ACTIVE_REPLY_BYTES_MAX} bytes");
        let words = 1 + words_of::<A>();
        let run = move |call: &Call<'_>, records: &[u64], done: &mut usize| {
            for record in records.chunks_exact(words) {
                let reply = f(call, argument_of(&record[1..]));
                super::inbox::reply(call, record[0], reply.as_bytes());
                *done += 1;
            }
        };
        self.add::<A, R>(Box::new(run), words)
    }

    fn add<A, R>(&mut self, run: Run, record_words: usize) -> Function<A, R> {
        assert!(self.entries.len() < ACTIVE_FUNCTIONS_MAX, "at most {ACTIVE_FUNCTIONS_MAX} functions");
        let number = self.entries.len() as u16;
        // Ranks run the same executable: equal type names mean equal types.
        let name = core::any::type_name::<fn(A) -> R>().bytes();
        self.print =
            name.fold(self.print ^ record_words as u64, |print, byte| (print ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        let print = self.print;
        self.entries.push(Entry { run, record_words, print });
        Function { number, print, types: PhantomData }
    }

    /// Returns a hash by which ranks detect that they registered different functions.
    pub(super) fn fingerprint(&self) -> u64 {
        self.print.wrapping_add(self.entries.len() as u64)
    }

    /// Number of words of the longest message, including the header of its run.
    pub(super) fn record_words_max(&self) -> usize {
        self.entries.iter().map(|entry| 1 + entry.record_words).max().unwrap_or(0)
    }

    /// Returns the hash of each function, by its number.
    pub(super) fn prints(&self) -> Box<[u64]> {
        self.entries.iter().map(|entry| entry.print).collect()
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

/// Number of words of an argument; a message has at least one.
pub(super) const fn words_of<A>() -> usize {
    let words = size_of::<A>().div_ceil(8);
    if words == 0 { 1 } else { words }
}

#[inline(always)]
fn argument_of<A: Pod>(record: &[u64]) -> A {
    A::read_from_prefix(record.as_bytes())
        .map(|(argument, _)| argument)
        .unwrap_or_else(|_| unreachable!("a record holds its argument"))
}
