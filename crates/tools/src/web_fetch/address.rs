//! Which addresses a fetched URL may lead to. Everything that is not clearly a public unicast address is refused;
//! an address that contains another one (mapped, NAT64, 6to4) is judged by the inner address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AddressClass {
    Public,
    /// This machine or a private network: reachable only when the user allows it.
    Local,
    /// Link-local and metadata services, multicast, reserved ranges: never reachable.
    Forbidden,
}

pub(super) fn classify(ip: IpAddr) -> AddressClass {
    match ip {
        IpAddr::V4(ip) => classify_v4(ip),
        IpAddr::V6(ip) => classify_v6(ip),
    }
}

fn classify_v4(ip: Ipv4Addr) -> AddressClass {
    let [a, b, c, _] = ip.octets();
    match (a, b, c) {
        (127 | 10, _, _) | (172, 16..=31, _) | (192, 168, _) => AddressClass::Local,
        (0 | 224.., _, _)
        | (100, 64..=127, _)
        | (169, 254, _)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (198, 18..=19, _)
        | (198, 51, 100)
        | (203, 0, 113) => AddressClass::Forbidden,
        _ => AddressClass::Public,
    }
}

fn classify_v6(ip: Ipv6Addr) -> AddressClass {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            classify_v4(embedded_address(high, low))
        }
        // Metadata service of a large cloud; Teredo, benchmarking and ORCHID; documentation.
        [0xfd00, 0xec2, ..] | [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Forbidden,
        [0, 0, 0, 0, 0, 0, 0, 1] | [0xfc00..=0xfdff, ..] => AddressClass::Local,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Forbidden,
    }
}

fn embedded_address(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_address() {
        let is = |text: &str, expected| assert_eq!(classify(text.parse().unwrap()), expected, "{text}");
        for public in [
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            is(public, AddressClass::Public);
        }
        for local in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "::1",
            "fd12::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
        ] {
            is(local, AddressClass::Local);
        }
        for never in [
            "0.0.0.0",
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "198.18.0.1",
            "203.0.113.5",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::",
            "2001:0:1::",
            "2001:db8::1",
            "::127.0.0.1",
            "64:ff9b:1::1",
        ] {
            is(never, AddressClass::Forbidden);
        }
    }
}
