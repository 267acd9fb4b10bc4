-- Where what a form made is shown, for whoever sends the form again. Without one: made by a node of the release before.
ALTER TABLE submissions ADD COLUMN leads_to text CHECK (leads_to LIKE '/%' AND length(leads_to) <= 300);

-- What would hand an account to somebody else is told.
ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (kind IN (
  'sign-in', 'application', 'address', 'password', 'second-factor', 'recovery-codes', 'api-token',
  'webhook-failing', 'webhook-disabled', 'secret-expiring')) NOT VALID;
ALTER TABLE notices VALIDATE CONSTRAINT notices_kind_check;

-- Addresses that were replaced or removed: for a while they are told too, because whoever takes an account over changes its address first.
CREATE TABLE former_emails (
  user_id     text NOT NULL REFERENCES users,
  email       text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  replaced_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, email)
);
CREATE INDEX former_emails_by_age ON former_emails (replaced_at);
