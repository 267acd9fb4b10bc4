-- Names for what the administration API declares (src/naming). Each object has one from the moment in
-- which it is made, whoever makes it, so that everything can be written down and declared again elsewhere. The
-- owner is a label of whoever declares it.
CREATE TABLE object_names (
  kind      text NOT NULL CHECK (kind IN ('partners', 'clients', 'services', 'sources', 'webhooks', 'providers',
    'role-maps')),
  -- What both sites share is named once.
  site      text NOT NULL CHECK (site IN ('both', 'live', 'sandbox')),
  name      text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9.-]{0,99}$'),
  object_id text NOT NULL,
  owner     text CHECK (owner ~ '^[A-Za-z0-9._/-]{1,100}$'),
  PRIMARY KEY (kind, object_id),
  CONSTRAINT object_names_by_name UNIQUE (kind, site, name)
);

-- What it is called, in small letters, digits and hyphens; with some more where that is taken.
CREATE FUNCTION give_name(of_kind text, of_site text, object text, called text) RETURNS void
  LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  base text := coalesce(nullif(trim('-' FROM left(
    regexp_replace(lower(called COLLATE "C"), '[^a-z0-9]+', '-', 'g'), 60)), ''), left(md5(object), 8));
  tries integer := 0;
BEGIN
  LOOP
    INSERT INTO object_names (kind, site, name, object_id) VALUES (of_kind, of_site,
      base || CASE WHEN tries = 0 THEN '' ELSE '-' || left(md5(object || tries), 8) END, object)
    ON CONFLICT ON CONSTRAINT object_names_by_name DO NOTHING;
    EXIT WHEN FOUND;
    tries := tries + 1;
  END LOOP;
END $$;

CREATE FUNCTION name_partner() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM give_name('partners', 'both', NEW.branch_id::text, NEW.name);
  RETURN NULL;
END $$;
CREATE TRIGGER name_partner AFTER INSERT ON partners FOR EACH ROW EXECUTE FUNCTION name_partner();

-- Of clients and services.
CREATE FUNCTION name_of_site() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM give_name(TG_TABLE_NAME, NEW.environment, NEW.id, NEW.name);
  RETURN NULL;
END $$;
CREATE TRIGGER name_client AFTER INSERT ON clients FOR EACH ROW EXECUTE FUNCTION name_of_site();
CREATE TRIGGER name_service AFTER INSERT ON services FOR EACH ROW EXECUTE FUNCTION name_of_site();

CREATE FUNCTION name_webhook() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM give_name('webhooks', NEW.environment, NEW.id::text, 'webhook-' || NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER name_webhook AFTER INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION name_webhook();

-- Sources and providers have a name of their own.
CREATE FUNCTION name_source() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM give_name('sources', NEW.environment, NEW.name, NEW.name);
  RETURN NULL;
END $$;
CREATE TRIGGER name_source AFTER INSERT ON sources FOR EACH ROW EXECUTE FUNCTION name_source();
INSERT INTO object_names (kind, site, name, object_id) SELECT 'sources', environment, name, name FROM sources;

CREATE FUNCTION name_provider() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO object_names (kind, site, name, object_id)
    SELECT kind, 'both', NEW.name, NEW.id::text FROM unnest(ARRAY['providers', 'role-maps']) AS kind
    WHERE kind = 'providers' OR NEW.kind = 'staff';
  RETURN NULL;
END $$;
CREATE TRIGGER name_provider AFTER INSERT ON identity_providers FOR EACH ROW EXECUTE FUNCTION name_provider();

-- What is gone for good leaves its name to others.
CREATE FUNCTION free_name() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM object_names WHERE kind = TG_ARGV[0] AND object_id = OLD.id::text;
  RETURN NULL;
END $$;
CREATE TRIGGER free_name AFTER UPDATE OF revoked_at ON services FOR EACH ROW
  WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION free_name('services');
CREATE TRIGGER free_name AFTER UPDATE OF state ON webhooks FOR EACH ROW
  WHEN (NEW.state = 'deleted') EXECUTE FUNCTION free_name('webhooks');
CREATE TRIGGER free_name AFTER DELETE ON identity_providers
  FOR EACH ROW EXECUTE FUNCTION free_name('providers');
CREATE TRIGGER free_role_map_name AFTER DELETE ON identity_providers
  FOR EACH ROW EXECUTE FUNCTION free_name('role-maps');

-- What a POST with an Idempotency-Key was answered, for a day. It may hold a secret, and is sealed with what
-- was asked.
CREATE TABLE admin_answers (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  credential_id bigint NOT NULL REFERENCES admin_credentials,
  key           text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
  sealed        bytea NOT NULL,
  answered_at   timestamptz NOT NULL,
  UNIQUE (credential_id, key)
);
CREATE INDEX admin_answers_old ON admin_answers (answered_at);
