/** The operator console, on one screen: every page and every form. */
import type { PageRoute } from '../route.ts'
import { operationRoutes } from './operation-routes.ts'
import { peopleRoutes } from './people-routes.ts'

export const consoleRoutes: readonly PageRoute[] = [...operationRoutes, ...peopleRoutes]
