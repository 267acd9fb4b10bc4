/** The partner that a specification names. */
import { findNamed } from '../naming/object-name.ts'
import { getPartner, type Partner } from '../partners/partner.ts'
import { Invalid } from '../problem.ts'
import type { Work } from './kind.ts'

export async function getNamedPartner({ sql }: Pick<Work, 'sql'>, name: string): Promise<Partner> {
  const named = await findNamed(sql, { kind: 'partners', site: 'both' }, name)
  if (!named) throw new Invalid([{ field: 'partner', problem: `names "${name}", which is no partner` }])
  return getPartner(sql, named.objectId)
}
