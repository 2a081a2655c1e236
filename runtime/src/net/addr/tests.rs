//! What is a literal, what is a name, and what is neither.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::{Resolution, ToSocketAddrs, lookup_host, resolve, try_each};

fn literal(addr: impl ToSocketAddrs) -> Vec<SocketAddr> {
    match resolve(&addr).unwrap() {
        Resolution::Known(addresses) => addresses.collect(),
        Resolution::Name(host, _) => panic!("{host} is no literal"),
    }
}

#[test]
fn literals_need_no_lookup_and_no_runtime() {
    let v4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80);
    let v6 = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, 0, 0);
    let (expected_v4, expected_v6) = (vec![SocketAddr::from(v4)], vec![SocketAddr::from(v6)]);
    assert_eq!(literal(v4), expected_v4);
    assert_eq!(literal(SocketAddr::from(v4)), expected_v4);
    assert_eq!(literal("127.0.0.1:80"), expected_v4);
    assert_eq!(literal(String::from("127.0.0.1:80")), expected_v4);
    let name = &String::from("127.0.0.1:80");
    assert_eq!(literal(name), expected_v4);
    assert_eq!(literal(("127.0.0.1", 80)), expected_v4);
    assert_eq!(literal((String::from("127.0.0.1"), 80)), expected_v4);
    assert_eq!(literal((Ipv4Addr::LOCALHOST, 80)), expected_v4);
    assert_eq!(
        literal((IpAddr::from(Ipv4Addr::LOCALHOST), 80)),
        expected_v4
    );
    assert_eq!(literal(v6), expected_v6);
    assert_eq!(literal("[::1]:80"), expected_v6);
    assert_eq!(literal(("::1", 80)), expected_v6);
    assert_eq!(literal((Ipv6Addr::LOCALHOST, 80)), expected_v6);
    let both = [expected_v4[0], expected_v6[0]];
    assert_eq!(literal(&both[..]), both);
}

#[test]
fn malformed_addresses_are_invalid_input() {
    for malformed in [
        "",
        "localhost",
        "localhost:",
        "localhost:http",
        "localhost:65536",
    ] {
        let error = resolve(malformed).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{malformed:?}");
    }
}

#[rt_macros::test(crate = "crate")]
async fn a_name_is_looked_up() {
    let mut found = lookup_host("localhost:80").await.unwrap().peekable();
    assert!(found.peek().is_some());
    assert!(found.all(|address| address.ip().is_loopback() && address.port() == 80));
}

#[rt_macros::test(crate = "crate")]
async fn a_name_that_does_not_exist_is_an_error() {
    assert!(lookup_host("does-not-exist.invalid:80").await.is_err());
}

#[rt_macros::test(crate = "crate")]
async fn every_address_is_tried_and_the_last_error_told() {
    let addresses: Vec<SocketAddr> = (1..=3)
        .map(|port| (Ipv4Addr::LOCALHOST, port).into())
        .collect();
    let mut tried = Vec::new();
    let error = try_each(resolve(&addresses[..]).unwrap(), |address| {
        tried.push(address);
        std::future::ready(Err::<(), _>(io::Error::from_raw_os_error(
            address.port().into(),
        )))
    });
    assert_eq!(error.await.unwrap_err().raw_os_error(), Some(3));
    assert_eq!(tried, addresses);

    let found = try_each(resolve(&addresses[..]).unwrap(), |address| {
        std::future::ready(match address.port() {
            2 => Ok(address),
            _ => Err(io::ErrorKind::Other.into()),
        })
    });
    assert_eq!(found.await.unwrap(), addresses[1]);
}

#[rt_macros::test(crate = "crate")]
async fn no_address_at_all_is_invalid_input() {
    let none = resolve(&[][..]).unwrap();
    let error = try_each(none, |_| std::future::ready(Ok(())))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}
