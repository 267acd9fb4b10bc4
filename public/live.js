// The parts of a page that change by themselves. Whoever reads can pause that.
for (const part of document.querySelectorAll('[data-live]')) {
  const button = document.createElement('button')
  const status = document.createElement('span')
  const bar = document.createElement('p')
  bar.className = 'live'
  button.type = 'button'
  button.className = 'quiet'
  status.setAttribute('role', 'status')
  bar.append(status, button)
  part.before(bar)
  let source

  const say = (text, action) => {
    status.textContent = text
    button.textContent = action
    bar.classList.toggle('on', source !== undefined)
  }
  const stop = (text) => {
    source?.close()
    source = undefined
    say(text, 'Resume')
  }
  const start = () => {
    source = new EventSource(part.dataset.live)
    say('Updating', 'Pause updates')
    source.onmessage = ({ data }) => {
      // What somebody is using just now is not taken from under their hands.
      if (part.contains(document.activeElement) || !getSelection().isCollapsed) return
      // Nor what they have opened to act on, or ticked.
      if (part.querySelector('details[open] form, .menu[open], input:checked')) return
      part.innerHTML = JSON.parse(data)
    }
    source.addEventListener('over', () => stop('You may no longer see this page.'))
    source.onerror = () => {
      if (source?.readyState === EventSource.CLOSED) stop('Updates have stopped.')
    }
  }
  button.addEventListener('click', () => (source ? stop('Paused') : start()))
  addEventListener('pagehide', () => source?.close())
  addEventListener('pageshow', (event) => event.persisted && source && start())
  start()
}
