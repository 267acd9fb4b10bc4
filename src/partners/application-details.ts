/** What an applicant says of itself, and what is wrong with it. */

import { type FieldProblem, Invalid } from '../problem.ts'
import { findNameProblem, findTextProblem } from '../text/name.ts'
import { unprintable } from '../text/printable.ts'

/** What an applicant has said, for the operator who decides. */
export interface Application {
  readonly website: string
  readonly contact: string
  readonly purpose: string
}

/** As it was sent: later ones replace what the partner says of itself, and not what it said then. */
export interface KeptApplication extends Application {
  readonly name: string
}

export function checkApplication(name: string, { website, contact, purpose }: Application): void {
  const problems = [
    { field: 'name', problem: findPartnerNameProblem(name) },
    {
      field: 'website',
      problem: isWebsite(website) ? undefined : 'must be an address such as https://app.example.com',
    },
    { field: 'contact', problem: isMail(contact) ? undefined : 'must be an e-mail address' },
    { field: 'purpose', problem: findTextProblem(purpose, 2_000) },
  ].filter((each): each is FieldProblem => each.problem !== undefined)
  if (problems.length > 0) throw new Invalid(problems)
}

export function findPartnerNameProblem(name: string): string | undefined {
  if (isBranchId(name.trim())) return 'must not be a number, which would read as a branch id'
  return findNameProblem(name, 200)
}

/** Digits are a branch id and nothing else: no name consists of them. */
export function isBranchId(text: string): boolean {
  return /^\d+$/.test(text)
}

function isWebsite(text: string): boolean {
  return (
    text.length <= 300 && !unprintable.test(text) && /^https?:\/\/[^\s/]/i.test(text) && URL.canParse(text)
  )
}

function isMail(text: string): boolean {
  return text.length <= 320 && !unprintable.test(text) && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text)
}
