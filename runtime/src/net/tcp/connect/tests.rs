//! The race of several addresses, with attempts that do as they are told.

use std::cell::RefCell;
use std::future::pending;
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{STAGGER, in_turn, race};
use crate::time::Instant;

fn v4(port: u16) -> SocketAddr {
    (IpAddr::from(Ipv4Addr::LOCALHOST), port).into()
}

fn v6(port: u16) -> SocketAddr {
    (IpAddr::from(Ipv6Addr::LOCALHOST), port).into()
}

#[test]
fn families_take_turns_from_the_first_on() {
    let addresses = [v6(1), v6(2), v6(3), v4(4), v4(5)];
    let turns: Vec<_> = in_turn(addresses.into_iter()).into();
    assert_eq!(turns, [v6(1), v4(4), v6(2), v4(5), v6(3)]);
    let addresses = [v4(1), v6(2), v6(3)];
    let turns: Vec<_> = in_turn(addresses.into_iter()).into();
    assert_eq!(turns, [v4(1), v6(2), v6(3)]);
    assert!(in_turn([].into_iter()).is_empty());
}

#[rt_macros::test(crate = "crate")]
async fn an_address_that_fails_gives_way_at_once() {
    let start = Instant::now();
    let attempts = [v4(1), v4(2), v4(3)].into_iter();
    let winner = race(attempts, async |addr| match addr.port() {
        3 => Ok(addr),
        _ => Err(Error::from(ErrorKind::ConnectionRefused)),
    });
    assert_eq!(winner.await.unwrap(), v4(3));
    assert!(start.elapsed() < STAGGER * 100);
}

#[rt_macros::test(crate = "crate")]
async fn an_address_that_says_nothing_is_overtaken() {
    let start = Instant::now();
    let winner = race([v6(1), v4(2)].into_iter(), async |addr| {
        if addr.is_ipv6() {
            pending::<()>().await;
        }
        Ok(addr)
    });
    assert_eq!(winner.await.unwrap(), v4(2));
    assert!(start.elapsed() >= STAGGER);
}

#[rt_macros::test(crate = "crate")]
async fn a_slow_address_may_still_win() {
    let begun = RefCell::new(Vec::new());
    let winner = race([v6(1), v4(2)].into_iter(), async |addr| {
        begun.borrow_mut().push(addr);
        if addr.is_ipv6() {
            crate::time::sleep(STAGGER + STAGGER / 2).await;
        } else {
            pending::<()>().await;
        }
        Ok(addr)
    });
    assert_eq!(winner.await.unwrap(), v6(1));
    assert_eq!(begun.into_inner(), [v6(1), v4(2)]);
}

#[rt_macros::test(crate = "crate")]
async fn when_all_fail_the_last_error_is_told() {
    let result: Result<()> = race([v4(1), v4(2)].into_iter(), async |addr| {
        Err(Error::other(addr.port().to_string()))
    })
    .await;
    assert_eq!(result.unwrap_err().to_string(), "2");
    let result: Result<()> = race([].into_iter(), async |_| unreachable!("no address")).await;
    assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
}
