/** An nginx with one worker, as a distribution installs it. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findFreePort } from '../test/support/ports.ts'
import type { Stage } from './stage.ts'

export interface Proxying {
  /** By name. */
  readonly upstreams: Readonly<Record<string, string>>
  /** What stands in each of its servers. */
  readonly servers: readonly string[]
}

/** Answers the origins of its servers. */
export async function startNginx(stage: Stage, { upstreams, servers }: Proxying): Promise<string[]> {
  const folder = stage.makeFolder()
  const ports = await Promise.all(servers.map(() => findFreePort()))
  const config = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  writeFileSync(
    config,
    `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; worker_processes 1;
     error_log stderr error; events {}
     http { access_log off; default_type text/plain; keepalive_requests 1000000000;
       ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
       proxy_http_version 1.1; proxy_set_header Connection "";
       ${Object.entries(upstreams).map(printUpstream).join('\n')}
       ${servers.map((text, place) => `server { listen 127.0.0.1:${ports[place]}; ${text} }`).join('\n')}
     }`,
  )
  const words = ['-e', 'stderr', '-c', config]
  const tried = spawnSync('nginx', [...words, '-t'], { encoding: 'utf8' })
  if (tried.status !== 0) throw new Error(`nginx does not start: ${tried.error?.message ?? tried.stderr}`)
  const child = spawn('nginx', words, { stdio: 'ignore' })
  const ended = once(child, 'exit')
  stage.owns(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const origins = ports.map((port) => `http://127.0.0.1:${port}`)
  for (const origin of origins) while (!(await isUp(origin))) await wait(20)
  return origins
}

function printUpstream([name, origin]: [string, string]): string {
  return `upstream ${name} { server ${new URL(origin).host}; keepalive 128; keepalive_requests 1000000000; }`
}

async function isUp(origin: string): Promise<boolean> {
  return fetch(origin).then(
    () => true,
    () => false,
  )
}
