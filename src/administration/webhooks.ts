/** Webhooks as they are declared: where what happens is sent. Nothing of it waits for another person. */
import { isDeepStrictEqual } from 'node:util'
import { randomLetters } from '../crypto/random.ts'
import { findNamed, findNames, namePattern } from '../naming/object-name.ts'
import { UrlText } from '../network/address-guard.ts'
import { getClient } from '../partners/client.ts'
import { Invalid } from '../problem.ts'
import { instant, integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import { kinds as allKinds, type Kind } from '../webhooks/events/kind.ts'
import {
  createWebhook,
  deleteWebhook,
  hasSigner,
  holdWebhook,
  listOwnSecrets,
  listWebhooksByIds,
  type OwnSecret,
  setWebhookState,
  updateWebhook,
  type Webhook,
} from '../webhooks/subscriptions/webhook.ts'
import { ActionLists, Description, KindList, RateLimit } from '../webhooks/subscriptions/webhook-bodies.ts'
import { type Actions, settle, usualSettings } from '../webhooks/subscriptions/webhook-settings.ts'
import { getRequired, refuseOther } from './field-problems.ts'
import type { DeclaredKind, Work } from './kind.ts'
import { getNamedPartner } from './named-partner.ts'
import { webhookSecretLetters } from './secrets.ts'

interface WebhookSpec {
  readonly partner: string
  readonly client: string | null
  readonly url: string
  readonly kinds: readonly Kind[]
  readonly actions: Actions
  readonly rateLimit: number | null
  readonly description: string
  readonly state: 'active' | 'paused'
}

export const webhooks: DeclaredKind<WebhookSpec> = {
  kind: 'webhooks',
  site: 'own',
  sees: 'webhooks.see',
  manages: 'partners.manage',
  specification: Type.Object(
    {
      partner: Type.Optional(
        text('The name of its partner; required of a new one. It stays.', 'acme', { pattern: namePattern }),
      ),
      client: Type.Optional(
        Type.Unsafe<string | null>({
          type: ['string', 'null'],
          pattern: namePattern,
          description:
            'The name of the client whose secret signs while it has none of its own: one of the partner, unless given. It stays.',
          examples: ['acme-trader'],
        }),
      ),
      url: Type.Optional(UrlText),
      kinds: Type.Optional(KindList),
      actions: Type.Optional(ActionLists),
      rateLimit: Type.Optional(RateLimit),
      description: Type.Optional(Description),
      state: Type.Optional(
        oneOf(['active', 'paused'], {
          description:
            'Whether it shall be sent to; `active` of a new one unless given. One that the gateway has disabled stays so until it is paused and active again.',
        }),
      ),
    },
    { title: 'WebhookSpec', description: 'A webhook as it is declared.', additionalProperties: false },
  ),
  status: Type.Object(
    {
      webhookId: integer('Its id.', 7, { minimum: 1 }),
      disabledReason: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'Why the gateway disabled it; null: it has not.',
        examples: ['The receiver answered 410 Gone.'],
      }),
      createdAt: instant('When it was registered'),
      secrets: Type.Array(
        Type.Object(
          {
            id: integer('Its number.', 3),
            createdAt: instant('When it was made'),
            signsFrom: instant('From when on it signs'),
            endsAt: Type.Unsafe<number | null>({
              type: ['integer', 'null'],
              format: 'int64',
              description: 'When it signs no more, in epoch milliseconds; null: it has no end.',
              examples: [null],
            }),
          },
          { title: 'WebhookSecretHint', description: 'A secret of its own, without the secret.' },
        ),
        { description: 'Those of its own; none while the client’s sign.' },
      ),
    },
    { title: 'WebhookStatus', description: 'What the gateway says of a webhook.' },
  ),
  fields: {},
  subjectOf: (id) => `webhook:${id}`,
  async hold(sql, id) {
    await holdWebhook(sql, Number(id))
  },
  async read(sql, ids, now) {
    const found = await listWebhooksByIds(sql, ids.map(Number))
    const branchIds = found.map(({ branchId }) => String(branchId))
    const clientIds = found.flatMap(({ clientId }) => clientId ?? [])
    const partners = await findNames(sql, 'partners', branchIds)
    const clients = await findNames(sql, 'clients', clientIds)
    const secrets = Map.groupBy(await listOwnSecrets(sql, found, now), ({ webhookId }) => webhookId)
    return new Map(
      found.map((each) => [
        String(each.id),
        describeWebhook(each, secrets.get(each.id) ?? [], {
          partner: partners.get(String(each.branchId)) ?? '',
          client: each.clientId === null ? null : (clients.get(each.clientId) ?? null),
        }),
      ]),
    )
  },
  tidy(spec) {
    const { kinds, actions, description } = spec
    return {
      ...spec,
      ...(kinds && { kinds: allKinds.filter((each) => kinds.includes(each)) }),
      ...(actions && { actions: settle(usualSettings, { actions }, allKinds).actions }),
      ...(description !== undefined && { description: description.trim() }),
    }
  },
  async make(work, wanted) {
    const { partner: partnerName, url } = getRequired(wanted, ['partner', 'url'])
    const { branchId } = await getNamedPartner(work, partnerName)
    await work.refuseOwn(branchId)
    const { environment, act } = work
    const clientId = await findClientId(work, branchId, wanted.client ?? null)
    if (clientId === undefined && !(await hasSigner(work.sql, { branchId, environment })))
      throw new Invalid([
        { field: 'client', problem: 'is missing: the partner has no client whose secret signs' },
      ])
    const { kinds, actions, rateLimit, description } = wanted
    const draft = {
      ...{ url, secret: await findFirstSecret(work, clientId), kinds },
      ...(actions !== undefined && { actions }),
      ...(rateLimit !== undefined && { rateLimit }),
      ...(description !== undefined && { description }),
    }
    const made = await createWebhook(dependenciesOf(work), { branchId, environment }, clientId, draft, act)
    if (wanted.state === 'paused') await setWebhookState(work.sql, made, 'paused', act)
    return String(made.id)
  },
  async change(work, id, before, wanted) {
    refuseOther('partner', before, wanted)
    refuseOther('client', before, wanted)
    const webhook = await getHeld(work, id)
    const { url, kinds, actions, rateLimit, description } = wanted
    const change = { url, kinds, actions, rateLimit, description }
    if (!isDeepStrictEqual({ ...before, ...change }, before))
      await updateWebhook(dependenciesOf(work), webhook, change, work.act)
    if (wanted.state === before.state) return
    const act = wanted.state === 'paused' ? work.reasoned() : work.act
    await setWebhookState(work.sql, webhook, wanted.state, act)
  },
  async end(work, id) {
    const webhook = await getHeld(work, id)
    await deleteWebhook(work.sql, webhook, work.reasoned())
  },
}

