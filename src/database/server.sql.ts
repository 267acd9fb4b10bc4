/** What is asked of the server itself. Without a name: what the doctor asks, also through a proxy that forgets what was prepared. */
import { statement } from './database.ts'

export const selectSession = statement('', 'SELECT pg_backend_pid() AS session')

export const notifyHeard = statement('', "SELECT pg_notify($1, 'heard')")

export const selectDurability = statement(
  '',
  `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
     current_setting('full_page_writes') AS pages, current_setting('synchronous_standby_names') AS standbys`,
)

export const selectVersion = statement(
  '',
  `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS text`,
)

const time = 'SELECT clock_timestamp() AS time'
export const selectTime = statement('select_time', time)
export const selectTimeOnce = statement('', time)

export const selectNothing = statement('ping', 'SELECT 1')
