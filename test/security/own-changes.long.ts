/**
 * An act is acknowledged when its node has forgotten what it ended, whatever became of the notification. So
 * that nothing but the node itself can have told it, the notifications of this database go nowhere, and its
 * server is told to keep notices to itself.
 */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { goBack } from '../../src/brands/brand-acts.ts'
import { int, text } from '../../src/database/column.ts'
import { step } from '../../src/database/database.ts'
import { statement } from '../../src/database/statement.ts'
import { listAuthorizations, setAuthorizationPaused } from '../../src/oauth/authorization.ts'
import { setClientStatus } from '../../src/partners/client.ts'
import { acceptLook, findShownLook, giveLook, withdrawLook } from '../../src/partners/client-look.ts'
import { listSecrets, revokeSecret, rotateSecret } from '../../src/partners/client-secret.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { createService, revokeService } from '../../src/services/service.ts'
import { addAccount } from '../../src/users/account.ts'
import { createApiToken, revokeApiToken } from '../../src/users/api-token.ts'
import { closeEverySession, listSessions } from '../../src/users/session.ts'
import { setUserStatus } from '../../src/users/user.ts'
import {
  createWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../../src/webhooks/subscriptions/webhook.ts'
import { openHeaderKeeper } from '../../src/webhooks/subscriptions/webhook-headers.ts'
import { ask } from '../support/ask.ts'
import { check, drawPng, putSecondBrandInForce } from '../support/brand.ts'
import { postForm, send } from '../support/browser.ts'
import { makeKey } from '../support/client-keys.ts'
import { openTestDatabase } from '../support/database.ts'
import { callAs, makeFapi2Client, signProof } from '../support/fapi.ts'
import { basic, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const database = await keepOpen(openTestDatabase())
const psql = openLenientDatabase({ connectionString: database.url, connections: 1 })
await psql.script(`
  CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE sql AS '';
  ALTER FUNCTION announce(text) SET search_path = public, pg_catalog;
  DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET client_min_messages = error', current_database());
  END $$`)
await psql.close()
const house = await openHouse({ DATABASE_URL: database.url })
const { db, vault, guard, changes, signingSecrets, brands, images } = house.gateway.context
const headers = openHeaderKeeper(db, vault, changes)

/** Something that a node remembers, and an act that ends it. */
interface CachedFact {
  /** The same again and again while it is remembered, and something else once it is forgotten. */
  ask(): Promise<unknown>
  act(): Promise<unknown>
}

async function hold() {
  const [client, user] = [await house.makeClient(), await house.makeUser()]
  const code = (await house.approve(client, await house.signIn(user))).get('code')!
  const tokens = (await house.exchange(client, code)).json<TokenBody>()
  return { ...tokens, client, user, ask: async () => (await house.profile(tokens.access_token)).status }
}

function giveUp(client: TestClient, token: string) {
  return postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(client))
}

async function makeSignedWebhook() {
  const { client } = await hold()
  const [owner, deps] = [
    { branchId: client.branchId, environment: 'live' } as const,
    { db, vault, policy: guard },
  ]
  const draft = { url: 'https://hooks.example.com/', secret: undefined, kinds: undefined }
  const webhook = await createWebhook(deps, owner, client.id, draft, house.act())
  return { client, deps, webhook, ask: async () => (await signingSecrets.find(webhook.id, now()))?.current }
}

async function makeWebhookWithHeader() {
  const { deps, webhook } = await makeSignedWebhook()
  await updateWebhook(deps, webhook, { headers: { 'x-key': 'one' } }, house.act())
  return { deps, webhook, ask: async () => headers.find(webhook.id) }
}

const now = () => house.clock.now()

/**
 * By the kind of tag that is announced; whatever a node remembers is here with each kind by which it is
 * forgotten.
 */
const acts: Record<string, Record<string, () => Promise<CachedFact>>> = {
  access_token: {
    'a client gives up an access token': async () => {
      const { client, access_token, ask } = await hold()
      return { ask, act: () => giveUp(client, access_token) }
    },
  },
  grant: {
    'a client gives up a refresh token': async () => {
      const { client, refresh_token, ask } = await hold()
      return { ask, act: () => giveUp(client, refresh_token!) }
    },
  },
  client_token: {
    'a client gives up a token of its own': async () => {
      const by = await makeFapi2Client(house)
      const dpopKey = makeKey()
      const fields = { grant_type: 'client_credentials' }
      const made = await callAs(by, '/v1/oauth/accesstoken', { dpopKey, fields })
      const token = made.json<TokenBody>().access_token
      const url = `${house.baseUrl}/v2/webhooks`
      const ask = async () => {
        const dpop = await signProof(by, dpopKey, { method: 'GET', url, token })
        return (await send(url, { headers: { authorization: `DPoP ${token}`, dpop } })).status
      }
      return { ask, act: () => callAs(by, '/v1/oauth/revoke', { fields: { token } }) }
    },
  },
  authorization: {
    'a holder pauses an application': async () => {
      const { user, ask } = await hold()
      const [standing] = await listAuthorizations(db, { userId: user.id })
      const change = { id: standing!.id, ownerId: user.id, paused: true }
      return { ask, act: () => setAuthorizationPaused(db, change, house.act()) }
    },
  },
  api_token: {
    'a holder revokes an API token': async () => {
      const user = await house.makeUser()
      const made = await createApiToken(db, user, { environment: 'live', name: 'x' }, house.act())
      const ask = async () => (await house.profile(made.token.text)).status
      return { ask, act: () => revokeApiToken(db, made.record.id, user.id, house.act()) }
    },
  },
  client: {
    'an operator suspends a client': async () => {
      const { client, ask } = await hold()
      return { ask, act: () => setClientStatus(db, client, 'suspended', house.act()) }
    },
    'a partner revokes a client secret': async () => {
      const client = await house.makeClient()
      const [secret] = await listSecrets(db, client.id, now())
      const ask = async () => (await giveUp(client, 'nothing')).status
      return { ask, act: () => revokeSecret(db, client, secret!.id, house.act()) }
    },
    'a partner replaces the client secret that signs': async () => {
      const { client, ask } = await makeSignedWebhook()
      return { ask, act: () => rotateSecret(db, vault, client, { overlapMs: 0 }, house.act()) }
    },
  },
  branch: {
    'an operator suspends a partner': async () => {
      const { client, ask } = await hold()
      const partner = await getPartner(db, String(client.branchId))
      return { ask, act: () => setPartnerStatus(db, partner, 'suspended', 'x', house.act()) }
    },
  },
  user: {
    'an operator locks a user': async () => {
      const { user, ask } = await hold()
      return { ask, act: () => setUserStatus(db, user, 'disabled', house.act()) }
    },
    'a user has another account': async () => {
      const user = await house.makeUser()
      const token = await house.makeToken(user)
      const ask = async () => (await house.profile(token)).text
      const kind = { classification: 'individual', dayTrader: false, optionLevel: 2, type: 'cash' } as const
      const account = { ...kind, accountNumber: makeUpWord().toUpperCase(), environment: 'live' } as const
      return { ask, act: () => addAccount(db, user, account, house.act()) }
    },
    'an account goes to another user': async () => {
      const [user, other] = [await house.makeUser(), await house.makeUser()]
      const token = await house.makeToken(user)
      const handOver = 'UPDATE holdings SET user_id = $2 WHERE user_id = $1'
      return {
        ask: async () => (await house.profile(token)).text,
        act: () => ask(db, handOver, [user.id, other.id]),
      }
    },
  },
  brand: {
    'an operator puts a brand in force': async () => ({
      ask: async () => (await brands.find('sandbox')).name,
      act: () => putSecondBrandInForce(house, 'sandbox'),
    }),
    'an operator goes back to what was before': async () => {
      await putSecondBrandInForce(house, 'live')
      return {
        ask: async () => (await brands.find('live')).name,
        act: () => goBack(db, 'live', undefined, house.act()),
      }
    },
  },
  image: {
    'an operator withdraws what an application says of itself': async () => {
      const client = await house.makeClient()
      const words = { purpose: 'x', website: null, privacyUrl: null, termsUrl: null }
      await giveLook(db, client, words, await check(drawPng(7, 7)), house.act())
      await acceptLook(db, client, 1, house.act())
      const { logo } = (await findShownLook(db, client.id))!
      const ask = async () => (await images.find(logo!.hash))?.type
      return { ask, act: () => withdrawLook(db, client, house.act()) }
    },
  },
  service: {
    'an operator revokes a service': async () => {
      const { service, secret } = await createService(db, 'Orders', 'live', house.act())
      const credentials = basic({ id: service.id, secret: secret.text })
      const ask = async () =>
        (await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token: 'x' }, credentials)).status
      return { ask, act: () => revokeService(db, service.id, house.act()) }
    },
  },
  webhook: {
    'a partner replaces the secret of a webhook': async () => {
      const { deps, webhook, ask } = await makeSignedWebhook()
      return { ask, act: () => rotateWebhookSecret(deps, webhook, 'another secret here', now(), house.act()) }
    },
    'a partner gives a header another value': async () => {
      const { deps, webhook, ask } = await makeWebhookWithHeader()
      return {
        ask,
        act: () => updateWebhook(deps, webhook, { headers: { 'x-key': 'another' } }, house.act()),
      }
    },
    'a partner takes a header away': async () => {
      const { deps, webhook, ask } = await makeWebhookWithHeader()
      return { ask, act: () => updateWebhook(deps, webhook, { headers: { 'x-key': null } }, house.act()) }
    },
    'a partner deletes a webhook that has a header': async () => {
      const { webhook, ask } = await makeWebhookWithHeader()
      return { ask, act: () => deleteWebhook(db, webhook, house.act()) }
    },
  },
  session: {
    'a session ends while a page of it goes on': async () => {
      const user = await house.makeUser()
      await house.signIn(user)
      const [session] = await listSessions(db, user.id, now())
      let isOver = false
      changes.subscribe((tag) => {
        isOver ||= tag === `session:${session!.id}`
      })
      return { ask: async () => isOver, act: () => closeEverySession(db, user, house.act()) }
    },
  },
}

