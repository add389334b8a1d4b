-- The tables of jobs, version 1. Generated, DO NOT EDIT: a later version gets a file of its own.
-- +goose Up
-- +migrate Up
-- migrate:up

CREATE TABLE IF NOT EXISTS "lockgen_job" (
	namespace blob NOT NULL,
	name blob NOT NULL,
	known integer NOT NULL,         -- 1: a job, 2: a handler of one-off jobs, 0: nobody has registered it
	tick_cursor integer NOT NULL,   -- all ticks up to it are decided, 0 if none, in µs of the clock, as are all times
	made_up integer NOT NULL,       -- the cursor that it was given for want of a better
	owed text NOT NULL,             -- spans of ticks to be run beside the schedule, JSON
	paused text NOT NULL,           -- the pause, JSON, empty if it is not paused
	switched integer NOT NULL,      -- version of the last pause or resume
	missed integer NOT NULL,        -- how many ticks were missed
	newest integer NOT NULL,        -- seq of the newest record
	oldest integer NOT NULL,        -- and of the oldest that is kept
	failing integer NOT NULL,       -- 1 or 2 if the newest record says of a failure, 2 if it is listed nowhere
	pausing integer NOT NULL,       -- 1: it is in the list of jobs that are paused
	missing integer NOT NULL,       -- 1: that have missed ticks
	never integer NOT NULL,         -- 1: that have no record
	epoch text NOT NULL,            -- changes with the timing in force
	seen integer NOT NULL,          -- when it was registered last
	search blob NOT NULL,           -- what a search looks into
	spec text NOT NULL,             -- definitions, timings, and who has them, JSON
	PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "lockgen_job_known" ON "lockgen_job" (namespace, known, name);
CREATE INDEX IF NOT EXISTS "lockgen_job_failing" ON "lockgen_job" (namespace, failing, name);
CREATE INDEX IF NOT EXISTS "lockgen_job_pausing" ON "lockgen_job" (namespace, pausing, name);
CREATE INDEX IF NOT EXISTS "lockgen_job_missing" ON "lockgen_job" (namespace, missing, name);
CREATE INDEX IF NOT EXISTS "lockgen_job_never" ON "lockgen_job" (namespace, never, name);
CREATE INDEX IF NOT EXISTS "lockgen_job_missed" ON "lockgen_job" (namespace, missed);
CREATE INDEX IF NOT EXISTS "lockgen_job_switched" ON "lockgen_job" (namespace, switched);
CREATE INDEX IF NOT EXISTS "lockgen_job_seen" ON "lockgen_job" (namespace, seen);

CREATE TABLE IF NOT EXISTS "lockgen_run" (
	namespace blob NOT NULL,
	id blob NOT NULL,
	job blob NOT NULL,
	owner blob NOT NULL,            -- the session that it belongs to
	body text NOT NULL,             -- the run in flight, JSON
	completed integer NOT NULL DEFAULT 0, -- above 0: its work has recorded its end in its transaction
	PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "lockgen_run_job" ON "lockgen_run" (namespace, job);
CREATE INDEX IF NOT EXISTS "lockgen_run_owner" ON "lockgen_run" (namespace, owner);

CREATE TABLE IF NOT EXISTS "lockgen_record" (
	namespace blob NOT NULL,
	job blob NOT NULL,
	seq integer NOT NULL,           -- without gaps
	at integer NOT NULL,            -- when it was kept
	body text NOT NULL,             -- the record, JSON
	PRIMARY KEY (namespace, job, seq)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "lockgen_record_at" ON "lockgen_record" (namespace, at);

CREATE TABLE IF NOT EXISTS "lockgen_failure" (
	namespace blob NOT NULL,
	at integer NOT NULL,
	id blob NOT NULL,
	body text NOT NULL,             -- a record that says of a failure, JSON
	PRIMARY KEY (namespace, at, id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "lockgen_notice" (
	namespace blob NOT NULL,
	run blob NOT NULL,
	owner blob NOT NULL,            -- whom it is for, empty if it is for whoever has the run
	at integer NOT NULL,
	body text NOT NULL,             -- the notice, JSON
	PRIMARY KEY (namespace, run)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "lockgen_notice_owner" ON "lockgen_notice" (namespace, owner);

CREATE TABLE IF NOT EXISTS "lockgen_oneoff" (
	namespace blob NOT NULL,
	id blob NOT NULL,
	past integer NOT NULL,          -- when it was claimed, 0 if it waits
	at integer NOT NULL,            -- its time
	body text NOT NULL,             -- the one-off job, JSON
	PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "lockgen_oneoff_at" ON "lockgen_oneoff" (namespace, past, at);

CREATE TABLE IF NOT EXISTS "lockgen_node" (
	namespace blob NOT NULL,
	session blob NOT NULL,
	alive integer NOT NULL,         -- until when its lease lasts
	beat integer NOT NULL,          -- its last heartbeat, 0 if there was none
	body text NOT NULL,             -- the node, JSON
	PRIMARY KEY (namespace, session)
) WITHOUT ROWID;

INSERT INTO "lockgen_job" (namespace, name, known, tick_cursor, made_up, owed, paused, switched, missed, newest, oldest, failing,
	pausing, missing, never, epoch, seen, search, spec)
VALUES (x'', CAST('schema' AS blob), 0, 1, 0, '', '', 0, 0, 0, 1, 0, 0, 0, 0, '', 0, x'', '') ON CONFLICT (namespace, name) DO NOTHING;

INSERT INTO "lockgen_oneoff" (namespace, id, past, at, body) -- tells databases apart
VALUES (x'', CAST('home' AS blob), 0, 0, hex(randomblob(16))) ON CONFLICT (namespace, id) DO NOTHING;
