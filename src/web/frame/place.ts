/**
 * Where an answer stands among the pages: what the frame around it shows beside what the page says of itself.
 */
import type { FastifyReply } from 'fastify'
import type { TimeZone } from '../../text/time-zone.ts'
import type { Brand, Mode } from '../../vocabulary/brand.ts'

interface Place {
  /** The same page on the other site, or the nearest there is. */
  readonly onOtherSite: string
  /** Whose page it is: what is in force on this site. */
  readonly brand: Brand
  /** Of a preview: this, whatever the browser prefers. */
  readonly only?: Mode
  /** In which moments are told. */
  readonly zone: TimeZone
  readonly now: Date
}

const places = new WeakMap<FastifyReply, Place>()

export function setPlace(reply: FastifyReply, place: Place): void {
  places.set(reply, place)
}

/** Every row of the table has set it before anything of it runs. */
export function placeOf(reply: FastifyReply): Place {
  return places.get(reply)!
}
