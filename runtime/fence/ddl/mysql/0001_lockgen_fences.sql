-- The tables of fences, version 1. Generated, DO NOT EDIT: a later version gets a file of its own.
-- +goose Up
-- +migrate Up
-- migrate:up

CREATE TABLE IF NOT EXISTS `lockgen_fence` (
	resource varbinary(512) PRIMARY KEY,
	fence bigint NOT NULL,
	seen_at bigint NOT NULL -- seconds since 1970
) ENGINE=InnoDB;
