//! Settings of a system by which users may make no namespaces, and how to get them.

use std::fs;

/// A setting in `/proc/sys`, the value that denies, and what to do about it.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "Ubuntu lets only programs with a profile of AppArmor make namespaces; load the one for bubblewrap: \
         `sudo apt install apparmor-profiles`, `sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict \
         /etc/apparmor.d/`, `sudo systemctl reload apparmor`",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "only root may make namespaces; `sudo sysctl -w kernel.unprivileged_userns_clone=1` lets you, and a file in \
         `/etc/sysctl.d` keeps it",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "no more namespaces may be made; `sudo sysctl -w user.max_user_namespaces=15000` lets you, and a file in \
         `/etc/sysctl.d` keeps it",
    ),
];

/// Which settings deny namespaces here, and what to do about it; one line each.
pub(crate) fn denials() -> Vec<String> {
    let denies = |(setting, value, help): &(&str, &str, &str)| {
        let set = fs::read_to_string(format!("/proc/sys/{setting}")).ok()?;
        (set.trim() == *value).then(|| format!("`{}` is `{value}`: {help}", setting.replace('/', ".")))
    };
    SETTINGS.iter().filter_map(denies).collect()
}
