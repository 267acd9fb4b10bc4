/** Assertions and proofs that somebody sends again, at whichever node. */
import assert from 'node:assert/strict'
import type { Answer } from './browser.ts'
import { makeKey } from './client-keys.ts'
import { callAs, type Fapi2Client, makePkce, pushFields, signAssertion, signProof, siteOf } from './fapi.ts'

const dpopKey = makeKey()
const endpoints = {
  '/v1/oauth/par': () => pushFields(makePkce()),
  '/v1/oauth/accesstoken': () => ({ grant_type: 'client_credentials' }),
}
const errors = { assertion: 'invalid_client', proof: 'invalid_dpop_proof' }

interface Replay {
  /** At the node of this address. */
  send(at: string): Promise<Answer>
  /** Where it may have grown too old meanwhile, that is as good. */
  assertRefused(answer: Answer, words?: RegExp): void
}

/** One of each kind at each endpoint: what is sent again, beside what is new. */
export async function makeReplays(by: Fapi2Client): Promise<Replay[]> {
  const replays: Replay[] = []
  for (const [path, fields] of Object.entries(endpoints))
    for (const kind of ['assertion', 'proof'] as const) {
      const same =
        kind === 'assertion'
          ? { assertion: await signAssertion(by, { claims: inFiveMinutes(by) }) }
          : { proof: await signProof(by, dpopKey, { url: siteOf(by) + path }) }
      replays.push({
        send: (at) => callAs(by, path, { dpopKey, ...same, fields: fields(), at }),
        assertRefused: (answer, words = /was used before/) => {
          assert.ok(answer.status >= 400, answer.text)
          assert.equal(answer.json().error, errors[kind], `${kind} at ${path}: ${answer.text}`)
          assert.match(answer.text, words)
        },
      })
    }
  return replays
}

const inFiveMinutes = ({ house }: Fapi2Client) => ({
  exp: Math.floor(house.clock.now().getTime() / 1000) + 300,
})

/** Sends each to all nodes at once, twice: exactly one is taken. */
export async function race(by: Fapi2Client, nodes: readonly string[]): Promise<Replay[]> {
  const replays = await makeReplays(by)
  for (const replay of replays) {
    const answers = await Promise.all([...nodes, ...nodes].map((node) => replay.send(node)))
    const taken = answers.filter(({ status }) => status < 400)
    assert.equal(taken.length, 1, answers.map(({ text }) => text).join('\n'))
    for (const answer of answers) if (!taken.includes(answer)) replay.assertRefused(answer)
  }
  return replays
}