for (const [kind, ways] of Object.entries(acts)) {
  for (const [act, prepare] of Object.entries(ways)) {
    test(`when ${act}, the node has forgotten it before anybody knows (${kind})`, async () => {
      const remembered = await prepare()
      const before = await remembered.ask()
      assert.deepEqual(await remembered.ask(), before)
      const heard: string[] = []
      const stop = changes.subscribe((tag) => heard.push(tag))
      await remembered.act()
      const kinds = heard.map((tag) => tag.split(':')[0])
      stop()
      assert.ok(kinds.includes(kind), `heard of ${kinds}`)
      assert.notDeepEqual(await remembered.ask(), before)
      assert.ok(changes.isLive, 'what is remembered counts')
    })
  }
}

/** The cells of a table of ARCHITECTURE.md, by its first column. */
function tableOf(heading: string): [first: string, second: string, third: string][] {
  const [, rows = ''] = readFileSync('ARCHITECTURE.md', 'utf8').split(`| ${heading} |`)
  const lines = rows.split('\n\n')[0]!.split('\n').slice(2)
  return lines.map(
    (line) =>
      line
        .split('|')
        .slice(1, 4)
        .map((cell) => cell.trim()) as [string, string, string],
  )
}

const wordsOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!).sort()

test('the acts above, and the table of tags in ARCHITECTURE, are of every kind that a trigger announces', async () => {
  const rows = await ask<{ kind: string; tables: string[] }>(
    db,
    `SELECT kind, array_agg(DISTINCT name ORDER BY name) AS tables FROM (
         SELECT split_part(encode(tgargs, 'escape'), '\\000', 1) AS kind, tgrelid::regclass::text AS name
         FROM pg_trigger WHERE tgfoid IN ('announce_change'::regproc, 'announce_holders'::regproc,
           'announce_new_holders'::regproc)) each GROUP BY kind ORDER BY kind`,
  )
  assert.deepEqual(
    Object.keys(acts).sort(),
    rows.map(({ kind }) => kind),
  )
  const told = tableOf('Tag').map(([tag, tables]) => ({ kind: wordsOf(tag)[0]!, tables: wordsOf(tables) }))
  assert.deepEqual(
    told.filter(({ tables }) => tables.length > 0).sort((one, other) => (one.kind < other.kind ? -1 : 1)),
    rows,
  )
})

