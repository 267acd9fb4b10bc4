import { together } from '../../support/together.ts'

together('test/delivery/@(isolation|order|plans|quarter).long.ts')
