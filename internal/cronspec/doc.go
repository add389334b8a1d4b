// Package cronspec turns the text of a cron specification into a schedule.
//
// github.com/robfig/cron/v3 reads the fields, so a spec means here what it
// means there: five fields (minute, hour, day of month, month, day of week) or
// six with the seconds in front, names of months and weekdays, descriptors
// such as @daily, and "@every 90s". What robfig accepts and then never fires,
// fires at a time that nobody asked for, or panics on is refused here before
// robfig sees it, with an error that names the field, the value and what to
// write instead.
//
// # Which instants belong to a schedule
//
// robfig steps through local time hour by hour and so loses or doubles runs
// where the clocks change. The schedules of this package are defined on
// instants instead:
//
//   - With fixed hours ("30 2 * * *", "0 */6 * * *", "0 9-17 * * *"), every wall
//     clock reading that matches the fields fires once: at the first instant
//     at which the wall clock has reached it. A reading that the clocks skip
//     fires at the first instant after the gap, one that they repeat at its
//     first occurrence. Readings that share an instant fire together, once.
//   - With a wildcard hour ("*/5 * * * *", "30 * * * *"), every instant whose
//     wall clock reading matches fires, so the job follows elapsed time: an
//     hourly job runs in both of the two repeated hours and not in the
//     skipped one.
//   - "@every d" fires at the multiples of d since the Unix epoch, whoever
//     asks and whenever it started: all processes agree on the ticks.
//
// As in robfig, a day matches when either of two restricted day fields does,
// and "*/2" counts as restricted (only "*" and "?" are wildcards).
//
// A spec without a zone is read in the location of the time handed to Next.
package cronspec
