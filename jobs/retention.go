package jobs

import "time"

// Retention times and counts of each [Store], in addition to those in its comments.
const (
	// NodeRetention is how long a node stays in the list of nodes after its last heartbeat.
	NodeRetention = 10 * time.Minute
	// NoticeRetention is how long a notice is kept for an owner that sends no heartbeat.
	NoticeRetention = time.Hour
	// OneOffRetention is how long the ID of a one-off job is remembered after its time.
	OneOffRetention = 24 * time.Hour
	// JobRetention is how long the store remembers a job that no node registers. Nodes register their jobs every few
	// hours, so it counts from about the end of the last node with the job.
	JobRetention = 400 * 24 * time.Hour

	// KeptFailures is the minimum number of failures of all jobs that are kept, in addition to the records of each job.
	KeptFailures = 200
	// KeptDefinitions is how many definitions of a job are remembered, so that an old definition is recognized when it
	// is registered again.
	KeptDefinitions = 8
	// KeptTimings is how many changes of a job's timing are remembered until the job's cursor has passed them.
	KeptTimings = 16
)

// HandlerPrefix begins the job names of handlers. The name of no other job may begin with it.
const HandlerPrefix = "one-off:"
