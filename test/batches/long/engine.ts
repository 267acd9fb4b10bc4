import { together } from '../../support/together.ts'

together('test/engine/@(lane-mutants|mutants|walks).long.ts')
