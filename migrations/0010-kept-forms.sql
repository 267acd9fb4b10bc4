-- What somebody typed into a form that could not be taken yet, because they have to sign in or to confirm that it is them first. Sealed; found by
-- a secret that only their browser has, of which this is a hash; for half an hour, once, and for the same person alone.
CREATE TABLE kept_forms (
  id      text PRIMARY KEY CHECK (length(id) = 43),
  user_id text NOT NULL REFERENCES users,
  sealed  bytea NOT NULL CHECK (length(sealed) <= 70000),
  kept_at timestamptz NOT NULL
);
CREATE INDEX kept_forms_of_user ON kept_forms (user_id, kept_at);
CREATE INDEX kept_forms_by_age ON kept_forms (kept_at);
