-- Since when a provider is asked with the credential that it has: client secrets run out, and are replaced. Null: since it was written down.
ALTER TABLE identity_providers ADD COLUMN credential_at timestamptz;
