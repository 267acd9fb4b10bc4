/**
 * What is asked of the server itself. Without a name: what the doctor asks, also through a proxy that forgets
 * what was prepared.
 */
import { instant, int, text } from './column.ts'
import { statement } from './statement.ts'

export const selectSession = statement({
  name: '',
  gives: { session: int },
  text: 'SELECT pg_backend_pid() AS session',
})

export const notifyHeard = statement({
  name: '',
  takes: { channel: text },
  text: "SELECT pg_notify(:channel, 'heard')",
})

export const selectDurability = statement({
  name: '',
  gives: { fsync: text, commit: text, pages: text, standbys: text },
  text: `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
     current_setting('full_page_writes') AS pages, current_setting('synchronous_standby_names') AS standbys`,
})

export const selectVersion = statement({
  name: '',
  gives: { version: int, text },
  text: `SELECT current_setting('server_version_num')::integer AS version,
    current_setting('server_version') AS text`,
})

const time = 'SELECT clock_timestamp() AS time'
export const selectTime = statement({ name: 'select_time', gives: { time: instant }, text: time })
export const selectTimeOnce = statement({ name: '', gives: { time: instant }, text: time })

export const selectNothing = statement({ name: 'ping', text: 'SELECT' })
