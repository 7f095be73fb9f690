//! Answers on their way to their channels: in order within a chat, and no chat waits for another.

use super::records::Outbound;
use super::run::target;
use super::{Gateway, PAUSE};
use bub_config::Resend;
use bub_runtime::channel::OWN;
use bub_runtime::host::RuntimeEvent;
use bub_runtime::turn::CallScope;
use bub_tape::failpoint;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a channel is waited for that takes nothing. After that nobody wants the answer any more.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

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
        let begun = Instant::now();
        loop {
            let key = outbound.key.clone();
            match self.hand_over(channel, &mut outbound).await? {
                Handed::Over => {
                    self.news_of(channel, &outbound, None);
                    return self.records.sent(key).await;
                }
                Handed::Never(why) => {
                    // Before it is said: whoever hears of it may end the process.
                    self.records.dead(key.clone()).await?;
                    tracing::warn!("answer `{key}` is not delivered to channel `{channel}`: {why}");
                    self.news_of(channel, &outbound, Some(why));
                    return Ok(());
                }
                Handed::Later(_, why) if begun.elapsed() > PATIENCE => {
                    tracing::warn!("answer `{key}` is given up: {why}");
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

    async fn hand_over(&self, name: &str, outbound: &mut Outbound) -> anyhow::Result<Handed> {
        let host = self.host();
        let Some(channel) = self.channels.get(name) else {
            let why = format!("no plugin brings a channel `{name}`");
            return Ok(if OWN.contains(&name) { Handed::Never(why) } else { Handed::Later(None, why) });
        };
        if outbound.is_doubtful && !channel.deduplicates && outbound.handle.is_none() {
            if host.config.channel(name).resend == Resend::Never {
                return Ok(Handed::Never("its delivery was interrupted, and it is not sent twice".to_owned()));
            }
            outbound.message.content.insert_str(0, "(repeated) ");
        }
        outbound.is_doubtful = false;
        self.records.sending(outbound.key.clone()).await?;
        let calls = CallScope::new(&host);
        let sent = match &outbound.handle {
            Some(handle) => channel.update(&calls, handle, &outbound.message).await,
            None => channel.send(&calls, &outbound.message, &outbound.key).await.map(drop),
        };
        failpoint::point("gateway.handed");
        let Err(failure) = sent else { return Ok(Handed::Over) };
        match failure.retry_after() {
            Some(wait) => {
                self.records.unsent(outbound.key.clone()).await?;
                Ok(Handed::Later(Some(wait).filter(|wait| !wait.is_zero()), failure.to_string()))
            }
            // What was shown is gone: it is said anew.
            None if outbound.handle.take().is_some() => Ok(Handed::Later(Some(Duration::ZERO), failure.to_string())),
            None => Ok(Handed::Never(failure.to_string())),
        }
    }

    fn news_of(&self, channel: &str, outbound: &Outbound, error: Option<String>) {
        let session = outbound.message.session_id.as_deref().unwrap_or_default();
        self.host().news.tell(RuntimeEvent::Delivered { channel: channel.to_owned(), error }, session);
    }
}
