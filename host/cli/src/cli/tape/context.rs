//! `tape context`.

use super::super::blame;
use super::super::style::Style;
use super::super::text::{self, WIDTH};
use super::compare;
use super::tape_arg::TapeArg;
use super::tape_location::keep_index;
use anyhow::{Result, bail};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::hooks;
use bub_runtime::host::Host;
use bub_runtime::turn::{CallScope, Preview, Requester};
use bub_tape::entry_text::content;
use bub_tape::{Store, json, tape_name};
use bub_types::hook::Hook;
use bub_types::suggest;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Use this selector instead of the configured one
    #[arg(long, value_name = "NAME")]
    selector: Option<String>,
    /// Compare with this selector: what each leaves out, and its tokens
    #[arg(long, value_name = "NAME", requires = "selector")]
    against: Option<String>,
    /// Next message of the user
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Show who wrote which part of the request
    #[arg(long, conflicts_with = "against")]
    blame: bool,
    /// Print one JSON array instead of one message per line; with `--blame` one object
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// `--blame` for that session.
    pub(super) fn to_blame(
        session: Option<&str>,
        selector: Option<String>,
        prompt: Option<String>,
        json: bool,
    ) -> Self {
        let tape_arg = session.map_or_else(TapeArg::default, TapeArg::from_session);
        Self { tape_arg, selector, against: None, prompt, blame: true, json }
    }
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    for name in arguments.selector.iter().chain(&arguments.against) {
        require_selector(&host, name)?;
    }
    if let (Some(one), Some(other)) = (&arguments.selector, &arguments.against) {
        let compared = compare(arguments, &host, [one, other]).await;
        host.close().await;
        compare::print(&mut io::stdout().lock(), &compared?, arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.blame {
        let selector = arguments.selector.as_deref();
        let trail = preview(arguments, &host, selector, async |preview| Box::pin(preview.trail(&host)).await).await;
        host.close().await;
        let (trail, (store, tape)) = trail?;
        blame::print(&mut io::stdout().lock(), &[trail], arguments.json)?;
        keep_index(&*store, &tape).await;
        return Ok(ExitCode::SUCCESS);
    }
    let messages =
        preview(arguments, &host, arguments.selector.as_deref(), async |preview| preview.messages(&host).await).await;
    host.close().await;
    let (messages, (store, tape)) = messages?;
    let mut out = io::stdout().lock();
    let is_terminal = out.is_terminal();
    let shown = |message: &String| if is_terminal { text::json_line(message) } else { message.clone() };
    if arguments.json {
        let messages: Vec<String> = messages.iter().map(|message| format!("\n  {}", shown(message))).collect();
        writeln!(out, "[{}\n]", messages.join(","))?;
    } else if is_terminal {
        messages.iter().try_for_each(|message| print(&mut out, message))?;
    } else {
        messages.iter().try_for_each(|message| writeln!(out, "{message}"))?;
    }
    out.flush()?;
    drop(out);
    keep_index(&*store, &tape).await;
    Ok(ExitCode::SUCCESS)
}

/// The selections of two selectors from the same tape.
async fn compare(arguments: &Arguments, host: &Arc<Host>, names: [&String; 2]) -> Result<[compare::Side; 2]> {
    let side = async |name: &String| {
        let looked = preview(arguments, host, Some(name), async |preview| preview.selection(host).await);
        Ok::<_, anyhow::Error>(looked.await?.0)
    };
    // The first call of a component includes its start, so each selector runs once before the measurement.
    side(names[0]).await?;
    side(names[1]).await?;
    Ok([side(names[0]).await?, side(names[1]).await?])
}

/// Previews the next turn of the session with that selector.
async fn preview<T>(
    arguments: &Arguments,
    host: &Arc<Host>,
    selector: Option<&str>,
    look: impl AsyncFnOnce(Preview<'_>) -> Result<T>,
) -> Result<(T, (Arc<dyn Store>, String))> {
    let found = arguments.tape_arg.find_with(host).await?;
    let (tape, session) = match &found {
        // Hooks need a session id, and the name of a tape does not reveal it.
        Some(found) => {
            let name = found.tape.name();
            (name.to_owned(), found.session.as_deref().filter(|session| !session.is_empty()).unwrap_or(name).to_owned())
        }
        None => {
            let session = arguments.tape_arg.session();
            (tape_name(&host.workspace, session), session.to_owned())
        }
    };
    let tapes = match &found {
        Some(found) => found.location.tapes().cloned(),
        None => None,
    };
    let tapes = tapes.unwrap_or_else(|| host.tapes());
    if let Some(left) = tapes.journals().left(&tape).await? {
        let entries = text::count(left.entries as u64, "entry", "entries");
        writeln!(
            io::stderr(),
            "an interrupted turn waits: the next turn will see {entries} more, which are not shown"
        )?;
    }
    let store: Arc<dyn Store> = Arc::clone(tapes.store());
    let prompt = arguments.prompt.as_deref();
    let requester = Requester::at_terminal();
    let behind = (Arc::clone(&store), tape.clone());
    let preview = Preview { store, tape: &tape, session_id: &session, prompt, selector, requester };
    Ok((look(preview).await?, behind))
}

fn require_selector(host: &Arc<Host>, name: &str) -> Result<()> {
    let calls = CallScope::new(host);
    let selectors: Vec<&str> = hooks::selectors(&calls).collect();
    if selectors.contains(&name) {
        return Ok(());
    }
    let shown = text::line(name);
    if calls.plugins.exporting(Hook::Selector).any(|plugin| plugin.name == name) {
        bail!("plugin `{shown}` is not asked to select; bub-wasm plugin grant {shown} hook:selector");
    }
    let hint = suggest::hint(name, selectors.iter().copied());
    let hint = if hint.is_empty() { format!("; there is: {}", selectors.join(" ")) } else { hint };
    bail!("no plugin `{shown}` selects{hint}")
}

/// Prints one message.
fn print(out: &mut impl Write, message: &str) -> io::Result<()> {
    let style = Style::for_stdout();
    let get = |key: &str| json::get(message, key).filter(|value| *value != "null" && *value != "\"\"");
    let role = get("role").map(text::value).unwrap_or_default();
    writeln!(out, "{}", style.bold(text::cut(&role, WIDTH)))?;
    let fields = json::fields(message).unwrap_or_default();
    for (key, value) in fields.into_iter().filter(|(key, value)| key != "role" && *value != "\"\"" && *value != "null")
    {
        let shown = match key.as_str() {
            "content" => content(value).join("\n"),
            _ => format!("{key}: {}", text::value(value)),
        };
        for line in text::fold(&shown, WIDTH - 2) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
