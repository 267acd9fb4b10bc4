import { Invalid } from '../problem.ts'

/** ASCII alone, without quotes, spaces or anything that a header reads as a sign. */
const shape =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,63}$/

export function parseEmail(text: string): string {
  const address = text.trim()
  if (address.length <= 254 && address.indexOf('@') <= 64 && shape.test(address)) return address
  throw new Invalid([{ field: 'email', problem: 'must be an e-mail address such as ada@example.com' }])
}
