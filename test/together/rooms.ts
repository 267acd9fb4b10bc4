import { together } from '../support/together.ts'

together('test/@(audit|notices|openapi|provisioning)/*.test.ts')
