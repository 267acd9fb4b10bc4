import { apiRoutes } from '../api/routes.ts'
import type { Context } from '../context.ts'
import type { DescribedRoute, OperationSchema } from '../http/described-route.ts'
import { isHere } from '../web/frame/other-site.ts'
import { pageRoutes } from '../web/routes.ts'

/** What readers of the interface have of the API and of the pages of a site. */
export function describedRoutes(context: Context): DescribedRoute[] {
  return [...apiRoutes, ...pageRoutes.filter((route) => isHere(context, route))].filter(isDescribed)
}

function isDescribed<Row extends { schema: unknown }>(row: Row): row is Row & { schema: OperationSchema } {
  return row.schema !== undefined
}
