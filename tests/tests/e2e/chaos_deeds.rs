//! What can happen while records are written: to brokers, topics, the registry and the agent. Invariant: each deed can be done at any
//! time, because it first brings back what it cannot do without.

use std::time::Instant;

use e2e::cluster::{BROKERS, CONTROLLER};
use e2e::limits::CLUSTER_SETTLES;
use e2e::wait::wait_until;

use crate::chaos_load::{Load, Target};
use crate::chaos_scene::{Chaos, REMADE, STILL_MAX};

/// With one of three left there is no second replica: everything waits.
const AWAY_MAX: usize = 2;
/// All there is is listed in each look of the agent.
const TOPICS_MAX: usize = 12;
const PARTITIONS_MAX: i32 = 8;

/// Something that can happen.
#[derive(Clone, Copy)]
pub(crate) enum Deed {
    BrokerHangs,
    BrokerStopped,
    BrokerKilled,
    BrokerBack,
    LeaderMoved,
    TopicAdded,
    PartitionAdded,
    TopicMadeAgain,
    TopicMadeAgainUnseen,
    RegistryAway,
    RegistryBack,
    VersionAdded,
    AgentKilled,
}

/// What happens in one round, in any order.
pub(crate) const DECK: [Deed; 14] = [
    Deed::BrokerHangs,
    Deed::BrokerStopped,
    Deed::BrokerKilled,
    Deed::BrokerBack,
    Deed::BrokerBack,
    Deed::LeaderMoved,
    Deed::TopicAdded,
    Deed::PartitionAdded,
    Deed::TopicMadeAgain,
    Deed::TopicMadeAgainUnseen,
    Deed::RegistryAway,
    Deed::RegistryBack,
    Deed::VersionAdded,
    Deed::AgentKilled,
];

/// How something is away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Away {
    Hangs,
    Ended,
}

impl Chaos {
    pub(crate) fn act(&mut self, deed: Deed, load: &Load) {
        match deed {
            Deed::BrokerHangs | Deed::BrokerStopped | Deed::BrokerKilled => self.take_away(deed),
            Deed::BrokerBack => self.bring_back(),
            Deed::LeaderMoved => self.move_leader(),
            Deed::TopicAdded => self.add_topic(),
            Deed::PartitionAdded => self.add_partition(),
            Deed::TopicMadeAgain => self.make_again(load),
            Deed::TopicMadeAgainUnseen => self.make_again_unseen(load),
            Deed::RegistryAway => self.take_registry_away(),
            Deed::RegistryBack => self.bring_registry_back(),
            Deed::VersionAdded => self.add_version(),
            Deed::AgentKilled => self.kill_agent(),
        }
    }

    fn take_away(&mut self, deed: Deed) {
        if self.away.len() == AWAY_MAX {
            self.bring_back();
        }
        let there = self.brokers_there();
        let index = there[self.random.below(there.len())];
        let broker = self.cluster.broker(index);
        let (what, away) = match deed {
            Deed::BrokerHangs => {
                broker.freeze();
                ("broker hangs", Away::Hangs)
            }
            // It hands over what it leads, which takes others who can take it.
            Deed::BrokerStopped if self.away.is_empty() => {
                broker.stop();
                ("broker stopped", Away::Ended)
            }
            _ => {
                broker.kill();
                ("broker killed", Away::Ended)
            }
        };
        self.away.insert(index, away);
        self.note(what, &format!("{}", index + 1));
    }

    fn brokers_there(&self) -> Vec<usize> {
        (0..BROKERS).filter(|broker| !self.away.contains_key(broker)).collect()
    }

    pub(crate) fn bring_back(&mut self) {
        // The controller's first: without it none starts.
        let Some((index, away)) = self.away.pop_first() else { return };
        match away {
            Away::Hangs => self.cluster.broker(index).thaw(),
            Away::Ended => self.cluster.broker(index).start_again(),
        }
        self.note("broker back", &format!("{}", index + 1));
    }

    /// Waits until something is so, and brings the next broker back whenever it takes long: that one may be the only one that has all
    /// records of a partition.
    pub(crate) fn until(&mut self, what: &str, probe: impl Fn(&Self) -> Result<(), String>) {
        while !self.away.is_empty() {
            let start = Instant::now();
            let came = wait_until(what, 2 * STILL_MAX, || match probe(self) {
                Ok(()) => Ok(true),
                Err(_) if start.elapsed() > STILL_MAX => Ok(false),
                Err(seen) => Err(seen),
            });
            if came {
                return;
            }
            self.bring_back();
        }
        wait_until(what, 2 * CLUSTER_SETTLES, || probe(self));
    }

