//! Hierarchical schedules: inside hosts and between them. The step between hosts is the first on the way down, and the last on the way up.

use super::builder::{Builder, Crew, rounds};
use super::gather;
use super::reduction::double;
use super::tree::{bring, collect};
use crate::Collective;
use crate::schedule::{Buffer, Then};

/// The hierarchical schedule of an operation.
pub(crate) fn any(build: &mut Builder, operation: Collective) {
    match operation {
        Collective::Barrier => barrier(build),
        Collective::Broadcast { root } => broadcast(build, root),
        Collective::Reduce { root } => reduce(build, root),
        Collective::Allgather => gather::allgather_hierarchical(build),
        _ => allreduce(build),
    }
}

/// The leader and the members of each host. The root leads its host; elsewhere the first member does.
struct Hosts {
    per_host: u32,
    size: u32,
    root: u32,
    me: u32,
}

impl Hosts {
    fn of(build: &Builder, root: u32) -> Self {
        Self { per_host: build.shape.per_host, size: build.size(), root, me: build.me }
    }

    fn host(&self) -> u32 {
        self.me / self.per_host
    }

    /// The hosts, counted from the root's host on.
    fn host_from_root(&self, number: u32) -> u32 {
        let hosts = self.size.div_ceil(self.per_host);
        (number + self.root / self.per_host) % hosts
    }

    fn leader(&self, host: u32) -> u32 {
        if host == self.root / self.per_host { self.root } else { host * self.per_host }
    }

    fn members(&self) -> u32 {
        self.per_host.min(self.size - self.host() * self.per_host)
    }

    /// The members of this host, counted from its leader on.
    fn member(&self, number: u32) -> u32 {
        let (first, leader) = (self.host() * self.per_host, self.leader(self.host()));
        first + (leader - first + number) % self.members()
    }

    /// This member's number among the members of its host.
    fn number(&self) -> u32 {
        (self.me + self.members() - self.leader(self.host())) % self.members()
    }

    /// Calls `act` with the crew of leaders, then with the crew of this host, if `down`; otherwise in the reverse order.
    fn crews(&self, down: bool, mut act: impl FnMut(Crew<'_>, bool)) {
        let (hosts, own) = (self.size.div_ceil(self.per_host), self.host());
        let place_leader = |number| self.leader(self.host_from_root(number));
        let number = (own + hosts - self.root / self.per_host) % hosts;
        let leads = self.leader(own) == self.me;
        let leaders = Crew { count: hosts, me: leads.then_some(number), place: &place_leader };
        let place_member = |number| self.member(number);
        let members = Crew { count: self.members(), me: Some(self.number()), place: &place_member };
        if down {
            act(leaders, true);
            act(members, false);
        } else {
            act(members, false);
            act(leaders, true);
        }
    }
}

fn broadcast(build: &mut Builder, root: u32) {
    let hosts = Hosts::of(build, root);
    let span = build.block(Buffer::Output, 0);
    let landing = build.landing(1, build.count());
    hosts.crews(true, |crew, _| bring(build, crew, landing, &[span]));
}

fn reduce(build: &mut Builder, root: u32) {
    let hosts = Hosts::of(build, root);
    let own = build.block(Buffer::Input, 0);
    let inside = build.landing(rounds(hosts.per_host), build.count());
    let between = build.landing(rounds(build.shape.hosts()), build.count());
    let into = own.of(if build.me == root { Buffer::Output } else { Buffer::Temporary });
    build.temporary(1);
    let mut held = own;
    hosts.crews(false, |crew, leaders| held = collect(build, crew, if leaders { between } else { inside }, held, into));
}

fn allreduce(build: &mut Builder) {
    let hosts = Hosts::of(build, 0);
    let (own, result) = (build.block(Buffer::Input, 0), build.block(Buffer::Output, 0));
    let inside = build.landing(rounds(hosts.per_host), build.count());
    let down = build.landing(1, build.count());
    build.copy(own, result);
    hosts.crews(false, |crew, leaders| {
        if leaders {
            double(build, crew, result);
        } else {
            collect(build, crew, inside, result, result);
        }
    });
    hosts.crews(true, |crew, leaders| {
        if !leaders {
            bring(build, crew, down, &[result]);
        }
    });
}

/// As [`allreduce`], without values; leaders notify each other by dissemination.
fn barrier(build: &mut Builder) {
    let hosts = Hosts::of(build, 0);
    let (inside, down) = (build.landing(rounds(hosts.per_host), 0), build.landing(1, 0));
    let between = build.landing(rounds(build.shape.hosts()), 0);
    let nothing = build.blocks(Buffer::Output, 0, 0);
    hosts.crews(false, |crew, leaders| match crew.me {
        _ if !leaders => {
            collect(build, crew, inside, nothing, nothing);
        }
        Some(me) => {
            for round in 0..rounds(crew.count) {
                let distance = (1 << round) % crew.count;
                build.tell((crew.place)((me + distance) % crew.count), between, round);
                let from = (crew.place)((me + crew.count - distance) % crew.count);
                build.receive(from, between.message(round, 0), Then::Nothing);
            }
        }
        None => {}
    });
    hosts.crews(true, |crew, leaders| {
        if !leaders {
            bring(build, crew, down, &[]);
        }
    });
}
