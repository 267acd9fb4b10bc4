import { together } from '../support/together.ts'

together(
  'test/cli/!(command-line|webhook-cli).test.ts',
  'test/operating/!(doctor|memory|processes|start|traces).test.ts',
)
