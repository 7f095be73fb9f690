//! The expected content of a tape, by the acknowledged operations: the protocol's promise, without its means.

/// An entry as far as these tests look at it: `user:one`, `call:a`, `result:1`, `anchor:n`, `error`.
pub(crate) type Token = String;

/// A tape, its sidecar and the entries put away from both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) tape: Vec<Token>,
    pub(crate) notes: Vec<Token>,
    /// In order of their texts: which file it is in does not matter.
    pub(crate) away: Vec<Token>,
}

impl std::fmt::Display for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "tape {} | notes {} | away {}", self.tape.join(" "), self.notes.join(" "), self.away.join(" "))
    }
}

/// A world with the turn that is written to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writing {
    pub(crate) world: World,
    /// The turn's operations so far, and those of each fork of it, innermost last.
    open: Vec<Vec<String>>,
    /// It ended without a merge.
    closed: bool,
}

/// The tokens that one operation adds to the tape.
fn tokens(operation: &str) -> Vec<Token> {
    let words: Vec<&str> = operation.split(' ').collect();
    match words.as_slice() {
        ["say", role, texts @ ..] => texts.iter().map(|text| format!("{role}:{text}")).collect(),
        ["call", ids @ ..] => vec![format!("call:{}", ids.join(","))],
        ["result", results @ ..] => vec![format!("result:{}", results.join(","))],
        ["handoff", name] => vec![format!("anchor:{name}"), "event:handoff".to_owned()],
        ["beside", text] => vec![format!("user:{text}")],
        _ => Vec::new(),
    }
}

impl World {
    fn put_away(&mut self) {
        self.away.append(&mut self.tape);
        self.away.append(&mut self.notes);
        self.away.sort_unstable();
    }

    fn write(&mut self, operation: &str) {
        match operation.split_once(' ') {
            Some(("reset", _)) => self.put_away(),
            Some(("note", text)) => self.notes.push(format!("user:{text}")),
            _ => self.tape.extend(tokens(operation)),
        }
    }

    /// The operations of a turn, as one write.
    fn merge(&mut self, operations: &[String]) {
        // Entries that a turn wrote before a reset are lost when the first reset keeps nothing.
        let is_reset = |operation: &&String| operation.starts_with("reset");
        let kept = operations.iter().find(is_reset).is_none_or(|first| first == "reset archive");
        let last = operations.iter().rposition(|operation| is_reset(&operation));
        let (_, behind) = operations.split_at(last.filter(|_| !kept).unwrap_or(0));
        behind.iter().for_each(|operation| self.write(operation));
    }
}

impl Writing {
    /// An operation that was done.
    pub(crate) fn apply(&mut self, operation: &str) {
        match operation.split(' ').next().unwrap_or_default() {
            "begin" => {
                self.recover();
                self.open = vec![Vec::new()];
            }
            "fork" => self.open.push(Vec::new()),
            "drop" => drop(self.open.pop()),
            "merge" => {
                let own = self.open.pop().unwrap_or_default();
                match self.open.last_mut() {
                    Some(parent) => parent.extend(own),
                    None => self.world.merge(&own),
                }
            }
            "close" => self.closed = true,
            "beside" => self.world.write(operation),
            "reset" if self.open.is_empty() || self.closed => {
                self.recover();
                self.world.write(operation);
            }
            _ if self.open.is_empty() || self.closed => self.world.write(operation),
            // Records for crash recovery belong to the turn, whichever fork they came through.
            "prompt" | "tool" => self.open.first_mut().into_iter().for_each(|turn| turn.push(operation.to_owned())),
            _ => self.open.last_mut().into_iter().for_each(|fork| fork.push(operation.to_owned())),
        }
    }

    /// The process ends.
    pub(crate) fn end(&mut self) {
        self.closed = true;
        self.open.truncate(1);
    }

    /// The next turn recovers one that did not end.
    pub(crate) fn recover(&mut self) {
        self.closed = false;
        let Some(turn) = std::mem::take(&mut self.open).into_iter().next().filter(|turn| !turn.is_empty()) else {
            return;
        };
        self.world.merge(&turn);
        let reset = turn.iter().rposition(|operation| operation.starts_with("reset"));
        let own: Vec<&str> = turn.iter().skip(reset.map_or(0, |place| place + 1)).map(String::as_str).collect();
        let tape = &mut self.world.tape;
        let find = |what: &str| turn.iter().rev().find_map(|operation| operation.strip_prefix(what));
        if let Some(prompt) = find("prompt ").filter(|_| !own.iter().any(|own| own.starts_with("say user "))) {
            tape.push(format!("user:{prompt}"));
        }
        let calls = |operation: &str| operation.strip_prefix("call ").map(|ids| ids.split(' ').count());
        let last = own.iter().rev().find(|own| own.starts_with("call ") || own.starts_with("result "));
        if let Some(count) = last.and_then(|operation| calls(operation)) {
            tape.push(format!("result:{}", vec!["interrupted"; count].join(",")));
        }
        let is_known =
            |id: &str| own.iter().any(|own| own.starts_with("call ") && own.split(' ').any(|word| word == id));
        let tools = turn.iter().filter_map(|operation| operation.strip_prefix("tool "));
        let unknown: Vec<&str> = tools.filter(|id| !is_known(id)).collect();
        if !unknown.is_empty() {
            tape.push(format!("call:{}", unknown.join(",")));
            tape.push(format!("result:{}", vec!["interrupted"; unknown.len()].join(",")));
        }
        tape.push("error".to_owned());
        tape.push("event:turn.recovered".to_owned());
    }
}

/// All worlds that may be left when `done` was acknowledged, and the one operation behind it begun.
pub(crate) fn possible(before: &Writing, done: &[String], begun: Option<&str>) -> Vec<Writing> {
    let mut without = before.clone();
    done.iter().for_each(|operation| without.apply(operation));
    let mut all = vec![without];
    if let Some(begun) = begun {
        let mut with = all[0].clone();
        with.apply(begun);
        if begun.starts_with("reset") && with.open.is_empty() {
            let mut half = all[0].clone();
            half.recover();
            all.push(half.clone());
            // Files are put away one by one, the tape last.
            half.world.away.append(&mut half.world.notes);
            half.world.away.sort_unstable();
            all.push(half);
        }
        all.push(with);
    }
    all
}
