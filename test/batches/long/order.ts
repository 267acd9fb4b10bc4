import { together } from '../../support/together.ts'

together('test/@(delivery|provisioning)/@(isolation|order|plans|quarter).long.ts')