test('the table of memories in ARCHITECTURE names every file that remembers, and the tags by which it forgets', () => {
  const told = new Map<string, string[]>()
  for (const [, file, tags] of tableOf('Remembered'))
    for (const path of wordsOf(file)) told.set(path, [...(told.get(path) ?? []), ...wordsOf(tags)])
  const found = new Map<string, string[]>()
  for (const path of readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )) {
    const text = readFileSync(`src/${path}`, 'utf8')
    if (!/ = openMemory[<(]/.test(text)) continue
    found.set(
      path,
      [...text.matchAll(/(?:`(?=\w+:\$\{)|tagOf\(')(\w+)/g)].map(([, kind]) => kind!),
    )
  }
  const sorted = (map: Map<string, string[]>) =>
    [...map].map(([path, tags]) => [path, [...new Set(tags)].sort()]).sort()
  assert.deepEqual(sorted(told), sorted(found))
})

test('nothing else notifies of changes than the function that tells the node too', async () => {
  const rows = await ask<{ name: string }>(
    db,
    `SELECT proname AS name FROM pg_proc WHERE prosrc LIKE '%countersign_changes%'`,
  )
  assert.deepEqual(rows, [{ name: 'announce' }])
})

const rename = statement({
  name: '',
  takes: { id: text, name: text },
  text: 'UPDATE users SET name = :name WHERE id = :id',
})
const divideOne = statement({ name: '', takes: { by: int }, text: 'SELECT 1 / :by::int' })

test('what is rolled back is not announced, and what several statements change is announced once', async () => {
  // Without an account: of one that was just opened the node may still be told.
  const user = await house.makeUser(undefined, [])
  const heard: string[] = []
  // Of users: webhooks that were deleted above are still being cleared away.
  const stop = changes.subscribe((tag) => tag.startsWith('user:') && heard.push(tag))
  const undone = db.transaction(async (sql) => {
    await sql.query(rename, { id: user.id, name: 'Undone' })
    throw new Error('no')
  })
  await assert.rejects(undone, /no/)
  await assert.rejects(
    db.together([step(rename, { id: user.id, name: 'Undone too' }), step(divideOne, { by: 0 })]),
  )
  assert.deepEqual(heard, [])
  const whileOpen = await db.transaction(async (sql) => {
    await sql.query(rename, { id: user.id, name: 'One' })
    await sql.query(rename, { id: user.id, name: 'Two' })
    return [...heard]
  })
  assert.deepEqual([whileOpen, heard], [[], [`user:${user.id}`]])
  await house.gateway.context.streamDb.query(rename, { id: user.id, name: 'Three' })
  assert.deepEqual(heard, [`user:${user.id}`, `user:${user.id}`])
  stop()
})
