//! Every plan with every effect failing once, with the process ending before and after every effect, and carried out
//! twice.

use super::*;

/// A change of the world, and what must be true when the reconciler has dealt with it.
struct Plan {
    name: &'static str,
    prepare: fn(&Bench),
    change: fn(&mut crate::store::records::DeclaredStream),
    /// Whether the stream runs before the change.
    from_running: bool,
    check: fn(&Bench, Option<&StreamRecord>),
}

const PLANS: [Plan; 6] = [
    Plan {
        name: "create",
        prepare: |_| {},
        change: |_| {},
        from_running: false,
        check: is_active,
    },
    Plan {
        name: "change the definition",
        prepare: |_| {},
        change: |declared| declared.generation = 2,
        from_running: true,
        check: |bench, record| {
            is_active(bench, record);
            assert_eq!(
                (
                    bench.engine.table(&table()).unwrap().generation,
                    record.unwrap().observed.generation
                ),
                (2, 2)
            );
        },
    },
    Plan {
        name: "pause",
        prepare: |_| {},
        change: |declared| {
            declared.operations.paused = true;
            declared.operations_generation = 2;
        },
        from_running: true,
        check: |bench, record| {
            let observed = &record.unwrap().observed;
            assert_eq!(
                (observed.state, observed.operations_generation, bench.engine.running()),
                (StreamState::Paused, 2, 1)
            );
        },
    },
    Plan {
        name: "restore from the trash",
        prepare: |bench| {
            let mut world = bench.engine.world.lock().unwrap();
            let found = world.tables.remove(&table()).unwrap();
            world.trash.insert(UID.into(), (table(), found));
        },
        change: |declared| declared.restart_generation = 1,
        from_running: true,
        check: |bench, record| {
            is_active(bench, record);
            assert_eq!(record.unwrap().observed.restart_generation, 1);
            assert!(bench.engine.world.lock().unwrap().trash.is_empty());
        },
    },
    Plan {
        name: "delete",
        prepare: |_| {},
        change: |declared| declared.presence = Presence::Deleted { retain_table: false },
        from_running: true,
        check: |bench, record| {
            assert!(record.is_none());
            assert_eq!((bench.engine.running(), bench.engine.table(&table())), (0, None));
            assert!(bench.engine.world.lock().unwrap().trash.contains_key(UID));
        },
    },
    Plan {
        name: "delete and retain the table",
        prepare: |_| {},
        change: |declared| declared.presence = Presence::Deleted { retain_table: true },
        from_running: true,
        check: |bench, record| {
            assert!(record.is_none());
            assert_eq!((bench.engine.running(), bench.engine.table(&table()).unwrap().incarnation), (0, 1));
        },
    },
];

fn is_active(bench: &Bench, record: Option<&StreamRecord>) {
    let observed = &record.unwrap().observed;
    assert_eq!(
        (observed.state, observed.provisioned),
        (StreamState::Active, true),
        "{:?}",
        observed.conditions
    );
    assert_eq!(bench.engine.running(), 1);
    assert_eq!(
        bench.engine.table(&table()).map(|table| table.incarnation),
        Some(1),
        "the table was made once"
    );
}

impl Plan {
    /// Carries the plan out under a fault; answers with the number of its effects.
    async fn carry_out(&self, fault: Fault) -> usize {
        let mut bench = Bench::new().await;
        if self.from_running {
            bench.settle().await;
            (self.prepare)(&bench);
            bench.declare(self.change).await;
        }
        bench.engine.effects.arm(fault);
        bench.settle().await;
        let effects = bench.engine.effects.count();
        bench.engine.effects.arm(Fault::None);
        (self.check)(&bench, bench.record().await.as_ref());
        // Again, with the same process and with another one: nothing more happens.
        bench.settle().await;
        (self.check)(&bench, bench.record().await.as_ref());
        bench.restart();
        bench.settle().await;
        (self.check)(&bench, bench.record().await.as_ref());
        let broken = bench.engine.world.lock().unwrap().broken_promises.clone();
        assert!(broken.is_empty(), "{} under {fault:?}: {broken:?}", self.name);
        effects
    }
}

#[tokio::test]
async fn every_plan_survives_a_failure_and_a_crash_around_each_of_its_effects() {
    for plan in &PLANS {
        let effects = plan.carry_out(Fault::None).await;
        assert!(effects > 0, "{}", plan.name);
        for at in 0..effects {
            for fault in [Fault::Fail(at), Fault::CrashBefore(at), Fault::CrashAfter(at)] {
                plan.carry_out(fault).await;
            }
        }
    }
}
