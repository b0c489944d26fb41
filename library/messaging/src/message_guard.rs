//! A message in its slot, and the result of an attempt to send one.

use pelago_base::Rank;
use pelago_rma::{CellSlice, Error, Pod, Result};
use zerocopy::IntoBytes;

/// The result of an attempt to send without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent<M> {
    /// The message was sent.
    Sent,
    /// No slot was free; the message is returned.
    Full(M),
}

/// A receiver that frees slots.
pub(crate) trait Free {
    /// The oldest slot of a share is free.
    fn free(&mut self, share: u32) -> Result<()>;
}

/// Maximum length in bytes of an encoded message that is decoded from the stack.
#[cfg(feature = "serde")]
const DECODED_IN_PLACE: usize = 1024;

/// A message in its slot. Dropping the guard frees the slot.
pub struct MessageGuard<'r> {
    receiver: &'r mut dyn Free,
    share: u32,
    from: Rank,
    bytes: CellSlice<'r, u8>,
}

impl<'r> MessageGuard<'r> {
    pub(crate) fn new(receiver: &'r mut dyn Free, share: u32, from: Rank, bytes: CellSlice<'r, u8>) -> Self {
        Self { receiver, share, from, bytes }
    }

    /// The sender.
    pub fn from(&self) -> Rank {
        self.from
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the message has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes, in the slot.
    pub fn bytes(&self) -> CellSlice<'_, u8> {
        self.bytes
    }

    /// A copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes.to_vec()
    }

    /// Returns the values of a message that `send_values` of a [mailbox](crate::MailSender::send_values) or a
    /// [channel](crate::ChannelSender::send_values) has sent. Cost: one copy and an allocation.
    ///
    /// # Errors
    /// The message does not consist of whole values of this type.
    pub fn values<T: Pod>(&self) -> Result<Vec<T>> {
        let size = size_of::<T>();
        if size == 0 || !self.len().is_multiple_of(size) {
            return Err(Error::Invalid("the message does not consist of values of this type"));
        }
        let mut values = vec![T::new_zeroed(); self.len() / size];
        self.bytes.read(0, values.as_mut_slice().as_mut_bytes());
        Ok(values)
    }

    /// Returns the value of a message that consists of one value. Cost: one copy.
    ///
    /// # Errors
    /// The message has another length.
    pub fn value<T: Pod>(&self) -> Result<T> {
        if self.len() != size_of::<T>() {
            return Err(Error::Invalid("the message is not one value of this type"));
        }
        let mut value = T::new_zeroed();
        self.bytes.read(0, value.as_mut_bytes());
        Ok(value)
    }

    /// Decodes a value of a type with serde that `send_encoded` of a [mailbox](crate::MailSender::send_encoded) or a
    /// [channel](crate::ChannelSender::send_encoded) has sent.
    ///
    /// Cost: one copy; an allocation for more than 1,024 bytes, and the allocations of the value.
    ///
    /// # Errors
    /// The message is not one encoded value of this type.
    #[cfg(feature = "serde")]
    pub fn decode<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        let (mut short, mut long) = ([0; DECODED_IN_PLACE], Vec::new());
        let copy = match short.get_mut(..self.len()) {
            Some(copy) => copy,
            None => {
                long.resize(self.len(), 0);
                &mut long[..]
            }
        };
        self.bytes.read(0, copy);
        match postcard::take_from_bytes(copy) {
            Ok((value, [])) => Ok(value),
            _ => Err(Error::Invalid("the message is not one encoded value of this type")),
        }
    }

    /// Frees the slot, as dropping the guard does, and returns errors.
    ///
    /// # Errors
    /// The holder of the counters was lost; the job is at fault.
    pub fn release(self) -> Result<()> {
        let mut message = std::mem::ManuallyDrop::new(self);
        let share = message.share;
        message.receiver.free(share)
    }

    /// Keeps the message in its slot, to be received again.
    pub(crate) fn keep(self) {
        let _not_dropped = std::mem::ManuallyDrop::new(self);
    }
}

impl Drop for MessageGuard<'_> {
    fn drop(&mut self) {
        // The next receive returns the error.
        let _met_again = self.receiver.free(self.share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Mailbox;
    use crate::settings::Settings;
    use pelago_test_support::threads::{Platform, run};

    #[test]
    fn a_message_says_what_it_is_and_its_slot_is_free_when_it_is_released() {
        run(Platform::Mapped, 2, |world| {
            let (receiver, sender) = (Rank::new(0), Rank::new(1));
            let mailbox = Mailbox::new(world, receiver, Settings::new(1, 8)).unwrap();
            let sent: [&[u8]; 3] = [&[], &[7, 8], &[9]];
            if world.rank() == sender {
                let mut sender = mailbox.sender(receiver).unwrap();
                sent.iter().for_each(|bytes| sender.send(bytes).unwrap());
            } else {
                let mut receiver = mailbox.receiver().unwrap();
                for (number, bytes) in sent.iter().enumerate() {
                    let message = receiver.receive().unwrap();
                    assert_eq!((message.from(), message.len(), message.is_empty()), (sender, bytes.len(), number == 0));
                    assert_eq!((message.to_vec(), message.bytes().to_vec()), (bytes.to_vec(), bytes.to_vec()));
                    // The first two slots are freed by `release`, the last when the guard is dropped.
                    if number < 2 {
                        message.release().unwrap();
                    }
                }
                assert!(!receiver.has_come());
            }
            world.barrier().unwrap();
        });
    }
}
