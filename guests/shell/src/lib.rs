//! The tools `bash`, `bash.output` and `bash.kill`: commands in a shell of the machine, which the host starts and ends.

mod report;
mod run;
mod watch;

bub_guest::plugin! {
    about: "Tools that run commands in a shell, and look after those that go on in the background.",
    grants: {
        /// to run the commands: in a sandbox, where they change the workspace and little else
        SHELL: SandboxedProcess,
    },
    tools: [run::bash, watch::output, watch::kill],
}
