/** How the gateway is: health, queues, the audit log, settings. */
import { signedIn } from '../gates.ts'
import type { PageRoute } from '../route.ts'
import { whenVisited } from '../frame/when-visited.ts'
import { chainPage, showChain, startVerification } from './chain.ts'
import { operatorForm, operatorPage } from './operator.ts'

const { showAudit } = whenVisited(() => import('./audit.ts'))
const { exportAudit } = whenVisited(() => import('./audit-export.ts'))
const { showOverview } = whenVisited(() => import('./overview.ts'))
const { showSettings } = whenVisited(() => import('./settings.ts'))
const { pauseWebhook, resumeWebhook, showWebhook, showWebhooks } = whenVisited(() => import('./webhooks.ts'))

const webhookPage = ({ id }: { readonly id?: string }) => `/console/webhooks/${id}`

export const operationRoutes: readonly PageRoute[] = [
  operatorPage('/console', showOverview),
  operatorPage('/console/webhooks', showWebhooks),
  operatorPage('/console/webhooks/:id', showWebhook),
  operatorForm('/console/webhooks/:id/pause', webhookPage, pauseWebhook),
  operatorForm('/console/webhooks/:id/resume', webhookPage, resumeWebhook),
  operatorPage('/console/audit', showAudit),
  operatorPage('/console/audit/export', exportAudit),
  operatorPage('/console/audit/chain', showChain),
  operatorForm('/console/audit/chain/verify', () => chainPage, startVerification, signedIn),
  operatorPage('/console/settings', showSettings),
]
