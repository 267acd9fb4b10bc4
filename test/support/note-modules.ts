/**
 * Given to a program with `--import`: writes down every file that it loads, one a line, as soon as it is
 * loaded.
 */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const list = process.env.LOADED_MODULES!

registerHooks({
  load(url, context, next) {
    appendFileSync(list, `${url}\n`)
    return next(url, context)
  },
})
