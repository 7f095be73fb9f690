//! The outbox: answers that wait for delivery, by chat.

use super::inbox::Outbound;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

/// The names of a channel and of a chat on it.
pub(crate) type Chat = (String, String);

/// Answers to deliver, by chat. A chat is present for as long as a task delivers its answers.
#[derive(Default)]
pub(crate) struct Outbox(Mutex<HashMap<Chat, VecDeque<Outbound>>>);

impl Outbox {
    /// The number of answers that wait for delivery.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().values().map(VecDeque::len).sum()
    }

    /// Queues an answer. Returns whether the chat had no queue: the caller starts the task that delivers its answers.
    pub(crate) fn push(&self, chat: &Chat, outbound: Outbound) -> bool {
        let mut chats = self.0.lock();
        match chats.get_mut(chat) {
            Some(queue) => {
                queue.push_back(outbound);
                false
            }
            None => {
                chats.insert(chat.clone(), VecDeque::from([outbound]));
                true
            }
        }
    }

    /// The next answer to a chat. `None`: there was none, and the chat is removed.
    pub(crate) fn pop(&self, chat: &Chat) -> Option<Outbound> {
        let mut chats = self.0.lock();
        let next = chats.get_mut(chat)?.pop_front();
        if next.is_none() {
            chats.remove(chat);
        }
        next
    }
}
