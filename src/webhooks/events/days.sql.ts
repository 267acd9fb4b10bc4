import { statement } from '../../database/database.ts'

export const openDay = statement('open_day', 'SELECT open_day($1)')
