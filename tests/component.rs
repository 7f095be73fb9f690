//! Components that are changed behind their author's back: sections put behind those that they have.

/// `wasm` with one more custom section. Its bytes differ, and its behavior is the same.
pub fn with_section(wasm: &[u8], name: &str, data: &[u8]) -> Vec<u8> {
    let mut content = leb(name.len());
    content.extend_from_slice(name.as_bytes());
    content.extend_from_slice(data);
    with(wasm, 0, &content)
}

/// `wasm` with a manifest that wants these grants.
pub fn wanting(wasm: &[u8], grants: &[&str]) -> Vec<u8> {
    let wants: Vec<_> = grants.iter().map(|grant| serde_json::json!({ "grant": grant, "why": "to try it" })).collect();
    with_section(wasm, "bub:manifest", serde_json::json!({ "wants": wants }).to_string().as_bytes())
}

/// `wasm` with that core module in it, instantiated `instances` times whenever it is itself.
pub fn with_core_module(wasm: &[u8], module: &CoreModule, instances: usize) -> Vec<u8> {
    with_instances(wasm, &module.bytes(), instances)
}

/// The outermost sections of a component, each by its kind and with all its bytes; other content ends the list.
pub fn sections(wasm: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    let mut rest = wasm.get(8..).unwrap_or_default();
    while let Some((id, behind)) = rest.split_first() {
        let Some((length, used)) = number(behind) else { break };
        let Some(section) = rest.get(..1 + used + length) else { break };
        found.push((*id, section));
        rest = &rest[section.len()..];
    }
    found
}

/// A number as WebAssembly writes it, and how many bytes it takes.
fn number(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

/// `wasm` with that core module in it, which wants nothing and is instantiated whenever the component is.
pub fn with_started_module(wasm: &[u8], module: &[u8]) -> Vec<u8> {
    with_instances(wasm, module, 1)
}

fn with_instances(wasm: &[u8], module: &[u8], instances: usize) -> Vec<u8> {
    let modules = sections(wasm).iter().filter(|(id, _)| *id == 1).count();
    let mut all = leb(instances);
    for _ in 0..instances {
        all.push(0);
        all.extend(leb(modules));
        all.push(0);
    }
    with(&with(wasm, 1, module), 2, &all)
}

/// `wasm` with that core module in it, which is never instantiated: it is compiled all the same.
pub fn with_idle_module(wasm: &[u8], module: &[u8]) -> Vec<u8> {
    with(wasm, 1, module)
}

/// A core module of one function that keeps so many numbers alive across a loop: small as a file, and expensive for the
/// register allocator.
pub fn live_ranges(locals: usize) -> Vec<u8> {
    let (get, set, add, eqz) = (0x20, 0x21, 0x7c, 0x50);
    let mut body = vec![1];
    body.extend(leb(locals));
    body.extend([0x7e, 0x03, 0x40]);
    for round in 1..8 {
        for local in 0..locals {
            body.push(get);
            body.extend(leb(local));
            body.push(get);
            body.extend(leb((local * 7 + round * 31) % locals));
            body.extend([add, set]);
            body.extend(leb(local));
        }
    }
    // `br_if 0` on the first of them, `end` of the loop and of the function.
    body.extend([get, 0, eqz, 0x0d, 0, 0x0b, 0x0b]);
    functions(1, &body)
}

/// A core module of so many functions that do nothing.
pub fn idle_functions(count: usize) -> Vec<u8> {
    functions(count, &[0, 0x0b])
}

fn functions(count: usize, body: &[u8]) -> Vec<u8> {
    let module = with(b"\0asm\x01\0\0\0", 1, &[1, 0x60, 0, 0]);
    let mut types = leb(count);
    types.resize(types.len() + count, 0);
    let mut bodies = leb(count);
    let one = [leb(body.len()).as_slice(), body].concat();
    for _ in 0..count {
        bodies.extend_from_slice(&one);
    }
    with(&with(&module, 3, &types), 10, &bodies)
}

/// A core module that takes something.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoreModule {
    /// Its memory, in pages of 64 KiB.
    pub pages: usize,
    /// Its tables, each with this many elements.
    pub tables: (usize, usize),
    /// Whether its start function never comes back.
    pub spins: bool,
}

impl CoreModule {
    fn bytes(self) -> Vec<u8> {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        if self.spins {
            module = with(&module, 1, &[1, 0x60, 0, 0]);
            module = with(&module, 3, &[1, 0]);
        }
        let (tables, elements) = self.tables;
        if tables > 0 {
            let mut content = leb(tables);
            for _ in 0..tables {
                content.extend([0x70, 0]);
                content.extend(leb(elements));
            }
            module = with(&module, 4, &content);
        }
        if self.pages > 0 {
            let mut content = vec![1, 0];
            content.extend(leb(self.pages));
            module = with(&module, 5, &content);
        }
        if self.spins {
            module = with(&module, 8, &[0]);
            // One body: no locals, `loop br 0 end`, `end`.
            module = with(&module, 10, &[1, 7, 0, 3, 0x40, 0x0c, 0, 0x0b, 0x0b]);
        }
        module
    }
}

fn with(wasm: &[u8], id: u8, content: &[u8]) -> Vec<u8> {
    let mut all = wasm.to_vec();
    all.push(id);
    all.extend(leb(content.len()));
    all.extend_from_slice(content);
    all
}

/// A number as WebAssembly writes it.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
