// Package sqltest holds the tests of package sqlstore that need SQL drivers and real database servers. It is a module
// of its own, so that a user of package lockrt does not get three SQL drivers along with it.
package sqltest
