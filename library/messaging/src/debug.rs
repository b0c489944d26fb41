//! `{:?}` of the types of this crate: names and sizes, never contents that other ranks may write.

use pelago_base::debug;

use crate::{
    Channel, ChannelReceiver, ChannelSender, Limit, LimitReceiver, LimitSender, MailReceiver, MailSender, Mailbox, MessageGuard,
    Messages, Party,
};

debug! {
    Channel['w]['w] {}
    ChannelReceiver['c]['c] {}
    ChannelSender['c]['c] {}
    Limit['w]['w] {}
    LimitReceiver['l, 'w]['l, 'w] {}
    LimitSender['l, 'w]['l, 'w] {}
    MailReceiver['m, 'w]['m, 'w] {}
    MailSender['m, 'w]['m, 'w] {}
    Mailbox['w]['w] {}
    MessageGuard['r]['r] { from: |it| it.from(), len: |it| it.len() }
    Messages['w]['w] {}
    Party['m, 'w]['m, 'w] {}
}
