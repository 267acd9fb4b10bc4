import { int, orNull } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

/** The last day that is open. */
export const selectLastDay = statement({
  name: 'select_last_day',
  gives: { day: orNull(int) },
  text: 'SELECT max(day) AS day FROM days',
})

export const openDay = statement({
  name: 'open_day',
  takes: { day: int },
  text: 'SELECT open_day(:day)',
})
