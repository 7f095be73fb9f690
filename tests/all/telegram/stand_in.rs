//! A fake of Telegram's server: it keeps chats, messages, updates and files, and rejects the same requests as Telegram,
//! with the same messages.

mod html;
mod wire;

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use wire::{Asked, Part};

/// The bot's token.
pub const TOKEN: &str = "123456789:AAE-the-token-of-the-tests_0000";

/// In place of a status: no answer, and the connection is gone.
pub const HANGS_UP: u16 = 0;

/// The bot.
pub const BOT: i64 = 7;

/// A message of a chat.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub id: i64,
    /// As people see it.
    pub text: String,
    /// With its tags, where it has any.
    pub html: Option<String>,
    pub thread: Option<i64>,
    /// Its kind, its name, and its content.
    pub file: Option<(&'static str, String, Vec<u8>)>,
    pub edits: usize,
}

/// An answer that is given once, in place of what would be: status, description, parameters.
type Upset = (u16, String, Value);

#[derive(Default)]
struct State {
    updates: VecDeque<Value>,
    next_update: i64,
    next_message: i64,
    chats: BTreeMap<i64, Vec<Message>>,
    blocked: HashSet<i64>,
    moved: HashMap<i64, i64>,
    files: HashMap<String, Vec<u8>>,
    /// By method: after how many calls that are let through, and what.
    upsets: HashMap<String, VecDeque<(usize, Upset)>>,
    /// Methods and their arguments.
    called: Vec<(String, Value)>,
    is_polled: bool,
    /// All that was asked for, and with which token.
    paths: Vec<String>,
}

/// The server; its threads end with the test's process.
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl StandIn {
    pub fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let state = State { next_update: 1_000, next_message: 500, ..State::default() };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let serving = shared.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = serving.clone();
                thread::spawn(move || {
                    if let Some(asked) = wire::read(&connection) {
                        let (status, body) = answer(&shared, &asked);
                        if status != HANGS_UP {
                            wire::write(&connection, status, &body);
                        }
                    }
                });
            }
        });
        Self { address, shared }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().expect("no thread panicked")
    }

    /// The bot may write there.
    pub fn chat(&self, chat: i64) {
        self.state().chats.entry(chat).or_default();
    }

    /// Blocks the bot in that chat.
    pub fn block(&self, chat: i64) {
        self.state().blocked.insert(chat);
    }

    /// A group grew, and is another from here on.
    pub fn moves(&self, from: i64, to: i64) {
        self.chat(to);
        self.state().moved.insert(from, to);
    }

    /// Gives an update of that kind: the number of its message.
    pub fn tells(&self, kind: &str, mut message: Value) -> i64 {
        let mut state = self.state();
        if message["message_id"].is_null() {
            state.next_message += 1;
            message["message_id"] = state.next_message.into();
        }
        if message["date"].is_null() {
            message["date"] = 1_790_000_000.into();
        }
        if let Some(chat) = message["chat"]["id"].as_i64() {
            state.chats.entry(chat).or_default();
        }
        let id = message["message_id"].as_i64().expect("a number");
        state.next_update += 1;
        let update = json!({ "update_id": state.next_update, kind: message });
        state.updates.push_back(update);
        self.shared.1.notify_all();
        id
    }

    /// Stores a file that a user sent, and returns its id.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        self.state().files.insert(name.to_owned(), bytes.to_vec());
        name.to_owned()
    }

    /// The next call of the method, behind so many others, is answered like this.
    pub fn upset(&self, method: &str, behind: usize, status: u16, description: &str, parameters: Value) {
        let upset = (status, description.to_owned(), parameters);
        self.state().upsets.entry(method.to_owned()).or_default().push_back((behind, upset));
    }

    /// The messages of the chat.
    pub fn messages(&self, chat: i64) -> Vec<Message> {
        self.state().chats.get(&chat).cloned().unwrap_or_default()
    }

    /// The visible text of the chat.
    pub fn seen(&self, chat: i64) -> Vec<String> {
        self.messages(chat).into_iter().map(|message| message.text).collect()
    }

    /// Removes a message of the bot, as a user does.
    pub fn remove(&self, chat: i64, id: i64) {
        self.state().chats.entry(chat).or_default().retain(|message| message.id != id);
    }

    /// The arguments of the calls of that method.
    pub fn called(&self, method: &str) -> Vec<Value> {
        let state = self.state();
        state.called.iter().filter(|(called, _)| called == method).map(|(_, with)| with.clone()).collect()
    }

    /// All that was asked for.
    pub fn paths(&self) -> Vec<String> {
        self.state().paths.clone()
    }
}

/// The result of a method, or its error: status, description, parameters.
type Given = Result<Value, Upset>;

fn refused(status: u16, description: &str) -> Given {
    Err((status, description.to_owned(), json!({})))
}

fn bad(description: &str) -> Given {
    refused(400, &format!("Bad Request: {description}"))
}

fn answer(shared: &(Mutex<State>, Condvar), asked: &Asked) -> (u16, Vec<u8>) {
    shared.0.lock().expect("no thread panicked").paths.push(asked.path.clone());
    if let Some(path) = asked.path.strip_prefix(&format!("/file/bot{TOKEN}/files/")) {
        let file = shared.0.lock().expect("no thread panicked").files.get(path).cloned();
        return file.map_or((404, b"not found".to_vec()), |bytes| (200, bytes));
    }
    let given = match asked.path.strip_prefix(&format!("/bot{TOKEN}/")) {
        Some(method) => call(shared, method, asked),
        None => refused(401, "Unauthorized"),
    };
    let (status, said) = match given {
        Ok(result) => (200, json!({ "ok": true, "result": result })),
        // Something that is not Telegram, between here and there.
        Err((status, description, _)) if description.starts_with('<') => return (status, description.into_bytes()),
        Err((status, description, parameters)) => {
            (status, json!({ "ok": false, "error_code": status, "description": description, "parameters": parameters }))
        }
    };
    (status, said.to_string().into_bytes())
}

