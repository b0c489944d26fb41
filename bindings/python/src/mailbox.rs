//! Mailboxes: many senders, one receiver.

use std::collections::BTreeMap;
use std::sync::Arc;

use pelago::messaging::{MailReceiver, MailSender, Mailbox as Slots, Sent, Settings};
use pelago::{Duration, Error, Rank as Number};
use pyo3::prelude::*;

use crate::buffer::Bytes;
use crate::fail::Fail;
use crate::limits::MAIL_SENDERS_MAX;
use crate::link::{Link, RankNumber, check_rank};
use crate::objects::Ends;
use crate::rank::{Rank, duration};

/// The first part of a wait for a message, in which the receiver withdraws unused tickets of senders. After it, only a message ends the wait.
const ACTIVE: Duration = Duration::from_milliseconds(100);

/// A mailbox: bounded many-to-one messages.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Mailbox {
    link: Arc<Link>,
    number: u64,
    message_bytes: usize,
}

/// Creates a mailbox of one receiver, or one for every rank. Collective.
pub(crate) fn new(
    link: &Arc<Link>,
    py: Python<'_>,
    receiver: Option<u32>,
    slots: u32,
    message_bytes: usize,
) -> Result<Mailbox, Fail> {
    let number = link.call(py, |me| {
        let settings = Settings::new(slots, message_bytes);
        let mailbox = match receiver {
            Some(receiver) => Slots::new(me.world, Number::new(receiver), settings)?,
            None => Slots::on_every_rank(me.world, settings)?,
        };
        let mailbox = me.arenas.mailboxes.keep(mailbox)?;
        let receiver = if mailbox.is_receiver() { Some(mailbox.receiver()?) } else { None };
        Ok(me.mailboxes.insert(Ends { mailbox, receiver, senders: BTreeMap::new() }))
    })?;
    Ok(Mailbox { link: link.clone(), number, message_bytes })
}

impl<'a, 'w> Ends<'a, 'w> {
    fn sender(&mut self, to: u32) -> Result<&mut MailSender<'a, 'w>, Error> {
        if !self.senders.contains_key(&to) {
            if self.senders.len() == MAIL_SENDERS_MAX {
                // The drop of a sender that holds a ticket waits for its receiver, which may wait for this message.
                let idle = self.senders.iter().find(|(_, sender)| !sender.holds_ticket()).map(|(&to, _)| to);
                if idle.and_then(|to| self.senders.remove(&to)).is_none() {
                    self.senders.pop_first();
                }
            }
            let sender = self.mailbox.sender(Number::new(to))?;
            self.senders.insert(to, sender);
        }
        self.senders.get_mut(&to).ok_or(Error::Invalid("the sender was just made"))
    }

    fn receiver(&mut self) -> Result<&mut MailReceiver<'a, 'w>, Error> {
        self.receiver.as_mut().ok_or(Error::Invalid("this rank does not receive here"))
    }

    /// Waits for the next message, and returns it.
    fn receive(&mut self, rank: &Rank<'_, '_>, limit: Option<Duration>) -> Result<(u32, Vec<u8>), Fail> {
        fn parts(message: pelago::messaging::MessageGuard<'_>) -> Result<(u32, Vec<u8>), Error> {
            let parts = (message.from().number(), message.to_vec());
            message.release().map(|()| parts)
        }
        let receiver = self.receiver()?;
        let active = limit.map_or(ACTIVE, |limit| limit.min(ACTIVE));
        match receiver.receive_within(active) {
            Err(Error::TimedOut { .. }) if limit.is_none_or(|limit| limit > ACTIVE) => {}
            message => return Ok(parts(message?)?),
        }
        let left = limit.map(|limit| Duration::from_picoseconds(limit.as_picoseconds() - ACTIVE.as_picoseconds()));
        rank.wait_for("a message", left, || receiver.try_receive()?.map(parts).transpose())
    }
}

#[pymethods]
impl Mailbox {
    /// Maximum size in bytes of a message.
    #[getter]
    fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// Waits for a free slot, and sends bytes.
    fn send(&self, py: Python<'_>, to: RankNumber, message: &Bound<'_, PyAny>) -> PyResult<()> {
        let RankNumber(to) = to;
        check_rank(&self.link, to)?;
        let message = Bytes::of(message)?.to_values::<u8>();
        Ok(self.link.call(py, |me| me.mailboxes.with(self.number, |ends| Ok(ends.sender(to)?.send(&message)?)))?)
    }

    /// Sends bytes if a slot is free. Returns whether they were sent.
    fn try_send(&self, py: Python<'_>, to: RankNumber, message: &Bound<'_, PyAny>) -> PyResult<bool> {
        let RankNumber(to) = to;
        check_rank(&self.link, to)?;
        let message = Bytes::of(message)?.to_values::<u8>();
        Ok(self.link.call(py, |me| {
            me.mailboxes.with(self.number, |ends| Ok(matches!(ends.sender(to)?.try_send(&message)?, Sent::Sent)))
        })?)
    }

    /// Waits for the next message, and returns its sender and the message.
    #[pyo3(signature = (timeout=None))]
    fn receive(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<(u32, Vec<u8>)> {
        let limit = duration(timeout)?;
        Ok(self.link.call(py, |me| me.mailboxes.with(self.number, |ends| ends.receive(me, limit)))?)
    }

    /// Waits until all sent messages are in the memory of their receivers.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.link.call(py, |me| {
            me.mailboxes.with(self.number, |ends| Ok(ends.senders.values_mut().try_for_each(MailSender::flush)?))
        })?)
    }
}
