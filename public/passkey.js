// Passkeys: asks the browser for what a form needs, puts the answer into the form, and sends it like any other.
const toBytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (each) => each.charCodeAt(0))
const toText = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')
const withBytes = (list) => (list ?? []).map((each) => ({ ...each, id: toBytes(each.id) }))

async function create(options) {
  const { user, challenge, excludeCredentials } = options
  const publicKey = {
    ...options,
    challenge: toBytes(challenge),
    user: { ...user, id: toBytes(user.id) },
    excludeCredentials: withBytes(excludeCredentials),
  }
  const made = await navigator.credentials.create({ publicKey })
  const { clientDataJSON, attestationObject } = made.response
  return print(made, {
    clientDataJSON: toText(clientDataJSON),
    attestationObject: toText(attestationObject),
    transports: made.response.getTransports?.() ?? [],
  })
}

async function get(options) {
  const { challenge, allowCredentials } = options
  const publicKey = {
    ...options,
    challenge: toBytes(challenge),
    allowCredentials: withBytes(allowCredentials),
  }
  const given = await navigator.credentials.get({ publicKey })
  const { clientDataJSON, authenticatorData, signature, userHandle } = given.response
  return print(given, {
    clientDataJSON: toText(clientDataJSON),
    authenticatorData: toText(authenticatorData),
    signature: toText(signature),
    ...(userHandle && { userHandle: toText(userHandle) }),
  })
}

function print({ id, rawId, type }, response) {
  return JSON.stringify({ id, rawId: toText(rawId), type, response, clientExtensionResults: {} })
}

const ways = { create, get }

for (const form of document.querySelectorAll('form[data-passkey]')) {
  const button = form.querySelector('button')
  const status = form.querySelector('[role="status"]')
  if (!window.PublicKeyCredential) {
    status.textContent = 'This browser does not know passkeys.'
    continue
  }
  status.textContent = ''
  button.hidden = false
  // A page that comes back from the browser's memory may be used again.
  addEventListener('pageshow', () => {
    button.disabled = false
    status.textContent = ''
  })
  button.addEventListener('click', async () => {
    if (!form.reportValidity()) return
    button.disabled = true
    status.textContent = 'Follow what your browser or device asks for.'
    try {
      form.elements.credential.value = await ways[form.dataset.passkey](JSON.parse(form.dataset.options))
      form.requestSubmit()
    } catch {
      status.textContent = 'That did not work, or was stopped. You can try again.'
      button.disabled = false
    }
  })
}
