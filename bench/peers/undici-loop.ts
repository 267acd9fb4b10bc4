/** The most that one process can send: a loop that signs and POSTs, and stores nothing. */
import { announce } from './announce.ts'
import { body, post, urlOf } from './post.ts'

const [receiver] = process.argv.slice(2) as [string]
const atOnce = 100

announce('', async ({ count }) => {
  let next = 0
  const loop = async () => {
    while (next < count) await post(urlOf(receiver, next++), body)
  }
  await Promise.all(Array.from({ length: atOnce }, loop))
})
