-- A role for the gateway that does not own the audit log: it adds to it and reads it, and can neither change
-- nor remove what is there. The role "countersign" owns the database and its tables. Once, by an
-- administrator of PostgreSQL, in the database of the gateway:
--
--   DATABASE_URL=postgresql://countersign@db1/countersign countersign migrate
--   psql postgresql://postgres@db1/countersign --file ops/gateway-role.sql
--   psql postgresql://postgres@db1/countersign --command '\password countersign_gateway'
--
-- From then on the gateway and its commands have DATABASE_URL=postgresql://countersign_gateway@…, and
-- "countersign migrate" is run as "countersign" before nodes of a new release are started. Tables that a
-- later release adds are open to the gateway by themselves.
CREATE ROLE countersign_gateway LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
GRANT USAGE ON SCHEMA public TO countersign_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO countersign_gateway;
ALTER DEFAULT PRIVILEGES FOR ROLE countersign IN SCHEMA public GRANT SELECT, INSERT,
  UPDATE, DELETE ON TABLES TO countersign_gateway;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO countersign_gateway;
ALTER DEFAULT PRIVILEGES FOR ROLE countersign IN SCHEMA public GRANT USAGE,
  SELECT ON SEQUENCES TO countersign_gateway;
-- Days of deliveries are tables: the gateway opens and drops them as their owner.
GRANT EXECUTE ON FUNCTION open_day(integer), drop_day(text, integer), empty_calls(integer) TO countersign_gateway;
REVOKE UPDATE, DELETE ON audit_entries, audit_blocks, audit_heads FROM countersign_gateway;
REVOKE DELETE ON audit_anchor_keys FROM countersign_gateway;
REVOKE INSERT, UPDATE, DELETE ON schema_migrations FROM countersign_gateway;
