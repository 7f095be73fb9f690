//! Systems that let users make no namespaces: what `doctor` says there.

use super::home;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Runs a script as root of namespaces of its own, where any file can be covered by another; none: this system has none.
fn covered(script: &str) -> Option<String> {
    let output =
        Command::new("unshare").args(["--user", "--map-root-user", "--mount", "sh", "-ec", script]).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !said.contains("covered") {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(said)
}

#[test]
fn doctor_names_the_setting_that_denies_namespaces_and_how_to_change_it() {
    // What bubblewrap says on such systems.
    let settings = [
        (
            "apparmor_restrict_unprivileged_userns",
            "1",
            "bwrap: setting up uid map: Permission denied",
            ["`kernel.apparmor_restrict_unprivileged_userns` is `1`", "bwrap-userns-restrict"],
        ),
        (
            "unprivileged_userns_clone",
            "0",
            "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user \
             namespaces",
            ["`kernel.unprivileged_userns_clone` is `0`", "sudo sysctl -w kernel.unprivileged_userns_clone=1"],
        ),
    ];
    for (setting, value, error, expected) in settings {
        let home = home();
        let fake = home.bub_home().with_file_name("bwrap");
        fs::write(&fake, format!("#!/bin/sh\necho '{error}' >&2\nexit 1\n")).expect("a file");
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("rights");
        let doctor = home.bub_home().with_file_name("doctor");
        home.bub(["doctor"]).env("BUB_SANDBOX", "auto").script(&doctor);
        let script = format!(
            "mount --bind '{fake}' /usr/bin/bwrap; mount -t tmpfs none /proc/sys/kernel; \
             echo {value} > /proc/sys/kernel/{setting}; echo covered; {doctor} || true",
            fake = fake.display(),
            doctor = doctor.display(),
        );
        if !fs::exists("/usr/bin/bwrap").is_ok_and(|is_there| is_there) {
            println!("skipped: bubblewrap is not installed");
            return;
        }
        let Some(said) = covered(&script) else { return };
        let line = said.lines().find(|line| line.contains("sandbox for programs")).unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains(error) && expected.iter().all(|text| line.contains(text)), "{line}");
        assert!(!line.contains("sandbox for programs: bwrap"), "{line}");
    }
}
