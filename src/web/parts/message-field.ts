/** What a partner and the brokerage write to each other with. */
import { type Field, longText } from '../frame/field.ts'

export function messageTo(whom: string): Field<string> {
  const hint = 'They are told by e-mail that there is a message.'
  return longText({ label: `Write to ${whom}`, hint, most: 2_000, isRequired: true })
}
