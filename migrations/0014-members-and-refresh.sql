-- Whom a partner invites becomes a member by accepting: nobody is made one unasked. By name, whether or not there is such a user.
CREATE TABLE member_invitations (
  branch_id  integer NOT NULL REFERENCES partners,
  username   text NOT NULL CHECK (length(username) BETWEEN 1 AND 100),
  invited_at timestamptz NOT NULL,
  PRIMARY KEY (branch_id, username)
);
CREATE INDEX invitations_of_username ON member_invitations (username);

-- A partner asks for refresh access; whoever grants or withdraws it answers, by whatever means.
CREATE TABLE refresh_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  reason      text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  asked_at    timestamptz NOT NULL,
  granted     boolean,
  answered_at timestamptz,
  CHECK ((granted IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX refresh_requests_open ON refresh_requests (branch_id) WHERE answered_at IS NULL;
CREATE INDEX refresh_requests_of_branch ON refresh_requests (branch_id, id);

CREATE FUNCTION answer_refresh_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE refresh_requests SET granted = NEW.refresh_access, answered_at = NEW.updated_at
  WHERE branch_id = NEW.branch_id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_refresh_request AFTER UPDATE OF refresh_access ON partners FOR EACH ROW
  EXECUTE FUNCTION answer_refresh_request();
