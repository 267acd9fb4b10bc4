/** The settings of the node that answers. What is secret is not shown. */
import { hostname } from 'node:os'
import { readVersion } from '../../settings/version.ts'
import { oneOf, Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import { administration, refuseSandbox } from './frame.ts'

const Setting = Type.Object(
  {
    name: text('Which one.', 'FOUR_EYES'),
    value: text('What is in force; empty where it is not set, or secret as a whole.', 'all'),
    source: oneOf(['environment', 'default'], { description: 'Where that is from.' }),
    default: text('What it would be.', ''),
    meaning: text('What it is for.', 'acts of the console that one person proposes and another approves'),
    secret: Type.Boolean({ description: 'Whether all of it is secret.' }),
  },
  { title: 'Setting', description: 'A setting in force.' },
)

export const fetchAllSettings: Endpoint<Administrator> = {
  schema: {
    ...administration,
    operationId: 'getSettings',
    summary: 'Fetch the settings',
    description:
      'Of the node that answers; others may be set otherwise. They come from the environment, and count from the next start.',
    response: {
      200: Type.Object(
        {
          version: text('Which release it is.', '0.1.0'),
          host: text('Which machine it is.', 'gateway-1'),
          items: Type.Array(Setting, { description: 'All of them.' }),
        },
        { title: 'Settings', description: 'What is in force on a node.' },
      ),
    },
  },
  handle(context) {
    refuseSandbox(context)
    const items = context.config.settings.map(({ name, value, source, fallback, meaning, secret }) => ({
      ...{ name, value, source, default: fallback, meaning },
      secret: secret === 'all',
    }))
    return { version: readVersion(), host: hostname(), items }
  },
}
