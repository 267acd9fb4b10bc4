import { int } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

export const openDay = statement({
  name: 'open_day',
  takes: { day: int },
  text: 'SELECT open_day(:day)',
})
