/** The pages of the table that are there before a user is known: signing in, approving, signing out. */
import { signOut } from './frame/bars.ts'
import { anyone, guest } from './gates/gates.ts'
import { page, type Row, send, whenVisited } from './route.ts'
import { authorize, authorizeSchema } from './sign-in/authorize.ts'
import * as forms from './sign-in/forms.ts'

const home = whenVisited(() => import('./sign-in/home.ts'))
const login = whenVisited(() => import('./sign-in/login.ts'))
const logout = whenVisited(() => import('./sign-in/logout.ts'))
const secondStep = whenVisited(() => import('./sign-in/second-step.ts'))
const provider = whenVisited(() => import('./sign-in/provider.ts'))
const forgotten = whenVisited(() => import('./sign-in/forgotten.ts'))
const switching = whenVisited(() => import('./sign-in/switch.ts'))
const consent = whenVisited(() => import('./sign-in/consent.ts'))

/** Each site has its own way in. */
export const signInRows: readonly Row[] = [
  page('/v1/oauth/authorize', anyone, authorize, authorizeSchema),
  page('/login', anyone, login.showLogin),
  send(forms.signIn, guest, login.submitLogin),
  send(forms.signInByPasskey, guest, login.submitPasskey),
  page('/login/second', anyone, secondStep.showSecondStep),
  send(forms.sendCode, guest, secondStep.submitCode),
  send(forms.sendRecoveryCode, guest, secondStep.submitRecoveryCode),
  send(forms.sendPasskey, guest, secondStep.submitPasskey),
  page('/login/password', anyone, login.showPasswordLogin),
  page('/login/forgotten', anyone, forgotten.showForgotten),
  send(forms.askForReset, guest, forgotten.submitForgotten),
  page('/login/with/:provider', anyone, provider.setOutTo),
  page('/login/from/:provider', anyone, provider.comeBackFrom),
  send(forms.cancelSignIn, guest, login.cancelLogin),
  send(signOut, anyone, logout.logout),
  page('/login/signed-out', anyone, logout.showSignedOut),
  send(forms.takeLogout, anyone, logout.takeLogout),
  page('/consent', anyone, consent.showConsent),
  send(forms.answerConsent, anyone, consent.submitConsent),
  send(forms.signInAsOther, anyone, consent.signInAsOther),
  page('/', anyone, home.showHome),
]

/** From the live site to the sandbox, and never back. */
export const sandboxSignInRows: readonly Row[] = [
  page('/login/live', anyone, switching.setOutToLive),
  page('/login/live/back', anyone, switching.comeFromLive),
]

/** A person has one password, and it is kept where the money is. So is what leads into the sandbox. */
export const passwordRows: readonly Row[] = [
  page('/login/sandbox', anyone, switching.leadToSandbox),
  page('/login/reset/:token', anyone, forgotten.showReset),
  send(forms.resetPassword, guest, forgotten.submitReset),
  page('/.well-known/change-password', anyone, forgotten.leadToChange),
]
