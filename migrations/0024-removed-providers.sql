-- Whoever enabled a provider for staff may be behind whomever it named, also when it is gone: the audit log has it by its name, and people stay linked to its issuer.
CREATE TABLE removed_providers (
  name   text NOT NULL,
  issuer text NOT NULL,
  PRIMARY KEY (name, issuer)
);

CREATE FUNCTION keep_removed_provider() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO removed_providers (name, issuer) VALUES (OLD.name, OLD.issuer) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_removed_provider AFTER DELETE ON identity_providers FOR EACH ROW WHEN (OLD.kind = 'staff') EXECUTE FUNCTION keep_removed_provider();
