-- How somebody joins: an application that can be declined and amended, a sandbox that opens with it, and what both sides tell each other.

-- Where a partner in which state may act: one rule, for whoever asks in SQL (src/partners/partner-status.ts has it for everybody else). An applicant
-- has the sandbox and nothing else; who was declined or suspended has nothing.
CREATE FUNCTION may_act(status text, environment text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT status = 'approved' OR (status = 'applied' AND environment = 'sandbox')
$$;

ALTER TABLE partners DROP CONSTRAINT partners_status_check;
ALTER TABLE partners ADD CONSTRAINT partners_status_check
  CHECK (status IN ('applied', 'approved', 'declined', 'suspended')) NOT VALID;
ALTER TABLE partners VALIDATE CONSTRAINT partners_status_check;
ALTER TABLE partners ADD CONSTRAINT partners_declined_with_reason
  CHECK (status <> 'declined' OR status_reason IS NOT NULL) NOT VALID;
ALTER TABLE partners VALIDATE CONSTRAINT partners_declined_with_reason;

-- Counts decisions and applications: whoever decides about what they read decides about nothing that came later.
ALTER TABLE partners ADD COLUMN revision integer NOT NULL DEFAULT 0;

-- What partner and brokerage tell each other, and what was decided when: one list for both sides, only ever added to. Of an application
-- it keeps what was said then. Nobody in particular is the author where the command line decided.
CREATE TABLE partner_messages (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  kind        text NOT NULL CHECK (kind IN ('message', 'applied', 'approved', 'declined', 'suspended')),
  side        text NOT NULL CHECK (side IN ('partner', 'brokerage')),
  author_id   text REFERENCES users,
  text        text CHECK (length(text) BETWEEN 1 AND 2000),
  application jsonb CHECK (length(application::text) <= 8000),
  written_at  timestamptz NOT NULL,
  CHECK (kind NOT IN ('message', 'declined') OR text IS NOT NULL),
  CHECK (kind = 'applied' OR application IS NULL)
);
CREATE INDEX partner_messages_of_branch ON partner_messages (branch_id, id);

CREATE FUNCTION refuse_changed_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'What was written to each other stays as it was written.';
END $$;
CREATE TRIGGER partner_messages_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON partner_messages
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_changed_message();

-- New kinds of notices. What was written before fits: nobody has to read it again.
ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (kind IN (
  'sign-in', 'application', 'address', 'password', 'second-factor', 'recovery-codes', 'api-token',
  'webhook-failing', 'webhook-disabled', 'secret-expiring', 'partner-decided', 'partner-message')) NOT VALID;
