/** @countersign/resource as it is published: built, and installed beside an API that knows nothing else. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newFolder } from '../support/folder.ts'

const typescript = 'node_modules/typescript/bin/tsc'

test('the package is built from its folder, and what it exports is there, with types', () => {
  const home = newFolder('installed')
  const installed = join(home, 'node_modules/@countersign/resource')
  mkdirSync(installed, { recursive: true })
  execFileSync(process.execPath, [typescript, '--project', 'resource', '--outDir', join(installed, 'dist')])
  cpSync('resource/package.json', join(installed, 'package.json'))
  const program = `
    import { openAssertions, openBearers } from '@countersign/resource'
    const hooks = await Promise.all(['fastify', 'express', 'hono'].map((name) => import('@countersign/resource/' + name)))
    console.log([openAssertions, openBearers, ...hooks.flatMap((each) => [each.requireAccess, each.accessOf])]
      .every((each) => typeof each === 'function'))`
  writeFileSync(join(home, 'program.mjs'), program)
  const said = execFileSync(process.execPath, ['program.mjs'], { cwd: home, encoding: 'utf8' })
  assert.equal(said.trim(), 'true')
  const dist = join(installed, 'dist')
  const types = readdirSync(dist).filter((name) => name.endsWith('.d.ts'))
  assert.equal(types.length, readdirSync(dist).length / 2)
  const shown = ['index', 'bearers', 'assertions', 'verifier', 'fastify', 'express', 'hono']
  for (const name of shown)
    assert.doesNotMatch(readFileSync(join(dist, `${name}.d.ts`), 'utf8'), /from 'node:|Buffer|@types/, name)
})
