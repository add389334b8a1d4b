CREATE TABLE IF NOT EXISTS {job} (
	namespace bytea NOT NULL,
	name bytea NOT NULL,
	known smallint NOT NULL,         -- 1: a job, 2: a handler of one-off jobs, 0: nobody has registered it
	tick_cursor bigint NOT NULL,     -- up to which tick all is decided, µs of the server's clock, as are all times; 0: none
	made_up bigint NOT NULL,         -- the cursor that it was given for want of a better
	owed text NOT NULL,              -- spans of ticks to be run beside the schedule, JSON
	paused text NOT NULL,            -- the pause, JSON; empty: it is not paused
	switched bigint NOT NULL,        -- version of the last pause or resume
	missed bigint NOT NULL,          -- how many ticks were missed
	newest bigint NOT NULL,          -- seq of the newest record
	oldest bigint NOT NULL,          -- and of the oldest that is kept
	failing smallint NOT NULL,       -- 1, 2: the newest record says of a failure; 2: it is listed nowhere
	pausing smallint NOT NULL,       -- 1: it is in the list of jobs that are paused
	missing smallint NOT NULL,       -- 1: that have missed ticks
	never smallint NOT NULL,         -- 1: that have no record
	epoch text NOT NULL,             -- changes with the timing in force
	seen bigint NOT NULL,            -- when it was registered last
	search bytea NOT NULL,           -- what a search looks into
	spec text NOT NULL,              -- definitions, timings, and who has them, JSON
	PRIMARY KEY (namespace, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:job_known} ON {job} (namespace, known, name);
CREATE INDEX IF NOT EXISTS {index:job_failing} ON {job} (namespace, failing, name);
CREATE INDEX IF NOT EXISTS {index:job_pausing} ON {job} (namespace, pausing, name);
CREATE INDEX IF NOT EXISTS {index:job_missing} ON {job} (namespace, missing, name);
CREATE INDEX IF NOT EXISTS {index:job_never} ON {job} (namespace, never, name);
CREATE INDEX IF NOT EXISTS {index:job_missed} ON {job} (namespace, missed);
CREATE INDEX IF NOT EXISTS {index:job_switched} ON {job} (namespace, switched);
CREATE INDEX IF NOT EXISTS {index:job_seen} ON {job} (namespace, seen);

CREATE TABLE IF NOT EXISTS {run} (
	namespace bytea NOT NULL,
	id bytea NOT NULL,
	job bytea NOT NULL,
	owner bytea NOT NULL,            -- the session that it belongs to
	body text NOT NULL,              -- the run in flight, JSON
	PRIMARY KEY (namespace, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:run_job} ON {run} (namespace, job);
CREATE INDEX IF NOT EXISTS {index:run_owner} ON {run} (namespace, owner);

CREATE TABLE IF NOT EXISTS {record} (
	namespace bytea NOT NULL,
	job bytea NOT NULL,
	seq bigint NOT NULL,             -- without gaps
	at bigint NOT NULL,              -- when it was kept
	body text NOT NULL,              -- the record, JSON
	PRIMARY KEY (namespace, job, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:record_at} ON {record} (namespace, at);

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
	owner bytea NOT NULL,            -- whom it is for; empty: whoever has the run
	at bigint NOT NULL,
	body text NOT NULL,              -- the notice, JSON
	PRIMARY KEY (namespace, run)
);
CREATE INDEX IF NOT EXISTS {index:notice_owner} ON {notice} (namespace, owner);

CREATE TABLE IF NOT EXISTS {oneoff} (
	namespace bytea NOT NULL,
	id bytea NOT NULL,
	past bigint NOT NULL,            -- when it was claimed; 0: it waits
	at bigint NOT NULL,              -- its time
	body text NOT NULL,              -- the one-off job, JSON
	PRIMARY KEY (namespace, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS {index:oneoff_at} ON {oneoff} (namespace, past, at);

CREATE TABLE IF NOT EXISTS {node} (
	namespace bytea NOT NULL,
	session bytea NOT NULL,
	alive bigint NOT NULL,           -- until when its lease lasts
	beat bigint NOT NULL,            -- its last heartbeat; 0: there was none
	body text NOT NULL,              -- the node, JSON
	PRIMARY KEY (namespace, session)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

INSERT INTO {job} (namespace, name, known, tick_cursor, made_up, owed, paused, switched, missed, newest, oldest, failing,
	pausing, missing, never, epoch, seen, search, spec)
VALUES ('', 'schema', 0, 1, 0, '', '', 0, 0, 0, 1, 0, 0, 0, 0, '', 0, '', '') ON CONFLICT (namespace, name) DO NOTHING;
