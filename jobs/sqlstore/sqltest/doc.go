// Package sqltest holds the tests of package jobs/sqlstore that need SQL drivers and real database servers. It is a
// module of its own, so that a user of package jobs does not get SQL drivers along with it.
package sqltest
