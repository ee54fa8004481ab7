//! A pattern as steps for the machine. What Java runs as a match of its own (look-around, atomic groups, rounds of a repetition) is a
//! part of the program that ends in [`Step::Accept`]; the step before it names where the program goes on.

use std::sync::Arc;

use super::set::CharSet;
use super::tree::{Assertion, Behind, Fold, Greed, Node, One, Pattern, Times, Way};

/// A step.
#[derive(Debug)]
pub(super) enum Step {
    Exactly(u32),
    Set(Arc<CharSet>),
    Assertion(Assertion),
    LineEnding,
    Grapheme,
    BackReference {
        group: usize,
        fold: Fold,
    },
    /// Both ways, the first one first.
    Split {
        first: usize,
        second: usize,
    },
    Jump(usize),
    /// Remembers the place in a slot.
    GroupBegin {
        slot: usize,
    },
    /// The group is from the slot's place to here.
    GroupEnd {
        slot: usize,
        group: usize,
    },
    /// One character again and again.
    Characters {
        set: Arc<CharSet>,
        times: Times,
        greed: Greed,
    },
    /// The part behind this step again and again, each round settled by itself. With a `capture` the group is the last round.
    Rounds {
        next: usize,
        times: Times,
        greed: Greed,
        capture: Option<usize>,
        restores: bool,
    },
    /// A loop begins.
    LoopEnter(Loop),
    /// A round of a loop has ended.
    LoopAgain(Loop),
    Look {
        next: usize,
        behind: Option<Behind>,
        negative: bool,
    },
    Atomic {
        next: usize,
    },
    Accept,
}

/// A loop whose rounds may be taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// Slot of the number of rounds.
    pub(super) count: usize,
    /// Slot of the place where the round began.
    pub(super) begin: usize,
    pub(super) body: usize,
    pub(super) next: usize,
    pub(super) times: Times,
    pub(super) lazy: bool,
    /// Where places are kept from which going on once failed. Only for a loop whose future does not depend on its past.
    pub(super) failed: Option<usize>,
}

/// Steps, and how much they have to remember.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) slots: usize,
    pub(super) groups: usize,
    pub(super) failed_sets: usize,
    pub(super) by_code_points: bool,
}

/// Makes the steps of a pattern.
pub(super) fn compile(pattern: &Pattern) -> Program {
    let mut compiler = Compiler {
        steps: Vec::new(),
        slots: 0,
        failed_sets: 0,
        remembers_failures: !pattern.refers_back,
    };
    compiler.node(&pattern.root);
    compiler.steps.push(Step::Accept);
    Program {
        steps: compiler.steps,
        slots: compiler.slots,
        groups: pattern.groups,
        failed_sets: compiler.failed_sets,
        by_code_points: pattern.by_code_points,
    }
}

struct Compiler {
    steps: Vec<Step>,
    slots: usize,
    failed_sets: usize,
    /// Off inside repetitions and look-around, where a failure may be another one's.
    remembers_failures: bool,
}

impl Compiler {
    fn here(&self) -> usize {
        self.steps.len()
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// Puts a step where a `Jump(0)` was left for it.
    fn set(&mut self, index: usize, step: Step) {
        if let Some(place) = self.steps.get_mut(index) {
            *place = step;
        }
    }

    fn leave(&mut self) -> usize {
        self.steps.push(Step::Jump(0));
        self.here() - 1
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Set(set) => self.steps.push(Step::Set(Arc::clone(set))),
            Node::Run(characters) => self.steps.extend(characters.iter().map(|one| match one {
                One::Exactly(code) => Step::Exactly(*code),
                One::AnyOf(set) => Step::Set(Arc::clone(set)),
            })),
            Node::Assertion(assertion) => self.steps.push(Step::Assertion(*assertion)),
            Node::LineEnding => self.steps.push(Step::LineEnding),
            Node::Grapheme => self.steps.push(Step::Grapheme),
            Node::BackReference { group, fold } => self.steps.push(Step::BackReference {
                group: *group,
                fold: *fold,
            }),
            Node::Sequence(parts) => parts.iter().for_each(|part| self.node(part)),
            Node::Alternatives(parts) => self.alternatives(parts),
            Node::Group { capture, body } => self.group(*capture, body),
            Node::Look { behind, negative, body } => {
                let (behind, negative) = (*behind, *negative);
                self.part(body, |next| Step::Look { next, behind, negative });
            }
            Node::Atomic(body) => self.part(body, |next| Step::Atomic { next }),
            Node::Repeat { body, times, greed } => self.repeat(body, *times, *greed),
        }
    }

