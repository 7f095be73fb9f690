//! The rules of Landlock: what this process and all that it starts may open.

use crate::confinement::Confinement;
use crate::mounts::{Access, Plan};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use std::path::PathBuf;

/// The newest rules that are used; older kernels have a part of them.
const RULES: ABI = ABI::V6;

/// Devices that hold nothing.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Places of terminals and of shared memory, where the mounts are the program's own.
const OWN_DEVICES: [&str; 3] = ["/dev/shm", "/dev/ptmx", "/dev/pts"];

/// Restricts this process. `has_mounts`: the plan was applied, so each thing is at its target. `has_network`: it may
/// connect.
///
/// # Errors
///
/// The kernel has no Landlock, or it does not restrict.
pub(super) fn restrict(
    confinement: &Confinement,
    plan: &Plan,
    (has_mounts, has_network): (bool, bool),
) -> Result<(), String> {
    let place = |source: &PathBuf, target: &PathBuf| if has_mounts { target.clone() } else { source.clone() };
    let of = |is_meant: fn(Access) -> bool| -> Vec<PathBuf> {
        let meant = plan.mounts.iter().filter(|mount| is_meant(mount.access));
        meant.map(|mount| place(&mount.source, &mount.target)).collect()
    };
    let read = of(|access| matches!(access, Access::System | Access::Read));
    let mut write = of(|access| access == Access::Write);
    write.extend(DEVICES.map(PathBuf::from));
    if has_mounts {
        write.push("/dev/shm".into());
    }
    // Links at the top of the file system lead to `/usr`, which is listed.
    let mut all_read = read;
    all_read.push("/proc".into());
    if let crate::confinement::Network::Proxy { socket: Some(socket), .. } = &confinement.network {
        all_read.push(socket.clone());
    }
    let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let rules = rules.handle_access(AccessFs::from_all(RULES)).and_then(|rules| rules.scope(Scope::from_all(RULES)));
    let rules = match has_network {
        true => rules,
        false => rules.and_then(|rules| rules.handle_access(AccessNet::ConnectTcp)),
    };
    let reading: BitFlags<AccessFs> = AccessFs::from_read(RULES);
    let status = rules
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(all_read, reading)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(write, AccessFs::from_all(RULES))))
        .and_then(|rules| match has_mounts {
            true => rules.add_rules(path_beneath_rules(OWN_DEVICES, AccessFs::from_all(RULES))),
            false => Ok(rules),
        })
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|error| error.to_string())?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel has no Landlock".to_owned()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

/// Whether the kernel has Landlock.
///
/// # Errors
///
/// It has not.
pub(super) fn check() -> Result<(), String> {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create);
    made.map(drop).map_err(|_| "the kernel has no Landlock".to_owned())
}
