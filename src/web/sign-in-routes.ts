/** The pages of the table that are there before a user is known: signing in, approving, signing out. */
import { anyone } from './gates/gates.ts'
import { form, makes, page, type Row, whenVisited } from './route.ts'
import { authorize, authorizeSchema } from './sign-in/authorize.ts'

const home = whenVisited(() => import('./sign-in/home.ts'))
const login = whenVisited(() => import('./sign-in/login.ts'))
const logout = whenVisited(() => import('./sign-in/logout.ts'))
const secondStep = whenVisited(() => import('./sign-in/second-step.ts'))
const provider = whenVisited(() => import('./sign-in/provider.ts'))
const forgotten = whenVisited(() => import('./sign-in/forgotten.ts'))
const consent = whenVisited(() => import('./sign-in/consent.ts'))

/** Each site has its own way in. */
export const signInRows: readonly Row[] = [
  page('/v1/oauth/authorize', anyone, authorize, authorizeSchema),
  page('/login', anyone, login.showLogin),
  form('/login', anyone, login.submitLogin),
  page('/login/second', anyone, secondStep.showSecondStep),
  form('/login/second', anyone, secondStep.submitSecondStep),
  page('/login/password', anyone, login.showPasswordLogin),
  page('/login/forgotten', anyone, forgotten.showForgotten),
  form('/login/forgotten', anyone, forgotten.submitForgotten),
  page('/login/with/:provider', anyone, provider.setOutTo),
  page('/login/from/:provider', anyone, provider.comeBackFrom),
  form('/login/cancel', anyone, login.cancelLogin),
  form('/logout', anyone, logout.logout),
  page('/login/signed-out', anyone, logout.showSignedOut),
  form('/logout/from/:provider', anyone, logout.takeLogout),
  page('/consent', anyone, consent.showConsent),
  makes(form('/consent', anyone, consent.submitConsent)),
  page('/', anyone, home.showHome),
]

/** A person has one password, and it is kept where the money is. */
export const passwordRows: readonly Row[] = [
  page('/login/reset/:token', anyone, forgotten.showReset),
  form('/login/reset/:token', anyone, forgotten.submitReset),
  page('/.well-known/change-password', anyone, forgotten.leadToChange),
]
