/** Which pages are photographed, as whom and how. */
import type { Page } from 'playwright-core'
import type { House } from './house.ts'

export interface Picture {
  /** Of its file in docs/pictures. */
  readonly name: string
  readonly as?: keyof House['people']
  readonly path: (house: House) => string
  readonly onPhone?: boolean
  readonly dark?: boolean
  /** To its end instead of one screen. */
  readonly whole?: boolean
  readonly prepare?: (page: Page) => Promise<unknown>
}

const consent = ({ client }: House) =>
  `/v1/oauth/authorize?${new URLSearchParams({ client_id: client.id, scope: 'read trade', state: 'picture' })}`
const portal = ({ partner }: House) => `/partner/${partner.branchId}`

export const pictures: readonly Picture[] = [
  { name: 'login', path: () => '/login', onPhone: true },
  { name: 'consent', as: 'holder', path: consent, onPhone: true, whole: true },
  { name: 'applications', as: 'holder', path: () => '/account' },
  { name: 'portal', as: 'developer', path: portal },
  {
    name: 'webhook',
    as: 'developer',
    path: (house) => `${portal(house)}/webhooks/${house.webhookId}?period=day`,
  },
  { name: 'deliveries', as: 'developer', path: (house) => `${portal(house)}/deliveries`, dark: true },
  {
    name: 'delivery',
    as: 'developer',
    path: (house) => `${portal(house)}/deliveries/${house.deliveryId}`,
    whole: true,
  },
  { name: 'console', as: 'operator', path: () => '/console?period=day', whole: true },
  { name: 'console-webhooks', as: 'operator', path: () => '/console/webhooks' },
  { name: 'console-partners', as: 'operator', path: () => '/console/partners' },
  { name: 'console-audit', as: 'operator', path: () => '/console/audit', dark: true },
]
