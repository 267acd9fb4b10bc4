/** Where an answer stands among the pages: what the frame around it shows beside what the page says of itself. */
import type { FastifyReply } from 'fastify'

interface Place {
  /** The same page on the other site, or the nearest there is. */
  readonly onOtherSite: string
}

const places = new WeakMap<FastifyReply, Place>()

export function setPlace(reply: FastifyReply, place: Place): void {
  places.set(reply, place)
}

export function findPlace(reply: FastifyReply): Place | undefined {
  return places.get(reply)
}
