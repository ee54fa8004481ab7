//! Days and the proleptic Gregorian calendar, in all the range of Spark's dates and timestamps.

use stream_decode::text::datetime::days_of;

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// A date of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
}

impl Date {
    /// The date so many days after 1970-01-01.
    pub(super) fn of_days(days: i64) -> Self {
        // Years that begin in March put the leap day last; cycles of 400 years are alike.
        let days = days + 719_468;
        let cycle = days.div_euclid(146_097);
        let day_of_cycle = days.rem_euclid(146_097);
        let year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
        let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        Self {
            year: cycle * 400 + year_of_cycle + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * march_month + 2) / 5 + 1,
        }
    }

    /// Days after 1970-01-01, if there is such a date.
    pub(super) fn days(self) -> Option<i64> {
        days_of(self.year, self.month, self.day)
    }

    /// So many months later, on the month's last day where it has none of that number.
    pub(super) fn plus_months(self, months: i64) -> Option<Self> {
        let month = (self.year * 12 + self.month - 1).checked_add(months)?;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        (1..=self.day)
            .rev()
            .map(|day| Self { year, month, day })
            .find(|date| date.days().is_some())
    }
}

/// The day of a moment.
pub(super) fn day_of(micros: i64) -> i64 {
    micros.div_euclid(MICROS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[test]
    fn days_and_dates_go_back_and_forth() {
        for days in (-800_000..800_000).step_by(13).chain(-1000..1000) {
            assert_eq!(Date::of_days(days).days(), Some(days));
        }
        for days in [-106_751_991_i64, 106_751_991] {
            assert_eq!(Date::of_days(days).days(), Some(days));
        }
        let leap = Date {
            year: 2024,
            month: 2,
            day: 29,
        };
        assert_eq!(Date::of_days(19_782), leap);
        assert_eq!(
            leap.plus_months(12),
            Some(Date {
                year: 2025,
                month: 2,
                day: 28
            })
        );
        assert_eq!(
            leap.plus_months(-1),
            Some(Date {
                year: 2024,
                month: 1,
                day: 29
            })
        );
    }
}
