/** Whom the gateway serves: partners and users. */
import type { PageRoute } from '../page-route.ts'

export const peopleRoutes: readonly PageRoute[] = []
