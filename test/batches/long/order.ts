import { together } from '../../support/together.ts'

together('test/@(delivery|provisioning)/@(isolation|memory|order|plans|quarter).long.ts')
