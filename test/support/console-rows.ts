/** A row of the tables that the console's walls are tried with. */
import type { User } from '../../src/users/user.ts'
import type { Fields } from './browser.ts'
import type { TestGateway } from './gateway.ts'

/**
 * Makes what the page shows or the form acts on, and answers where it is and what `who` sends with the form
 * beside its token.
 */
export type Aim = (
  house: TestGateway,
  who: User,
) => Promise<{ readonly address: string; readonly fields?: Fields; readonly files?: Files }>

type Files = Readonly<Record<string, Buffer>>

export interface ConsoleRows {
  /** By the path of the route. */
  readonly pages: Readonly<Record<string, Aim>>
  readonly forms: Readonly<Record<string, Aim>>
}
