//! When the alarm is set anew, and when it is left as it is.

use super::Alarm;
use crate::clock::Clock;
use crate::deadline::Deadline;

fn at(nanos: u64) -> Deadline {
    Deadline::from_nanos(nanos)
}

#[test]
fn it_is_set_for_an_earlier_deadline_only() {
    let alarm = Alarm::new(None, Clock::manual(Deadline::ZERO));
    assert_eq!(alarm.armed(), Deadline::NEVER);
    alarm.ensure(Deadline::NEVER);
    assert_eq!(alarm.armed(), Deadline::NEVER);
    for (asked, armed) in [(70, 70), (80, 70), (70, 70), (60, 60)] {
        alarm.ensure(at(asked));
        assert_eq!(alarm.armed(), at(armed));
    }
    alarm.went_off();
    assert_eq!(alarm.armed(), Deadline::NEVER);
    alarm.ensure(at(80));
    assert_eq!(alarm.armed(), at(80));
}
