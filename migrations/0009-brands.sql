-- How the brokerage, and applications of partners, look to the people they serve.

-- Logos, by their content, as they were made safe: nothing is served but what is stored here.
CREATE TABLE images (
  hash      text PRIMARY KEY CHECK (hash ~ '^[0-9a-f]{64}$'),
  type      text NOT NULL CHECK (type IN ('image/png', 'image/svg+xml')),
  width     integer NOT NULL CHECK (width > 0),
  height    integer NOT NULL CHECK (height > 0),
  bytes     bytea NOT NULL CHECK (length(bytes) BETWEEN 1 AND 204800),
  stored_at timestamptz NOT NULL
);
CREATE INDEX images_by_age ON images (stored_at);

-- Who the brokerage is, for each site: a draft, the one in force, and those that were. Without one in force
-- it is the brand that the gateway comes with.
CREATE TABLE brands (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  environment      text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  state            text NOT NULL CHECK (state IN ('draft', 'active', 'earlier')),
  -- Grows with each change of the draft: a person who saves or activates it names the one that they have
  -- seen.
  version          integer NOT NULL DEFAULT 1,
  short_name       text NOT NULL CHECK (length(short_name) BETWEEN 1 AND 40),
  legal_name       text NOT NULL CHECK (length(legal_name) BETWEEN 1 AND 200),
  logo_light       text REFERENCES images,
  logo_dark        text REFERENCES images,
  favicon          text REFERENCES images,
  accent_light     text NOT NULL CHECK (accent_light ~ '^#[0-9a-f]{6}$'),
  accent_dark      text NOT NULL CHECK (accent_dark ~ '^#[0-9a-f]{6}$'),
  background_light text NOT NULL CHECK (background_light ~ '^#[0-9a-f]{6}$'),
  background_dark  text NOT NULL CHECK (background_dark ~ '^#[0-9a-f]{6}$'),
  help_url         text CHECK (length(help_url) <= 500),
  privacy_url      text CHECK (length(privacy_url) <= 500),
  terms_url        text CHECK (length(terms_url) <= 500),
  security_contact text CHECK (length(security_contact) <= 500),
  phone            text CHECK (length(phone) <= 40),
  mail_sender      text CHECK (length(mail_sender) <= 320),
  mail_reply_to    text CHECK (length(mail_reply_to) <= 254),
  mail_footer      text CHECK (length(mail_footer) <= 1000),
  changed_at       timestamptz NOT NULL,
  activated_at     timestamptz,
  CHECK ((state = 'draft') = (activated_at IS NULL))
);
CREATE UNIQUE INDEX brands_one_draft ON brands (environment) WHERE state = 'draft';
CREATE UNIQUE INDEX brands_one_active ON brands (environment) WHERE state = 'active';
CREATE INDEX brands_earlier ON brands (environment, activated_at DESC) WHERE state = 'earlier';

-- What a partner says of an application to account holders: shown at consent once an operator has looked at
-- it. A change waits while what was accepted is still shown; of what was declined the partner reads why.
CREATE TABLE client_looks (
  client_id   text NOT NULL REFERENCES clients,
  state       text NOT NULL CHECK (state IN ('pending', 'shown', 'declined')),
  -- Grows with each change: an operator decides about the one that they have seen.
  version     integer NOT NULL,
  purpose     text CHECK (length(purpose) BETWEEN 1 AND 200),
  website     text CHECK (length(website) <= 500),
  privacy_url text CHECK (length(privacy_url) <= 500),
  terms_url   text CHECK (length(terms_url) <= 500),
  logo        text REFERENCES images,
  given_at    timestamptz NOT NULL,
  decided_at  timestamptz,
  reason      text CHECK (length(reason) <= 500),
  PRIMARY KEY (client_id, state),
  CHECK ((state = 'pending') = (decided_at IS NULL)),
  CHECK ((state = 'declined') = (reason IS NOT NULL))
);
CREATE INDEX client_looks_pending ON client_looks (given_at) WHERE state = 'pending';
CREATE INDEX client_looks_by_logo ON client_looks (logo) WHERE logo IS NOT NULL;
