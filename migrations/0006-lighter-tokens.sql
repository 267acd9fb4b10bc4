-- What a token costs when it is made. A refresh token's row is made from its grant's own row, in one statement with it, and grants
-- leave after their tokens: a foreign key would only check again. Of parents, only those that exist need to be told apart.
ALTER TABLE refresh_tokens
  DROP CONSTRAINT refresh_tokens_grant_id_fkey,
  DROP CONSTRAINT refresh_tokens_parent_id_fkey,
  DROP CONSTRAINT refresh_tokens_parent_id_key;
CREATE UNIQUE INDEX refresh_token_heirs ON refresh_tokens (parent_id) WHERE parent_id IS NOT NULL;
