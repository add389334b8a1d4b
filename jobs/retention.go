package jobs

import "time"

// What each [Store] keeps besides what its comments name.
const (
	// NodeRetention is how long a node that gives no sign of life stays in the list of nodes.
	NodeRetention = 10 * time.Minute
	// NoticeRetention is how long a notice waits for an owner that does not come back.
	NoticeRetention = time.Hour
	// OneOffRetention is how long the ID of a one-off job is remembered after its time.
	OneOffRetention = 24 * time.Hour
	// JobRetention is after what time a job that nobody registers may be forgotten. Nodes register their jobs every few
	// hours, so it counts from the end of the last of them.
	JobRetention = 400 * 24 * time.Hour

	// KeptFailures is how many failures of all jobs are kept, at least, besides the records of each job.
	KeptFailures = 200
	// KeptDefinitions is how many definitions of a job are remembered, so that an old one that comes back is known to
	// be old.
	KeptDefinitions = 8
	// KeptTimings is how many changes of its timing are remembered before a job's cursor has passed them.
	KeptTimings = 16
)

// HandlerPrefix is in front of the names under which handlers are jobs. No other job's name may begin with it.
const HandlerPrefix = "one-off:"
