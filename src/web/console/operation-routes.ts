/** How the gateway is: health, queues, the audit log, settings. */
import { html } from '../html.ts'
import type { PageRoute } from '../page-route.ts'
import { sendConsole } from './console.ts'
import { operatorPage } from './operator.ts'

export const operationRoutes: readonly PageRoute[] = [
  operatorPage('/console', async (visit, operator) =>
    sendConsole(visit, operator, { title: 'Console', section: '/console', body: html`<h1>Console</h1>` }),
  ),
]
