//! Costs of tapes with a thousand, a hundred thousand and a million entries of about 240 bytes. `cargo bench --bench
//! tape` prints one line per measurement. Costs that must not grow with the tape may be 1.5 times those at a thousand
//! entries in the same run; others have targets of their own.

mod cold;
mod figures;
mod tapes;

#[path = "../figure.rs"]
mod figure;

fn main() {
    let mut arguments = std::env::args().skip(1);
    // Cold starts are measured in a process of their own, which is this program again.
    if let (Some("--cold"), Some(dir)) = (arguments.next().as_deref(), arguments.next()) {
        return cold::look(dir.as_ref());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio starts");
    figure::heading();
    runtime.block_on(figures::figures());
}
