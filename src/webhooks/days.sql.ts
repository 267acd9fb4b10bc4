import { type Statement, statement } from '../database/database.ts'

export const openDay = statement('open_day', 'SELECT day, delivery_offset AS "deliveryOffset" FROM open_day($1)')

/** A statement over the partitions of a day: one text and one plan a day. */
export function statementOfDay(name: string, textOf: (day: number) => string): (day: number) => Statement {
  const made = new Map<number, Statement>()
  return (day) => {
    const known = made.get(day) ?? statement(`${name}_d${day}`, textOf(day))
    made.set(day, known)
    return known
  }
}
