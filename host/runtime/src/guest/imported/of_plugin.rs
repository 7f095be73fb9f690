//! Configuration, log, secrets, processes, models and tools.

use super::{Imported, imported};
use crate::guest::bindings::exchange;
use crate::guest::bindings::log::Level;
use crate::guest::bindings::process::Output;
use crate::guest::bindings::usage::Row;
use crate::guest::bindings::{chat, config, log, process, secrets, servers, sink, toolbox, usage};
use crate::guest::completion::Completion;
use crate::guest::handles::{Child, Server, Sink, TurnHandle};
use bub_types::{Error, ToolCall, ToolSpec};
use wasmtime::component::Resource;

imported! {
    "bub:plugin/config" in config::Host {
        get(key: String) -> Option<String>;
        granted(grant: String) -> Result<(), Error>;
    }
}

imported! {
    "bub:plugin/log" in log::Host {
        log(level: Level, message: String) -> ();
    }
}

imported! {
    "bub:plugin/secrets" in secrets::Host {
        placeholder(name: String) -> Result<String, Error>;
        matches(name: String, value: String) -> Result<bool, Error>;
        hmac_sha256(name: String, data: Vec<u8>) -> Result<Vec<u8>, Error>;
    }
}

imported! {
    "bub:process/process" in process::Host {
        spawn(command: String, directory: Option<String>) -> Result<Resource<Child>, Error>;
        find(id: String) -> Result<Resource<Child>, Error>;
    }
}

imported! {
    "bub:process/process.child" in process::HostChild, drops played Child {
        id(child: Resource<Child>) -> String;
        wait(child: Resource<Child>, timeout_ms: u64) -> Result<Output, Error>;
        read(child: Resource<Child>, offset: u64, max: u32) -> Result<Output, Error>;
        kill(child: Resource<Child>) -> Result<(), Error>;
    }
}

imported! {
    "bub:process/servers" in servers::Host {
        open(name: String) -> Result<Resource<Server>, Error>;
    }
}

imported! {
    "bub:process/servers.server" in servers::HostServer, drops played Server {
        prepare(server: Resource<Server>, timeout_ms: u64) -> Result<Option<String>, Error>;
        set_prepared(server: Resource<Server>, text: String) -> Result<(), Error>;
        write_line(server: Resource<Server>, line: String, timeout_ms: u64) -> Result<(), Error>;
        read_line(server: Resource<Server>, timeout_ms: u64) -> Result<Option<String>, Error>;
        reset(server: Resource<Server>) -> Result<(), Error>;
    }
}

imported! {
    "bub:model/chat" in chat::Host {
        complete(turn: Resource<TurnHandle>, request: exchange::Request) -> Result<Resource<Completion>, Error>;
        window(model: String) -> Option<u32>;
        input_budget(model: String) -> Option<u32>;
        token_calibration(model: String) -> f64;
    }
}

imported! {
    "bub:model/chat.completion" in chat::HostCompletion, drops played Completion {
        next(completion: Resource<Completion>) -> Result<Option<exchange::Event>, Error>;
    }
}

impl exchange::Host for Imported<'_> {}
impl sink::Host for Imported<'_> {}

imported! {
    "bub:model/sink" in sink::HostSink, drops given Sink {
        send(sink: Resource<Sink>, event: exchange::Event) -> Result<(), Error>;
    }
}

imported! {
    "bub:model/usage" in usage::Host {
        session(turn: Resource<TurnHandle>, days: u32) -> Result<Vec<Row>, Error>;
        today() -> Result<Vec<Row>, Error>;
        daily_limit() -> Result<Option<u64>, Error>;
    }
}

imported! {
    "bub:tools/toolbox" in toolbox::Host {
        list_tools(turn: Resource<TurnHandle>) -> Result<Vec<ToolSpec>, Error>;
        call_tools(turn: Resource<TurnHandle>, calls: Vec<ToolCall>) -> Result<Vec<Result<String, Error>>, Error>;
    }
}
