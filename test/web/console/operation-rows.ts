import type { ConsoleRows } from '../../support/console-rows.ts'

export const operationRows: ConsoleRows = {
  pages: {
    '/console': async () => ({ address: '/console' }),
  },
  forms: {},
}
