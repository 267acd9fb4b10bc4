// Tells the server the reader's time zone, in which pages tell of moments and take them, and keeps `3 min ago` true.
const own = new Intl.DateTimeFormat().resolvedOptions().timeZone
const isSecure = location.protocol === 'https:'
const cookie = `${isSecure ? '__Host-' : ''}countersign-zone=`
const kept = document.cookie
  .split('; ')
  .find((each) => each.startsWith(cookie))
  ?.slice(cookie.length)
const keep = (zone) => {
  // biome-ignore lint/suspicious/noDocumentCookie: the other way takes https, and newer browsers
  document.cookie = `${cookie}${zone}; path=/; max-age=31536000; samesite=lax${isSecure ? '; secure' : ''}`
}

// UTC was chosen: no other page of this reader is told in it.
if (kept !== 'UTC') keep(own)

const button = document.querySelector('[data-zone]')
if (button && own !== 'UTC') {
  const next = kept === undefined || kept === 'UTC' ? own : 'UTC'
  button.textContent = `Show times in ${next}`
  button.hidden = false
  button.addEventListener('click', () => {
    keep(next)
    // Asked for anew, also where the page answers a form.
    location.replace(location.pathname + location.search)
  })
}

const minute = 60_000
const hour = 60 * minute
const sentAt = Date.parse(document.body.dataset.now)
const readAt = Date.now()

function sayAge(ms) {
  if (ms < hour) return `${Math.floor(ms / minute)} min`
  return ms < 48 * hour ? `${Math.floor(ms / hour)} h` : `${Math.floor(ms / (24 * hour))} d`
}

// By the server's clock: the reader's may be wrong.
function tellAges() {
  const now = sentAt + Date.now() - readAt
  for (const time of document.querySelectorAll('time[data-ago], time[data-until]')) {
    const isAgo = 'ago' in time.dataset
    const ms = (isAgo ? 1 : -1) * (now - Date.parse(time.dateTime))
    const words =
      ms < minute ? (isAgo ? 'just now' : 'now') : isAgo ? `${sayAge(ms)} ago` : `in ${sayAge(ms)}`
    if (time.textContent !== words) time.textContent = words
  }
}
if (sentAt) setInterval(tellAges, minute / 2)
