-- Secrets that have ended too, newest first: a partner asks whether a signature was made by one of them.
CREATE INDEX client_secrets_of_client ON client_secrets (client_id, id);
