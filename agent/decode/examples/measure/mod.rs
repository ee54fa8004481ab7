//! What the benchmarks of the decoders share: turns, the processor's time, and how both are told.
//!
//! Every contender has its turn in every round, so that other work on the machine comes upon all of them alike. A speed is that of a
//! contender's best round; a ratio is the median of the rounds' ratios. On Linux only: the kernel's count of a thread's processor
//! time is a file there.

use std::time::Duration;

use stream_decode::decoder::Decoder;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// Messages that are decoded together.
pub(crate) const BATCH_MESSAGES: usize = 5_000;

const ROUNDS: usize = 30;

/// What the command line asks for: `[ROUNDS [SUBJECT]]`. With a subject only that one is measured, and only ours with sound messages:
/// for a profiler.
pub(crate) struct Wish {
    rounds: usize,
    only: Option<String>,
}

impl Wish {
    pub(crate) fn read() -> Result<Self, Failure> {
        Ok(Self {
            rounds: std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?,
            only: std::env::args().nth(2),
        })
    }

    pub(crate) fn is_for(&self, subject: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == subject)
    }
}

/// One that takes all messages of a subject, and says how long it took.
pub(crate) struct Contender<'a> {
    name: String,
    turn: Box<dyn FnMut() -> Result<Duration, Failure> + 'a>,
    times: Vec<Duration>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, turn: impl FnMut() -> Result<Duration, Failure> + 'a) -> Self {
        Self {
            name: name.into(),
            turn: Box::new(turn),
            times: Vec::new(),
        }
    }
}

/// Ours with sound messages, and with a share of them damaged, which `Decoder` must report.
pub(crate) fn ours(
    messages: &[Vec<u8>],
    decoder: impl Fn() -> Result<Decoder, Failure>,
    damage: impl Fn(&mut Vec<u8>),
) -> Result<Vec<Contender<'static>>, Failure> {
    let mut contenders = Vec::new();
    for (name, one_bad_in) in [("stream-decode", usize::MAX), ("1 % damaged", 100), ("50 % damaged", 2)] {
        let mut messages = messages.to_vec();
        let bad = messages
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| index % one_bad_in == one_bad_in - 1)
            .map(|(_, message)| damage(message))
            .count();
        let mut decoder = decoder()?;
        contenders.push(Contender::new(name, move || {
            let payloads: Vec<Option<&[u8]>> = messages.iter().map(|message| Some(message.as_slice())).collect();
            let mut misfits = 0;
            let time = timed(|| {
                for batch in payloads.chunks(BATCH_MESSAGES) {
                    let decoded = decoder.decode(batch, &[])?;
                    misfits += decoded.report.misfit_messages();
                    assert_eq!(decoded.array.len(), batch.len(), "a batch is taken whole");
                    std::hint::black_box(decoded.array);
                }
                Ok(())
            })?;
            assert_eq!(misfits, bad, "every other message fits");
            Ok(time)
        }));
    }
    Ok(contenders)
}

/// Gives every contender its turns and prints what came of it. Ratios are to the first one.
pub(crate) fn compare(subject: &str, messages: &[Vec<u8>], wish: &Wish, mut contenders: Vec<Contender<'_>>) -> Result<(), Failure> {
    let bytes: usize = messages.iter().map(Vec::len).sum();
    println!(
        "{subject}: {} messages, {} bytes each on average",
        messages.len(),
        bytes / messages.len()
    );
    if wish.only.is_some() {
        contenders.truncate(1);
    }
    for _ in 0..wish.rounds {
        for contender in &mut contenders {
            contender.times.push((contender.turn)()?);
        }
    }
    let first = contenders.first().map(|first| first.times.clone()).unwrap_or_default();
    for contender in &contenders {
        let best = contender.times.iter().min().ok_or("no round")?.as_secs_f64();
        let mut ratios: Vec<f64> = contender
            .times
            .iter()
            .zip(&first)
            .map(|(time, first)| time.as_secs_f64() / first.as_secs_f64())
            .collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "{:>16}: {:6.0} MB per CPU-second, {:6.2} million rows, {:5.0} ns each; {:.2} of our time",
            contender.name,
            bytes as f64 / 1e6 / best,
            messages.len() as f64 / 1e6 / best,
            best * 1e9 / messages.len() as f64,
            ratios.get(ratios.len() / 2).ok_or("no round")?,
        );
    }
    Ok(())
}

/// The processor time that something takes in this thread.
pub(crate) fn timed(run: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = processor_time()?;
    run()?;
    Ok(processor_time()? - start)
}

/// What this thread has run so far.
fn processor_time() -> Result<Duration, Failure> {
    // The kernel counts when it looks at a thread.
    std::thread::yield_now();
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = counts.split_whitespace().next().ok_or("no count of processor time")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

/// A small xorshift generator: the same messages in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words.get(self.below(words.len() as u64) as usize).copied().unwrap_or_default()
    }

    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