fn call(shared: &(Mutex<State>, Condvar), method: &str, asked: &Asked) -> Given {
    let (fields, file) = asked.fields();
    if method == "getUpdates" {
        return updates(shared, &fields);
    }
    let mut state = shared.0.lock().expect("no thread panicked");
    state.called.push((method.to_owned(), fields.clone().into()));
    state.upset(method)?;
    let number = |key: &str| fields.get(key).and_then(Value::as_i64);
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    match method {
        "getMe" => Ok(json!({ "id": BOT, "is_bot": true, "first_name": "Bub", "username": "helper_bot" })),
        "getFile" => match state.files.get(text("file_id")) {
            Some(bytes) => Ok(json!({ "file_path": format!("files/{}", text("file_id")), "file_size": bytes.len() })),
            None => bad("invalid file_id"),
        },
        "deleteMessage" => {
            let (chat, id) = (state.place(&fields)?, number("message_id"));
            state.chats.entry(chat).or_default().retain(|message| Some(message.id) != id);
            Ok(true.into())
        }
        "sendMessage" | "editMessageText" => {
            let chat = state.place(&fields)?;
            let html = (text("parse_mode") == "HTML").then(|| text("text").to_owned());
            let seen = match &html {
                Some(html) => html::seen(html)
                    .or_else(|why| bad(&format!("can't parse entities: {why}")).map(|_| String::new()))?,
                None => text("text").to_owned(),
            };
            if seen.trim().is_empty() {
                return bad("message text is empty");
            }
            if seen.trim().encode_utf16().count() > 4_096 {
                return bad("message is too long");
            }
            let said = Message {
                text: seen.trim().to_owned(),
                html,
                thread: number("message_thread_id"),
                ..Message::default()
            };
            if method == "sendMessage" {
                Ok(state.put(chat, said))
            } else {
                state.edit(chat, number("message_id"), said)
            }
        }
        "sendPhoto" | "sendDocument" => {
            let chat = state.place(&fields)?;
            let kind = if method == "sendPhoto" { "photo" } else { "document" };
            let (name, bytes) = match file {
                Some(Part { filename, bytes }) => (filename, bytes),
                None => (text(kind).to_owned(), Vec::new()),
            };
            let is_image =
                bytes.starts_with(b"\x89PNG") || bytes.starts_with(b"\xff\xd8\xff") || name.starts_with("https://");
            if kind == "photo" && !is_image {
                return bad("IMAGE_PROCESS_FAILED");
            }
            let thread = number("message_thread_id");
            Ok(state.put(chat, Message { file: Some((kind, name, bytes)), thread, ..Message::default() }))
        }
        _ => refused(404, "Not Found"),
    }
}

fn updates(shared: &(Mutex<State>, Condvar), fields: &Map<String, Value>) -> Given {
    let number = |key: &str| fields.get(key).and_then(Value::as_i64).unwrap_or_default();
    let mut state = shared.0.lock().expect("no thread panicked");
    state.called.push(("getUpdates".to_owned(), fields.clone().into()));
    if state.is_polled {
        return refused(
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        );
    }
    state.upset("getUpdates")?;
    let offset = number("offset");
    state.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
    let until = Instant::now() + Duration::from_secs(number("timeout").unsigned_abs());
    state.is_polled = true;
    while state.updates.is_empty() {
        let Some(left) = until.checked_duration_since(Instant::now()) else { break };
        state = shared.1.wait_timeout(state, left).expect("no thread panicked").0;
    }
    state.is_polled = false;
    Ok(state.updates.iter().take(100).cloned().collect())
}

impl State {
    fn upset(&mut self, method: &str) -> Result<(), Upset> {
        let Some(upsets) = self.upsets.get_mut(method) else { return Ok(()) };
        match upsets.front_mut() {
            Some((0, _)) => upsets.pop_front().map_or(Ok(()), |(_, upset)| Err(upset)),
            Some((behind, _)) => {
                *behind -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The chat that is meant.
    fn place(&self, fields: &Map<String, Value>) -> Result<i64, Upset> {
        let chat = fields.get("chat_id").and_then(Value::as_i64).unwrap_or_default();
        let refused = |status, description: &str, parameters| Err((status, description.to_owned(), parameters));
        if self.blocked.contains(&chat) {
            return refused(403, "Forbidden: bot was blocked by the user", json!({}));
        }
        if let Some(to) = self.moved.get(&chat) {
            let parameters = json!({ "migrate_to_chat_id": to });
            return refused(400, "Bad Request: group chat was upgraded to a supergroup chat", parameters);
        }
        match self.chats.contains_key(&chat) {
            true => Ok(chat),
            false => refused(400, "Bad Request: chat not found", json!({})),
        }
    }

    fn put(&mut self, chat: i64, message: Message) -> Value {
        self.next_message += 1;
        let id = self.next_message;
        self.chats.entry(chat).or_default().push(Message { id, ..message });
        json!({ "message_id": id, "chat": { "id": chat } })
    }

    fn edit(&mut self, chat: i64, id: Option<i64>, said: Message) -> Given {
        let found = self.chats.entry(chat).or_default().iter_mut().find(|message| Some(message.id) == id);
        let Some(message) = found else { return bad("message to edit not found") };
        if message.text == said.text && message.html == said.html {
            return bad("message is not modified: specified new message content and reply markup are exactly the same");
        }
        message.edits += 1;
        (message.text, message.html) = (said.text, said.html);
        Ok(json!({ "message_id": id, "chat": { "id": chat } }))
    }
}
