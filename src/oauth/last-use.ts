/**
 * When something was last used, for the people who decide whether to keep it. Written once a second for
 * everything used since, so that the hot paths pay one map entry.
 */
import { inTurn } from '../concurrency/in-turn.ts'
import type { Sql } from '../database/database.ts'
import { touchKeys } from '../partners/client-keys.sql.ts'
import { touchSecrets } from '../partners/clients.sql.ts'
import { touchApiTokens } from '../users/api-tokens.sql.ts'
import { touchAuthorizations } from './authorizations.sql.ts'
import type { Bearer } from './bearer.ts'

export interface LastUse {
  ofBearer(bearer: Bearer, at: Date): void
  ofSecret(secretId: number, at: Date): void
  ofKey(keyId: number, at: Date): void
  /** Answers when every use of before is written. */
  flush(): Promise<void>
}

export function openLastUse(db: Sql): LastUse {
  const used = {
    authorizations: new Map<number, Date>(),
    apiTokens: new Map<number, Date>(),
    secrets: new Map<number, Date>(),
    keys: new Map<number, Date>(),
  }
  async function write(statement: typeof touchSecrets, uses: Map<number, Date>): Promise<void> {
    if (uses.size === 0) return
    const ids = [...uses.keys()]
    const ats = [...uses.values()]
    uses.clear()
    await db.query(statement, { ids, ats })
  }
  return {
    ofBearer(bearer, at) {
      if (bearer.authorizationId !== undefined) used.authorizations.set(bearer.authorizationId, at)
      else used.apiTokens.set(bearer.tokenId, at)
    },
    ofSecret(secretId, at) {
      used.secrets.set(secretId, at)
    },
    ofKey(keyId, at) {
      used.keys.set(keyId, at)
    },
    flush: inTurn(async () => {
      await write(touchAuthorizations, used.authorizations)
      await write(touchApiTokens, used.apiTokens)
      await write(touchSecrets, used.secrets)
      await write(touchKeys, used.keys)
    }),
  }
}
