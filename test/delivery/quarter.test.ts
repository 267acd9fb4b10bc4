import { test } from 'node:test'
import { liveThrough } from '../support/lived-quarter.ts'

test('after ten days of whatever comes, nothing is lost, out of order, unnumbered, or kept too long', (t) =>
  liveThrough(t, 1, 10))