    /// A match of its own, and the step before it.
    fn part(&mut self, body: &Node, step: impl FnOnce(usize) -> Step) {
        let remembers = std::mem::replace(&mut self.remembers_failures, false);
        let before = self.leave();
        self.node(body);
        self.steps.push(Step::Accept);
        let next = self.here();
        self.set(before, step(next));
        self.remembers_failures = remembers;
    }

    fn alternatives(&mut self, parts: &[Node]) {
        let mut ends = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if index + 1 == parts.len() {
                self.node(part);
                break;
            }
            let split = self.leave();
            self.node(part);
            ends.push(self.leave());
            let second = self.here();
            self.set(split, Step::Split { first: split + 1, second });
        }
        let end = self.here();
        for index in ends {
            self.set(index, Step::Jump(end));
        }
    }

    fn group(&mut self, capture: Option<usize>, body: &Node) {
        let Some(group) = capture else { return self.node(body) };
        let slot = self.slot();
        self.steps.push(Step::GroupBegin { slot });
        self.node(body);
        self.steps.push(Step::GroupEnd { slot, group });
    }

    fn repeat(&mut self, body: &Node, times: Times, greed: Greed) {
        if let Node::Set(set) = body {
            self.steps.push(Step::Characters {
                set: Arc::clone(set),
                times,
                greed,
            });
            return;
        }
        match (body.way(times, greed), body) {
            (Way::GroupRounds, Node::Group { capture, body }) => {
                let capture = *capture;
                self.part(body, |next| Step::Rounds {
                    next,
                    times,
                    greed,
                    capture,
                    restores: true,
                });
            }
            (Way::Optional, _) => {
                let remembers = std::mem::replace(&mut self.remembers_failures, false);
                let split = self.leave();
                self.node(body);
                let end = self.here();
                let (first, second) = if greed == Greed::Lazy { (end, split + 1) } else { (split + 1, end) };
                self.set(split, Step::Split { first, second });
                self.remembers_failures = remembers;
            }
            (Way::Loop, Node::Group { capture, body }) => self.looped(*capture, body, times, greed),
            _ => self.part(body, |next| Step::Rounds {
                next,
                times,
                greed,
                capture: None,
                restores: false,
            }),
        }
    }

    fn looped(&mut self, capture: Option<usize>, body: &Node, times: Times, greed: Greed) {
        let remembers = std::mem::replace(&mut self.remembers_failures, false);
        let (count, begin) = (self.slot(), self.slot());
        let mut failed = None;
        if remembers && greed == Greed::Greedy && times.max.is_none() {
            failed = Some(self.failed_sets);
            self.failed_sets += 1;
        }
        let enter = self.leave();
        self.steps.push(Step::GroupBegin { slot: begin });
        self.node(body);
        if let Some(group) = capture {
            self.steps.push(Step::GroupEnd { slot: begin, group });
        }
        let next = self.here() + 1;
        let looped = Loop {
            count,
            begin,
            body: enter + 1,
            next,
            times,
            lazy: greed == Greed::Lazy,
            failed,
        };
        self.steps.push(Step::LoopAgain(looped));
        self.set(enter, Step::LoopEnter(looped));
        self.remembers_failures = remembers;
    }
}