function describeWebhook(
  webhook: Webhook,
  secrets: readonly OwnSecret[],
  names: Pick<WebhookSpec, 'partner' | 'client'>,
) {
  const { id, url, actions, rateLimit, description, state, disabledReason, createdAt } = webhook
  return {
    spec: {
      ...names,
      ...{
        url,
        kinds: allKinds.filter((each) => webhook.kinds.includes(each)),
        actions,
        rateLimit,
        description,
      },
      // What is wanted: that the gateway disabled it is no wish of anybody's.
      state: state === 'paused' ? state : ('active' as const),
    },
    status: {
      ...{ webhookId: id, disabledReason, createdAt: createdAt.getTime() },
      secrets: secrets.map((each) => ({
        ...{ id: each.id, createdAt: each.createdAt.getTime(), signsFrom: each.signsFrom.getTime() },
        endsAt: each.endsAt?.getTime() ?? null,
      })),
    },
  }
}

async function getHeld(work: Work, id: string): Promise<Webhook> {
  const webhook = await holdWebhook(work.sql, Number(id))
  if (!webhook) throw new Error(`There is no webhook ${id}.`)
  await work.refuseOwn(webhook.branchId)
  return webhook
}

/** Of FAPI 2.0 no secret of the client signs: until a program makes one to know, its own is known to nobody. */
async function findFirstSecret({ sql }: Work, clientId: string | undefined): Promise<string | undefined> {
  if (clientId === undefined || (await getClient(sql, clientId)).fapi2From === null) return undefined
  return randomLetters(webhookSecretLetters)
}

function dependenciesOf({ sql, vault, guard }: Work) {
  return { db: sql, vault, policy: guard }
}

async function findClientId(
  { sql, environment }: Work,
  branchId: number,
  name: string | null,
): Promise<string | undefined> {
  if (name === null) return undefined
  const named = await findNamed(sql, { kind: 'clients', site: environment }, name)
  const client = named && (await getClient(sql, named.objectId))
  if (client?.branchId === branchId) return client.id
  throw new Invalid([{ field: 'client', problem: `names "${name}", which is no client of this partner` }])
}
