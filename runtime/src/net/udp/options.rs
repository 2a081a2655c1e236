//! Options of a UDP socket: broadcast, multicast, and how its packets are marked.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use socket2::SockRef;

use super::UdpSocket;
use crate::net::options::{buffer_options, device_options, options};

options! { UdpSocket, "# let socket = UdpSocket::bind(\"127.0.0.1:0\").await?;":
    /// Whether datagrams may be sent to broadcast addresses (`SO_BROADCAST`).
    broadcast, set_broadcast: bool = true => broadcast, set_broadcast;
    /// Whether this machine receives what it sends to multicast groups (`IP_MULTICAST_LOOP`).
    multicast_loop_v4, set_multicast_loop_v4: bool = false => multicast_loop_v4, set_multicast_loop_v4;
    /// How many hops a multicast packet may take (`IP_MULTICAST_TTL`).
    multicast_ttl_v4, set_multicast_ttl_v4: u32 = 2 => multicast_ttl_v4, set_multicast_ttl_v4;
    /// How many hops a packet may take (`IP_TTL`).
    ttl, set_ttl: u32 = 7 => ttl_v4, set_ttl_v4;
    /// The type of service of IPv4 packets (`IP_TOS`).
    tos_v4, set_tos_v4: u32 = 16 => tos_v4, set_tos_v4;
}

options! { UdpSocket, "# let socket = UdpSocket::bind(\"[::]:0\").await?;":
    /// Whether this machine receives what it sends to multicast groups (`IPV6_MULTICAST_LOOP`).
    multicast_loop_v6, set_multicast_loop_v6: bool = false => multicast_loop_v6, set_multicast_loop_v6;
    /// How many hops a multicast packet may take (`IPV6_MULTICAST_HOPS`).
    multicast_hops_v6, set_multicast_hops_v6: u32 = 2 => multicast_hops_v6, set_multicast_hops_v6;
    /// The traffic class of IPv6 packets (`IPV6_TCLASS`).
    tclass_v6, set_tclass_v6: u32 = 16 => tclass_v6, set_tclass_v6;
}

buffer_options!(UdpSocket);
device_options!(UdpSocket);

/// Multicast groups.
impl UdpSocket {
    /// Joins a group, on the interface with this address, or on one that the kernel chooses
    /// (`0.0.0.0`).
    ///
    /// # Errors
    ///
    /// Fails if the group is none, or if there is no such interface.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    ///
    /// use rt::net::UdpSocket;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let group = Ipv4Addr::new(224, 0, 0, 123);
    /// let socket = UdpSocket::bind("0.0.0.0:0").await?;
    /// socket.join_multicast_v4(group, Ipv4Addr::LOCALHOST)?;
    /// socket.leave_multicast_v4(group, Ipv4Addr::LOCALHOST)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.std().join_multicast_v4(&group, &interface)
    }

    /// Leaves a group. See [`join_multicast_v4`](Self::join_multicast_v4).
    ///
    /// # Errors
    ///
    /// Fails if the socket is not in that group.
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.std().leave_multicast_v4(&group, &interface)
    }

    /// Joins a group, on the interface with this index, or on one that the kernel chooses (0).
    ///
    /// # Errors
    ///
    /// Fails if the group is none, or if there is no such interface.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use rt::net::UdpSocket;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let socket = UdpSocket::bind("[::]:0").await?;
    /// socket.join_multicast_v6(&"ff02::123".parse().unwrap(), 0)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.std().join_multicast_v6(group, interface)
    }

    /// Leaves a group. See [`join_multicast_v6`](Self::join_multicast_v6).
    ///
    /// # Errors
    ///
    /// Fails if the socket is not in that group.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.std().leave_multicast_v6(group, interface)
    }

    /// The interface that multicast packets leave by (`IP_MULTICAST_IF`).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn multicast_if_v4(&self) -> io::Result<Ipv4Addr> {
        SockRef::from(self).multicast_if_v4()
    }

    /// Sets the interface that multicast packets leave by, by its address.
    ///
    /// # Errors
    ///
    /// Fails if there is no such interface.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    ///
    /// use rt::net::UdpSocket;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let socket = UdpSocket::bind("0.0.0.0:0").await?;
    /// socket.set_multicast_if_v4(&Ipv4Addr::LOCALHOST)?;
    /// assert_eq!(socket.multicast_if_v4()?, Ipv4Addr::LOCALHOST);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_multicast_if_v4(&self, interface: &Ipv4Addr) -> io::Result<()> {
        SockRef::from(self).set_multicast_if_v4(interface)
    }
}
