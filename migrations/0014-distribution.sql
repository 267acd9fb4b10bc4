-- On a Citus coordinator the tables of the engine lie by the part on its workers, together; everything else is
-- the coordinator's own: what a publisher's transaction writes, configuration, people, tokens, the audit log.
-- On plain PostgreSQL nothing differs. May be called again, and on tables that are full.
CREATE FUNCTION is_distributed() RETURNS boolean LANGUAGE sql STABLE RETURN false;

-- Always empty, and the coordinator's own, but known to Citus: a transaction that asks for a row of it to be
-- deleted commits in two phases, so that what it wrote here (its entry in the audit log) and what it wrote on a
-- worker are both there, or neither.
CREATE TABLE two_phases (id integer PRIMARY KEY);
CREATE FUNCTION commit_with_part() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF is_distributed() THEN DELETE FROM two_phases WHERE id = 0; END IF;
END $$;

-- As the sessions of the gateway have it: what the coordinator asks a worker has the worker's defaults. Again
-- after a worker was added.
CREATE FUNCTION set_worker_defaults() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  setting text;
  answer record;
BEGIN
  FOREACH setting IN ARRAY ARRAY['jit = off', 'enable_seqscan = off', 'enable_mergejoin = off',
    'citus.allow_nested_distributed_execution = on'] LOOP
    FOR answer IN SELECT * FROM run_command_on_workers(format(
      'SET citus.enable_ddl_propagation = off; ALTER DATABASE %I SET %s', current_database(), setting)) LOOP
      IF NOT answer.success THEN
        RAISE EXCEPTION 'The worker %:% refuses: %', answer.nodename, answer.nodeport, answer.result;
      END IF;
    END LOOP;
  END LOOP;
END $$;

-- Which server has a part; no row where it is this one.
CREATE FUNCTION part_servers() RETURNS TABLE (part integer, host text, port integer) LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT is_distributed() THEN RETURN; END IF;
  RETURN QUERY SELECT p.part, n.nodename::text, n.nodeport FROM generate_series(0, part_count() - 1) AS p (part)
    JOIN pg_dist_placement l ON l.shardid = get_shard_id_for_distribution_column('parts', p.part)
      AND l.shardstate = 1
    JOIN pg_dist_node n ON n.groupid = l.groupid AND n.noderole = 'primary' AND n.groupid > 0;
END $$;

CREATE FUNCTION distribute_engine() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
  shards integer := greatest(8, 2 * (SELECT count(*) FROM parts));
  f record;
BEGIN
  SET LOCAL citus.multi_shard_modify_mode TO 'sequential';
  FOREACH name IN ARRAY ARRAY['parts', 'cursors', 'filters', 'passes', 'exceptions', 'agains',
    'replay_cursors', 'feed_days', 'log', 'outcomes', 'answers'] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = name::regclass);
    IF name = 'parts' THEN
      PERFORM create_distributed_table('parts', 'part', colocate_with => 'none', shard_count => shards);
    ELSE
      PERFORM create_distributed_table(name::regclass, 'part', colocate_with => 'parts');
    END IF;
    -- What was copied to the workers lies here no longer.
    PERFORM truncate_local_data_after_distributing_table(name::regclass);
  END LOOP;
  IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'two_phases'::regclass) THEN
    PERFORM citus_add_local_table_to_metadata('two_phases');
  END IF;
  -- Read by the functions of every part, and written when a day is opened or has left.
  IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'days'::regclass) THEN
    PERFORM create_reference_table('days');
  END IF;
  -- Functions whose first argument is the part run whole where it is.
  FOR f IN SELECT p.oid::regprocedure AS signature, p.proargnames[1] = 'p' AS of_part FROM pg_proc p
    WHERE p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'parts'::regclass)
      AND (p.proargnames[1] = 'p' OR p.proname IN ('day_of', 'wants_event')) LOOP
    IF f.of_part THEN
      PERFORM create_distributed_function(f.signature, 'p', colocate_with => 'parts');
    ELSE
      PERFORM create_distributed_function(f.signature);
    END IF;
  END LOOP;
  PERFORM set_worker_defaults();
  CREATE OR REPLACE FUNCTION is_distributed() RETURNS boolean LANGUAGE sql STABLE RETURN true;
END $$;
