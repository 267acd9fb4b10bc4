// Moments are printed in UTC. Here they are told in the reader's own zone, which they name; the title keeps UTC.
const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
const options = {
  year: 'numeric',
  month: 'long',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
}
const long = new Intl.DateTimeFormat('en-GB', options)
const short = new Intl.DateTimeFormat('en-GB', { ...options, month: '2-digit', day: '2-digit' })

const partsOf = (format, date) =>
  Object.fromEntries(format.formatToParts(date).map(({ type, value }) => [type, value]))

function print(date, isShort) {
  const { year, month, day, hour, minute, second, timeZoneName } = partsOf(isShort ? short : long, date)
  return isShort
    ? `${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName}`
    : `${day} ${month} ${year}, ${hour}:${minute} ${timeZoneName}`
}

function tell() {
  for (const time of document.querySelectorAll('time[datetime]:not([data-told])')) {
    const date = new Date(time.dateTime)
    time.dataset.told = ''
    // `3 min ago` is the same everywhere.
    if (Number.isNaN(date.getTime()) || !/ UTC$/.test(time.textContent.trim())) continue
    time.title = time.textContent.trim()
    time.textContent = print(date, 'short' in time.dataset)
  }
}

if (zone !== 'UTC') {
  tell()
  new MutationObserver(tell).observe(document.body, { childList: true, subtree: true })
}
