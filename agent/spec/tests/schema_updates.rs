//! Every published case of a schema update gets the verdict that is expected of it.

mod cases;

use cases::Outcome;

#[test]
fn every_update_gets_the_expected_verdict() {
    let cases = cases::read(include_str!("data/schema_updates.jsonl")).expect("cases are JSON lines");
    let mut asked = 0;
    for case in &cases {
        match cases::ask(case) {
            Outcome::Agrees => asked += 1,
            Outcome::NotAvailable(format) => panic!("{}: {format} is not a schema language", case.id),
            Outcome::Disagrees(answer) => panic!("{}: expected {} ({}), got {answer:?}", case.id, case.verdict, case.why),
        }
    }
    assert_eq!(asked, cases.len());
}
