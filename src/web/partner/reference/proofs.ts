/**
 * The checker of client assertions and DPoP proofs: paste one, and read what is wrong with which claim, and by
 * how much. It knows the keys of the partner's own clients alone, keeps nothing of what was pasted, uses
 * nothing up, and answers so often in a minute and no oftener.
 */
import { parseAssertion } from '../../../oauth/client-assertion.ts'
import {
  type CheckedFault,
  type CheckedProof,
  checkAssertion,
  checkProof,
  pastedMaxCharacters,
} from '../../../oauth/proof-check.ts'
import { type Client, listClients, type Registration } from '../../../partners/client.ts'
import { failureCauses } from '../../../partners/failure-causes.ts'
import { type FieldProblem, Invalid, NotFound } from '../../../problem.ts'
import { branchKey } from '../../../webhooks/events/branch-signal.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'

type CheckForm = Submission<typeof forms.checkProofs>
type Values = CheckForm['values']

export function showProofs(visit: Visit, member: Member) {
  return sendForm(visit, member, undefined, undefined)
}

export async function checkProofs(visit: Visit, member: Member, { values }: CheckForm) {
  return sendForm(visit, member, values, await answer(visit, member, values))
}

async function answer({ context }: Visit, { branch }: Member, values: Values): Promise<CheckedProof[]> {
  const { db, baseUrl, clock, dpopNonces, proofChecks } = context
  // Before anything is read: what is refused costs nothing.
  await proofChecks.count(branchKey(branch))
  const [assertion, proof] = [readPasted(values.assertion), readPasted(values.proof)]
  refuseSecrets(values)
  if (assertion === '' && proof === '')
    throw new Invalid([{ field: 'assertion', problem: 'must hold an assertion, or the next field a proof' }])
  const client = await findClient(context, branch, values.client || namedBy(assertion))
  if (!client && values.client !== '') throw new NotFound('There is no such client of yours on this site.')
  const now = clock.now()
  const checked: CheckedProof[] = []
  if (assertion !== '') {
    if (!client)
      throw new Invalid([
        { field: 'client', problem: 'must be chosen: the assertion names none of your clients on this site' },
      ])
    checked.push(await checkAssertion(db, assertion, client, baseUrl, now))
  }
  if (proof !== '') {
    const { method, url, token } = values
    const request = {
      method: method.trim() || 'POST',
      url: url.trim() || `${baseUrl}/v1/oauth/accesstoken`,
      accessToken: token.trim() || undefined,
      nonces: dpopNonces,
      demandsNonce: client?.demandsDpopNonces === true,
    }
    checked.push(await checkProof(db, proof, request, now))
  }
  return checked
}

/** As it stands in a header, in a form or alone. */
function readPasted(text: string): string {
  return text
    .trim()
    .replace(/^(dpop\s*:|client_assertion\s*=)\s*/i, '')
    .replace(/^["'](.*)["']$/, '$1')
}

/** Whoever pastes one has given it away, however little is done with it. */
const privateParts =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----|"(d|p|q|dp|dq|qi|oth|k)"\s*:|cs[ls]k[A-Za-z0-9]{43}|whsec_/

/** In the header of a token, too. */
function holdsPrivate(text: string): boolean {
  const [head = ''] = readPasted(text).split('.')
  return privateParts.test(text) || privateParts.test(Buffer.from(head, 'base64url').toString('utf8'))
}

function refuseSecrets({ assertion, proof, token }: Values): void {
  const given = { assertion, proof, token }
  const faults = Object.entries(given)
    .filter(([, text]) => holdsPrivate(text))
    .map(
      ([field]): FieldProblem => ({
        field,
        problem:
          'must not hold a private key or a secret. It is burnt: whoever sees it can act with it. Make another one, and end this one under Clients',
      }),
    )
  if (faults.length > 0) throw new Invalid(faults)
}

function namedBy(assertion: string): string {
  return parseAssertion(assertion)?.clientId ?? ''
}

/** Of the partner and the site alone: of another's nothing is said, not even that it is there. */
async function findClient(
  { clients }: Visit['context'],
  { branchId, environment }: Member['branch'],
  id: string,
): Promise<Registration | undefined> {
  const found = id === '' ? undefined : await clients.find(id)
  return found?.branchId === branchId && found.environment === environment ? found : undefined
}

async function sendForm(
  visit: Visit,
  member: Member,
  standing: Values | undefined,
  checked: readonly CheckedProof[] | undefined,
) {
  const clients = await listClients(visit.context.db, member.branch.branchId)
  return sendPortal(visit, member, {
    title: 'Assertions and proofs',
    section: '/proofs',
    body: html`<h1>Assertions and proofs</h1>
${checked?.map(printChecked)}
${printForm(
  clients.filter(({ environment }) => environment === member.branch.environment),
  standing,
  member,
)}`,
  })
}

function printForm(clients: readonly Client[], standing: Values | undefined, member: Member): Html {
  const choices = [
    { value: '', label: 'the one that the assertion names' },
    ...clients.map(({ id, name }) => ({ value: id, label: `${name} (${id})` })),
  ]
  return html`<section class="card">
<p>Paste what your program sends when it is refused. Nothing of it is kept or used up.</p>
${member.forms.print(
  forms.checkProofs,
  standing ? { standing } : {},
  (view) => html`${view.field('assertion')}
${view.field('client', { choices })}
${view.field('proof')}
${view.field('method')}
${view.field('url')}
${view.field('token')}
${view.button('Check', { look: 'primary' })}`,
)}</section>`
}

const titles = { assertion: 'The client assertion', proof: 'The DPoP proof' } as const

function printChecked({ what, header, claims, faults, thumbprint }: CheckedProof): Html {
  const isRight = faults.length === 0
  const [first] = faults
  return html`<section class="card${isRight && ' created'}" role="status" aria-label="${titles[what]}">
<h2>${titles[what]} ${badge(isRight ? 'good' : 'bad', isRight ? 'right' : 'refused')}</h2>
${
  first &&
  html`<p>Calls are refused by the first of these.</p>
<ul class="address">${faults.map(printFault)}</ul>`
}
${thumbprint !== undefined && html`<p>Signed with the key of thumbprint <code>${thumbprint}</code>.</p>`}
${header && html`<h3>What was understood</h3>${printObject('Header', header)}${printObject('Claims', claims ?? {})}`}</section>`
}

function printFault({ problem, rule }: CheckedFault): Html {
  return html`<li><strong>${problem}</strong>. ${failureCauses[rule].remedy}</li>`
}

function printObject(name: string, value: object): Html {
  return html`<pre tabindex="0" aria-label="${name}">${JSON.stringify(value, undefined, 2).slice(0, 2 * pastedMaxCharacters)}</pre>`
}
