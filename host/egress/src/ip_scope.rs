//! Scopes of IP addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The scope of an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IpScope {
    /// The public internet.
    Public,
    /// This machine or a private network: loopback, private use, unique local, shared address space (CGNAT).
    Local,
    /// Never allowed: link-local (cloud metadata services), multicast, unspecified, documentation, benchmarking,
    /// reserved, and tunnels that could hide one of these.
    Special,
}

/// The scope of `address`; of an IPv4-mapped address, the scope of the IPv4 address.
pub fn ip_scope(address: IpAddr) -> IpScope {
    match address.to_canonical() {
        IpAddr::V4(address) => scope_v4(address),
        IpAddr::V6(address) => scope_v6(address),
    }
}

fn scope_v4(address: Ipv4Addr) -> IpScope {
    match address.octets() {
        [10, ..] | [127, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => IpScope::Local,
        // This network, link-local, multicast, reserved and broadcast.
        [0, ..] | [169, 254, ..] | [224..=255, ..] => IpScope::Special,
        // Protocol assignments, documentation, the relays of 6to4, benchmarking.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            IpScope::Special
        }
        // Azure's wire server, which looks public.
        [168, 63, 129, 16] => IpScope::Special,
        _ => IpScope::Public,
    }
}

/// Lists what is public, since most of the space is unassigned.
fn scope_v6(address: Ipv6Addr) -> IpScope {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => IpScope::Local,
        [0xfc00..=0xfdff, ..] => IpScope::Local,
        // NAT64. Only public IPv4 addresses: a gateway may forward to private networks.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => match scope_v4(joined(high, low)) {
            IpScope::Public => IpScope::Public,
            IpScope::Local | IpScope::Special => IpScope::Special,
        },
        // Teredo, benchmarking, ORCHID and other protocol assignments; documentation; 6to4.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => IpScope::Special,
        [0x2000..=0x3fff, ..] => IpScope::Public,
        _ => IpScope::Special,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}
