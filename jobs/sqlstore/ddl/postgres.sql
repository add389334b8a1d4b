-- No index begins with the namespace, which most rows share. A planner whose statistics are from a moment when a table was
-- empty takes all of its indexes for equally good, and one that begins with the namespace leads to every row.
CREATE TABLE IF NOT EXISTS {job} (
	namespace bytea NOT NULL,
	name bytea NOT NULL,
	known smallint NOT NULL,         -- 1: a job, 2: a handler of one-off jobs, 0: nobody has registered it
	tick_cursor bigint NOT NULL,     -- all ticks up to it are decided, 0 if none, in µs of the clock, as are all times
	made_up bigint NOT NULL,         -- the cursor that it was given for want of a better
	owed text NOT NULL,              -- spans of ticks to be run beside the schedule, JSON
	paused text NOT NULL,            -- the pause, JSON, empty if it is not paused
	switched bigint NOT NULL,        -- version of the last pause or resume
	missed bigint NOT NULL,          -- how many ticks were missed
	newest bigint NOT NULL,          -- seq of the newest record
	oldest bigint NOT NULL,          -- and of the oldest that is kept
	failing smallint NOT NULL,       -- 1 or 2 if the newest record says of a failure, 2 if it is listed nowhere
	pausing smallint NOT NULL,       -- 1: it is in the list of jobs that are paused
	missing smallint NOT NULL,       -- 1: that have missed ticks
	never smallint NOT NULL,         -- 1: that have no record
	epoch text NOT NULL,             -- changes with the timing in force
	seen bigint NOT NULL,            -- when it was registered last
	search bytea NOT NULL,           -- what a search looks into
	spec text NOT NULL,              -- definitions, timings, and who has them, JSON
	PRIMARY KEY (name, namespace)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:job_known} ON {job} (known, namespace, name);
CREATE INDEX IF NOT EXISTS {index:job_failing} ON {job} (failing, namespace, name);
CREATE INDEX IF NOT EXISTS {index:job_pausing} ON {job} (pausing, namespace, name);
CREATE INDEX IF NOT EXISTS {index:job_missing} ON {job} (missing, namespace, name);
CREATE INDEX IF NOT EXISTS {index:job_never} ON {job} (never, namespace, name);
CREATE INDEX IF NOT EXISTS {index:job_missed} ON {job} (missed, namespace);
CREATE INDEX IF NOT EXISTS {index:job_switched} ON {job} (switched, namespace);
CREATE INDEX IF NOT EXISTS {index:job_seen} ON {job} (seen, namespace);

CREATE TABLE IF NOT EXISTS {run} (
	namespace bytea NOT NULL,
	id bytea NOT NULL,
	job bytea NOT NULL,
	owner bytea NOT NULL,            -- the session that it belongs to
	body text NOT NULL,              -- the run in flight, JSON
	completed smallint NOT NULL DEFAULT 0, -- above 0: its work has recorded its end in its transaction
	PRIMARY KEY (id, namespace)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:run_job} ON {run} (job, namespace);
CREATE INDEX IF NOT EXISTS {index:run_owner} ON {run} (owner, namespace);

CREATE TABLE IF NOT EXISTS {record} (
	namespace bytea NOT NULL,
	job bytea NOT NULL,
	seq bigint NOT NULL,             -- without gaps
	at bigint NOT NULL,              -- when it was kept
	body text NOT NULL,              -- the record, JSON
	PRIMARY KEY (job, namespace, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:record_at} ON {record} (at, namespace);

CREATE TABLE IF NOT EXISTS {failure} (
	namespace bytea NOT NULL,
	at bigint NOT NULL,
	id bytea NOT NULL,
	body text NOT NULL,              -- a record that says of a failure, JSON
	PRIMARY KEY (namespace, at, id)
);

CREATE TABLE IF NOT EXISTS {notice} (
	namespace bytea NOT NULL,
	run bytea NOT NULL,
	owner bytea NOT NULL,            -- whom it is for, empty if it is for whoever has the run
	at bigint NOT NULL,
	body text NOT NULL,              -- the notice, JSON
	PRIMARY KEY (run, namespace)
);
CREATE INDEX IF NOT EXISTS {index:notice_owner} ON {notice} (owner, namespace);

CREATE TABLE IF NOT EXISTS {oneoff} (
	namespace bytea NOT NULL,
	id bytea NOT NULL,
	past bigint NOT NULL,            -- when it was claimed, 0 if it waits
	at bigint NOT NULL,              -- its time
	body text NOT NULL,              -- the one-off job, JSON
	PRIMARY KEY (id, namespace)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:oneoff_at} ON {oneoff} (past, namespace, at);

CREATE TABLE IF NOT EXISTS {node} (
	namespace bytea NOT NULL,
	session bytea NOT NULL,
	alive bigint NOT NULL,           -- until when its lease lasts
	beat bigint NOT NULL,            -- its last heartbeat, 0 if there was none
	body text NOT NULL,              -- the node, JSON
	PRIMARY KEY (session, namespace)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

INSERT INTO {job} (namespace, name, known, tick_cursor, made_up, owed, paused, switched, missed, newest, oldest, failing,
	pausing, missing, never, epoch, seen, search, spec)
VALUES ('', 'schema', 0, 1, 0, '', '', 0, 0, 0, 1, 0, 0, 0, 0, '', 0, '', '') ON CONFLICT (namespace, name) DO NOTHING;

INSERT INTO {oneoff} (namespace, id, past, at, body) -- tells databases apart
VALUES ('', 'home', 0, 0, md5(random()::text || clock_timestamp()::text)) ON CONFLICT (namespace, id) DO NOTHING;
