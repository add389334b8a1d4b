-- The tables of fences, version 1. Generated, DO NOT EDIT: a later version gets a file of its own.
-- +goose Up
-- +migrate Up
-- migrate:up

CREATE TABLE IF NOT EXISTS "lockgen_fence" (
	resource text PRIMARY KEY NOT NULL,
	fence integer NOT NULL,
	seen_at integer NOT NULL -- seconds since 1970
);
