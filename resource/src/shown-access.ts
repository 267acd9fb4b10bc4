/** What was found out about a request, where its handler finds it. */
import type { Access } from './access.ts'

const place = Symbol('countersign.access')

export function showAccess(request: object, access: Access): void {
  ;(request as { [place]?: Access })[place] = access
}

/** Of a request that a hook of this package has let in. */
export function accessOf(request: object): Access {
  const access = (request as { [place]?: Access })[place]
  if (!access) throw new Error('No hook of this route has asked for an access: see requireAccess.')
  return access
}
