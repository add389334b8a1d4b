CREATE TABLE IF NOT EXISTS {job} (
	namespace varbinary(255) NOT NULL,
	name varbinary(512) NOT NULL,
	known smallint NOT NULL,            -- 1: a job, 2: a handler of one-off jobs, 0: nobody has registered it
	tick_cursor bigint NOT NULL,        -- all ticks up to it are decided, 0 if none, in µs of the clock, as are all times
	made_up bigint NOT NULL,            -- the cursor that it was given for want of a better
	owed mediumblob NOT NULL,           -- spans of ticks to be run beside the schedule, JSON
	paused mediumblob NOT NULL,         -- the pause, JSON, empty if it is not paused
	switched bigint NOT NULL,           -- version of the last pause or resume
	missed bigint NOT NULL,             -- how many ticks were missed
	newest bigint NOT NULL,             -- seq of the newest record
	oldest bigint NOT NULL,             -- and of the oldest that is kept
	failing smallint NOT NULL,          -- 1 or 2 if the newest record says of a failure, 2 if it is listed nowhere
	pausing smallint NOT NULL,          -- 1: it is in the list of jobs that are paused
	missing smallint NOT NULL,          -- 1: that have missed ticks
	never smallint NOT NULL,            -- 1: that have no record
	epoch varbinary(64) NOT NULL,       -- changes with the timing in force
	seen bigint NOT NULL,               -- when it was registered last
	search mediumblob NOT NULL,         -- what a search looks into
	spec mediumblob NOT NULL,           -- definitions, timings, and who has them, JSON
	PRIMARY KEY (namespace, name),
	KEY job_known (namespace, known, name),
	KEY job_failing (namespace, failing, name),
	KEY job_pausing (namespace, pausing, name),
	KEY job_missing (namespace, missing, name),
	KEY job_never (namespace, never, name),
	KEY job_missed (namespace, missed),
	KEY job_switched (namespace, switched),
	KEY job_seen (namespace, seen)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS {run} (
	namespace varbinary(255) NOT NULL,
	id varbinary(768) NOT NULL,
	job varbinary(512) NOT NULL,
	owner varbinary(255) NOT NULL,      -- the session that it belongs to
	body mediumblob NOT NULL,           -- the run in flight, JSON
	completed smallint NOT NULL DEFAULT 0, -- above 0: its work has recorded its end in its transaction
	PRIMARY KEY (namespace, id),
	KEY run_job (namespace, job),
	KEY run_owner (namespace, owner)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS {record} (
	namespace varbinary(255) NOT NULL,
	job varbinary(512) NOT NULL,
	seq bigint NOT NULL,                -- without gaps
	at bigint NOT NULL,                 -- when it was kept
	body mediumblob NOT NULL,           -- the record, JSON
	PRIMARY KEY (namespace, job, seq),
	KEY record_at (namespace, at)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS {failure} (
	namespace varbinary(255) NOT NULL,
	at bigint NOT NULL,
	id varbinary(768) NOT NULL,
	body mediumblob NOT NULL,           -- a record that says of a failure, JSON
	PRIMARY KEY (namespace, at, id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS {notice} (
	namespace varbinary(255) NOT NULL,
	run varbinary(768) NOT NULL,
	owner varbinary(255) NOT NULL,      -- whom it is for, empty if it is for whoever has the run
	at bigint NOT NULL,
	body mediumblob NOT NULL,           -- the notice, JSON
	PRIMARY KEY (namespace, run),
	KEY notice_owner (namespace, owner)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS {oneoff} (
	namespace varbinary(255) NOT NULL,
	id varbinary(768) NOT NULL,
	past bigint NOT NULL,               -- when it was claimed, 0 if it waits
	at bigint NOT NULL,                 -- its time
	body mediumblob NOT NULL,           -- the one-off job, JSON
	PRIMARY KEY (namespace, id),
	KEY oneoff_at (namespace, past, at)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS {node} (
	namespace varbinary(255) NOT NULL,
	session varbinary(255) NOT NULL,
	alive bigint NOT NULL,              -- until when its lease lasts
	beat bigint NOT NULL,               -- its last heartbeat, 0 if there was none
	body mediumblob NOT NULL,           -- the node, JSON
	PRIMARY KEY (namespace, session)
) ENGINE=InnoDB;

INSERT INTO {job} (namespace, name, known, tick_cursor, made_up, owed, paused, switched, missed, newest, oldest, failing,
	pausing, missing, never, epoch, seen, search, spec)
VALUES ('', 'schema', 0, 1, 0, '', '', 0, 0, 0, 1, 0, 0, 0, 0, '', 0, '', '') ON DUPLICATE KEY UPDATE name = {job}.name;

INSERT INTO {oneoff} (namespace, id, past, at, body) -- tells databases apart
VALUES ('', 'home', 0, 0, UUID()) ON DUPLICATE KEY UPDATE id = {oneoff}.id;
