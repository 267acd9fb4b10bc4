import { findServerProblem } from '../notices/smtp.ts'
import { type Config, isDevelopment } from '../settings/config.ts'
import { type Answer, fail, ok, warn } from './finding.ts'

/** Greets it, starts TLS and signs in; no message is sent. */
export async function checkMailServer(config: Config): Promise<Answer> {
  if (!config.roles.includes('worker')) return { finding: ok('This node sends no notices.') }
  const { server, outbox } = config.mail
  if (!server) return { finding: judgeOutbox(config, outbox) }
  const where = `${server.host}:${server.port}`
  const problem = await findServerProblem(server)
  if (problem === undefined) return { finding: ok(`${where} lets this node in.`) }
  const advice =
    'Check SMTP_URL, its user and password, and SMTP_CA_FILE: notices are retried for a day and then dropped.'
  return { finding: fail(`${where} does not: ${problem}.`, advice) }
}

function judgeOutbox(config: Config, outbox: string) {
  const found = `There is none: notices become files in ${outbox}.`
  if (isDevelopment(config)) return ok(found)
  return warn(found, 'Name a mail server in SMTP_URL, so that people get them.')
}
