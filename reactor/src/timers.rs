//! All timers of a reactor: its wheels, and the alarm they share.

use std::task::Waker;

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::primitive::sync::Arc;
use crate::sys::TimerFd;
use crate::wheel::Wheel;

/// The wheels and their alarm.
pub(crate) struct Timers {
    wheels: Box<[Arc<Wheel>]>,
    alarm: Arc<Alarm>,
}

impl Timers {
    pub(crate) fn new(wheels: usize, timer: Option<TimerFd>, clock: Clock) -> Timers {
        let alarm = Arc::new(Alarm::new(timer, clock));
        let wheels = (0..wheels)
            .map(|_| Arc::new(Wheel::new(Arc::clone(&alarm))))
            .collect();
        Timers { wheels, alarm }
    }

    pub(crate) fn wheels(&self) -> &[Arc<Wheel>] {
        &self.wheels
    }

    pub(crate) fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    /// Fires what is due and arms the alarm for what is not; how many were woken. The steps are
    /// those of the protocol in `alarm.rs`. `wakers` is room to work in, and empty.
    pub(crate) fn fire(&self, wakers: &mut Vec<Waker>) -> usize {
        self.alarm.went_off();
        let now = self.alarm.clock().now();
        let mut earliest = Deadline::NEVER;
        let mut woken = 0;
        for wheel in &self.wheels {
            let fired = wheel.fire(now, wakers);
            earliest = earliest.min(fired.next);
            woken += fired.woken;
        }
        self.alarm.ensure(earliest);
        woken
    }

    /// Wakes all who wait, and whoever waits later finds out at once: nobody fires any more.
    pub(crate) fn close(&self, wakers: &mut Vec<Waker>) {
        self.alarm.close();
        for wheel in &self.wheels {
            wheel.fire(Deadline::NEVER, wakers);
        }
    }
}