    /// Brings brokers back until the controller and another one are there: the cluster can be asked, and writes.
    fn have_majority(&mut self) {
        while self.away.contains_key(&CONTROLLER) || self.away.len() == AWAY_MAX {
            self.bring_back();
        }
    }

    fn move_leader(&mut self) {
        self.have_majority();
        let targets: Vec<(String, Target)> = self.targets.lock().unwrap().clone().into_iter().collect();
        let (topic, target) = &targets[self.random.below(targets.len())];
        let partition = self.random.below(usize::try_from(target.partitions).unwrap());
        let there = self.brokers_there();
        let to = there[self.random.below(there.len())];
        let what = format!("broker {} leads partition {partition} of `{topic}`", to + 1);
        self.until(&what, |chaos| chaos.cluster.move_leader(topic, partition, to, CONTROLLER));
        self.note("leader chosen", &format!("{} for {partition} of {topic}", to + 1));
    }

    fn add_topic(&mut self) {
        let number = self.targets.lock().unwrap().len() - 2;
        if number < TOPICS_MAX {
            self.have_majority();
            let (topic, partitions) = (format!("orders-{number}"), 1 + i32::try_from(self.random.below(4)).unwrap());
            self.create(&topic, partitions, 1);
            self.note("topic", &format!("{topic} with {partitions}"));
        }
    }

    fn add_partition(&mut self) {
        let mut targets: Vec<(String, Target)> = self.targets.lock().unwrap().clone().into_iter().collect();
        targets.retain(|(topic, target)| topic != REMADE && target.partitions < PARTITIONS_MAX);
        if !targets.is_empty() {
            self.have_majority();
            let (topic, target) = &targets[self.random.below(targets.len())];
            let total = target.partitions + 1;
            self.cluster.add_partitions(topic, total);
            self.note("partition", &format!("{} of {topic}", target.partitions));
            self.targets.lock().unwrap().get_mut(topic).unwrap().partitions = total;
        }
    }

    /// Deletes a topic, of which the stream has noticed that it was made again the last time, and makes it again: the losses of each
    /// time are told apart.
    fn make_again(&mut self, load: &Load) {
        self.have_majority();
        self.await_losses();
        self.replace(load);
    }

    /// The same while the agent is not there, so that records are lost.
    fn make_again_unseen(&mut self, load: &Load) {
        self.have_majority();
        self.await_losses();
        self.look_at_memory();
        self.agent.kill();
        self.note("agent killed", "");
        self.let_pass(load);
        self.replace(load);
        self.agent.start_again();
    }

    fn replace(&mut self, load: &Load) {
        let target = self.targets.lock().unwrap().remove(REMADE).unwrap();
        let ended = load.ended();
        self.until("the transaction that may have seen the topic ends", |_| {
            if load.ended() > ended { Ok(()) } else { Err("not yet".to_owned()) }
        });
        self.cluster.delete_topic(REMADE);
        self.create(REMADE, target.partitions, target.life + 1);
        self.note("topic made again", &format!("{}", target.life));
    }

    fn add_version(&mut self) {
        self.bring_registry_back();
        let id = self.register();
        self.publish(id);
    }

    /// It is away before the first record of a version that nobody has asked it for.
    fn take_registry_away(&mut self) {
        self.bring_registry_back();
        let id = self.register();
        let (what, away) = if self.random.below(2) == 0 {
            self.registry.freeze();
            ("registry hangs", Away::Hangs)
        } else {
            self.registry.kill();
            ("registry killed", Away::Ended)
        };
        self.publish(id);
        self.registry_away = Some(away);
        self.note(what, "");
    }

    pub(crate) fn bring_registry_back(&mut self) {
        let Some(away) = self.registry_away.take() else { return };
        match away {
            Away::Hangs => self.registry.thaw(),
            Away::Ended => self.registry.start_again(),
        }
        self.note("registry back", "");
    }

    fn kill_agent(&mut self) {
        self.look_at_memory();
        self.agent.kill();
        self.agent.start_again();
        self.note("agent killed", "");
    }
}
