import { together } from '../support/together.ts'

together('test/@(audit|identity|notices|openapi|provisioning)/*.test.ts')
