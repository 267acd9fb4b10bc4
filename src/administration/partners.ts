/** Partners as they are declared. Approving one, and its refresh access, is proposed. */
import {
  applyAsPartner,
  decideAgainst,
  getPartner,
  listPartnersByIds,
  type Partner,
  printSeen,
  withdrawRefreshAccess,
} from '../partners/partner.ts'
import { type PartnerStatus, partnerStatuses } from '../partners/partner-status.ts'
import { lockPartner } from '../partners/partners.sql.ts'
import { Conflict, Invalid } from '../problem.ts'
import { instant, integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import type { DeclaredKind, Work } from './kind.ts'

interface PartnerSpec {
  readonly displayName: string
  readonly state: PartnerStatus
  readonly refreshAccess: boolean
}

export const partners: DeclaredKind<PartnerSpec> = {
  kind: 'partners',
  site: 'both',
  sees: 'partners.see',
  manages: 'partners.manage',
  specification: Type.Object(
    {
      displayName: Type.Optional(
        text(
          'What it is called; required of a new one. It stays: partners change their names themselves.',
          'Acme',
          {
            maxLength: 200,
          },
        ),
      ),
      state: Type.Optional(
        oneOf(partnerStatuses, {
          description:
            'How it stands; `applied` of a new one unless given. That it is `approved` is proposed.',
        }),
      ),
      refreshAccess: Type.Optional(
        Type.Boolean({
          description: 'Whether its applications get refresh tokens; that they do is proposed.',
        }),
      ),
    },
    { title: 'PartnerSpec', description: 'A partner as it is declared.', additionalProperties: false },
  ),
  status: Type.Object(
    {
      branchId: integer('Its branch id.', 1),
      stateReason: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'Why it is in this state, as it was told.',
        examples: ['The contract has ended.'],
      }),
      createdAt: instant('When it applied'),
    },
    { title: 'PartnerStatus', description: 'What the gateway says of a partner.' },
  ),
  fields: { name: 'displayName' },
  subjectOf: (id) => `branch:${id}`,
  async hold(sql, id) {
    await sql.query(lockPartner, { branchId: Number(id) })
  },
  async read(sql, ids) {
    const found = await listPartnersByIds(sql, ids.map(Number))
    return new Map(found.map((each) => [String(each.branchId), describePartner(each)]))
  },
  async make(work, { displayName, state = 'applied', refreshAccess = false }) {
    if (displayName === undefined) throw new Invalid([{ field: 'displayName', problem: 'is missing' }])
    const partner = await applyAsPartner(work.sql, displayName, work.act)
    const made = describePartner(partner).spec
    await changePartner(work, partner, { ...made, state, refreshAccess })
    return String(partner.branchId)
  },
  async change(work, id, before, wanted) {
    if (wanted.displayName !== before.displayName)
      throw new Invalid([
        {
          field: 'displayName',
          problem: `must stay "${before.displayName}": the partner changes it by an application`,
        },
      ])
    await changePartner(work, await getPartner(work.sql, id), wanted)
  },
  async end(work, id, before) {
    if (before.state !== 'suspended')
      await changePartner(work, await getPartner(work.sql, id), { ...before, state: 'suspended' })
  },
}

function describePartner({ branchId, name, status, refreshAccess, statusReason, createdAt }: Partner) {
  return {
    spec: { displayName: name, state: status, refreshAccess },
    status: { branchId, stateReason: statusReason, createdAt: createdAt.getTime() },
  }
}

async function changePartner(work: Work, partner: Partner, wanted: PartnerSpec): Promise<void> {
  if (wanted.state === partner.status && wanted.refreshAccess === partner.refreshAccess) return
  await work.refuseOwn(partner.branchId)
  if (wanted.state !== partner.status) await moveTo(work, partner, wanted.state)
  if (wanted.refreshAccess === partner.refreshAccess) return
  if (wanted.refreshAccess) await work.propose('partner.refresh-access', { branchId: partner.branchId })
  else await withdrawRefreshAccess(work.sql, partner, work.reasoned())
}

async function moveTo(work: Work, partner: Partner, state: PartnerStatus): Promise<void> {
  const impossible = () => new Conflict(`${partner.name} is ${partner.status}: it cannot be ${state} now.`)
  if (state === 'applied') throw impossible()
  if (state === 'approved') {
    await work.propose('partner.approve', { branchId: partner.branchId, seen: printSeen(partner) })
    return
  }
  const act = work.reasoned()
  const isDone = await decideAgainst(
    work.sql,
    partner,
    { status: state, reason: act.reason, seen: partner },
    act,
  )
  if (!isDone) throw impossible()
}
