//! Answers on their way to their channels: in order within a chat, and no chat waits for another.

use super::Gateway;
use super::records::Outbound;
use super::run::target;
use crate::host::News;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// How long a channel is left alone that took nothing, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// A chat of a channel.
type Chat = (String, String);

/// What is to be delivered, by chat. A chat is there for as long as somebody works through it.
#[derive(Default)]
pub(super) struct Post(Mutex<HashMap<Chat, VecDeque<Outbound>>>);

impl Post {
    fn chats(&self) -> MutexGuard<'_, HashMap<Chat, VecDeque<Outbound>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers that are not delivered.
    pub fn len(&self) -> usize {
        self.chats().values().map(VecDeque::len).sum()
    }
}

/// What came of trying to deliver an answer.
pub(super) enum Handed {
    /// The channel has it.
    Over,
    /// It can be tried again, not before this time is over where the far side says so.
    Later(Option<Duration>, String),
    /// It will not be taken.
    Never(String),
}

impl Gateway {
    /// Delivers answers that are written down.
    pub(super) fn deliver(self: &Arc<Self>, outbounds: Vec<Outbound>) {
        for outbound in outbounds {
            let chat = (target(&outbound.message).to_owned(), outbound.message.chat_id.clone());
            let mut chats = self.post.chats();
            match chats.get_mut(&chat) {
                Some(queue) => queue.push_back(outbound),
                None => {
                    chats.insert(chat.clone(), VecDeque::from([outbound]));
                    drop(tokio::spawn(Arc::clone(self).postman(chat)));
                }
            }
        }
    }

    async fn postman(self: Arc<Self>, chat: Chat) {
        while let Some(outbound) = self.next_of(&chat) {
            let key = outbound.key.clone();
            if let Err(error) = self.hand(&chat.0, outbound).await {
                // The next process finds it where it was.
                tracing::error!("answer `{key}` to channel `{}`: {error}", chat.0);
            }
        }
    }

    fn next_of(&self, chat: &Chat) -> Option<Outbound> {
        let mut chats = self.post.chats();
        let next = chats.get_mut(chat)?.pop_front();
        if next.is_none() {
            chats.remove(chat);
        }
        next
    }

    /// Delivers one answer, however long the channel has to be waited for.
    async fn hand(self: &Arc<Self>, channel: &str, mut outbound: Outbound) -> anyhow::Result<()> {
        let mut pause = PAUSE.0;
        loop {
            let key = outbound.key.clone();
            match self.hand_over(channel, &mut outbound).await? {
                Handed::Over => {
                    self.news_of(channel, &outbound, None);
                    return self.records.sent(key).await;
                }
                Handed::Never(why) => {
                    tracing::warn!("answer `{key}` is not delivered to channel `{channel}`: {why}");
                    self.news_of(channel, &outbound, Some(why));
                    return self.records.dead(key).await;
                }
                Handed::Later(after, why) => {
                    let wait = after.unwrap_or(pause).min(PAUSE.1);
                    tracing::info!("answer `{key}` waits {} ms for channel `{channel}`: {why}", wait.as_millis());
                    sleep(wait).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    fn news_of(&self, channel: &str, outbound: &Outbound, error: Option<String>) {
        let session = outbound.message.session_id.as_deref().unwrap_or_default();
        self.host.news.tell(News::Delivered { channel: channel.to_owned(), error }, session);
    }

    async fn hand_over(&self, channel: &str, outbound: &mut Outbound) -> anyhow::Result<Handed> {
        let _ = (outbound, Handed::Over, Handed::Later(None, String::new()));
        Ok(Handed::Never(format!("no plugin brings a channel `{channel}`")))
    }
}
