/** The users that are touched when a provider is removed: told before, in the console and by the command. */
import type { Sql } from '../database/database.ts'
import { countTouched } from './identities.sql.ts'
import type { Provider } from './provider.ts'

/** No operator waits until millions are counted. */
const countedAtMost = 10_000

interface RemovalImpact {
  readonly people: number
  /** Users without a password here, and without another provider that knows them. */
  readonly stranded: number
}

export async function findTouched(sql: Sql, { issuer }: Provider): Promise<RemovalImpact> {
  return sql.one(countTouched, { issuer, most: countedAtMost })
}

export function tellTouched(
  { label, kind, enabledAt }: Provider,
  { people, stranded }: RemovalImpact,
): string {
  const count = `${people.toLocaleString('en')}${people >= countedAtMost ? ' or more' : ''}`
  const [one, many] = kind === 'staff' ? ['member of staff', 'members of staff'] : ['customer', 'customers']
  const linked =
    people === 0
      ? `No ${one} is linked to it.`
      : `${count} ${people === 1 ? `${one} is` : `${many} are`} linked to it.`
  const left =
    stranded === 0
      ? ''
      : ` ${stranded === people ? (people === 1 ? 'They have' : 'All of them have') : `${stranded.toLocaleString('en')} of them ${stranded === 1 ? 'has' : 'have'}`} no other way in: no password here, and no other provider that knows them.`
  const ended =
    enabledAt === null
      ? `Nobody signs in at ${label} yet.`
      : `Whoever signed in at ${label} is signed out at once, and nobody can sign in there any more.`
  const kept =
    people === 0
      ? ''
      : ' They stay linked, and are known again when a provider with the same issuer is added.'
  return `${ended} ${linked}${left}${kept}`
}
